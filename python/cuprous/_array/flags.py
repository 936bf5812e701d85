"""The flags of an array, which describe its memory layout."""

from __future__ import annotations

from cuprous._common.arguments import ndarray


class Flags:
    """The memory layout of an array, by attribute and by NumPy's keys. Arrays are always aligned and writable."""

    __slots__ = ("_known",)
    writeable = aligned = behaved = True
    writebackifcopy = False

    def __init__(self, array: ndarray) -> None:
        owner = array.base is None and not array.is_external
        self._known = bool(array.is_c_contiguous), bool(array.is_f_contiguous), owner

    @property
    def c_contiguous(self) -> bool:
        """True if contiguous in C order."""
        return self._known[0]

    @property
    def f_contiguous(self) -> bool:
        """True if contiguous in Fortran order."""
        return self._known[1]

    @property
    def owndata(self) -> bool:
        """True if the array is not a view."""
        return self._known[2]

    @property
    def forc(self) -> bool:
        """True if contiguous in C or Fortran order."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """True if Fortran-contiguous and not C-contiguous."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def contiguous(self) -> bool:
        """True if C-contiguous."""
        return self.c_contiguous

    carray = contiguous

    @property
    def fortran(self) -> bool:
        """True if Fortran-contiguous."""
        return self.f_contiguous

    @property
    def farray(self) -> bool:
        """Not C-contiguous: NumPy says so of every other array that is aligned or can be written."""
        return not self.c_contiguous

    @property
    def num(self) -> int:
        """The flags as bits of NumPy's C interface."""
        return sum(bit for bit, flag in _FLAG_BITS.items() if getattr(self, flag))

    def __getitem__(self, key: str) -> bool:
        if key not in _FLAGS:
            raise KeyError("Unknown flag")
        return bool(getattr(self, _FLAGS[key]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and other.num == self.num

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {key} : {self[key]}\n" for key in shown)


_FLAGS = {
    "C_CONTIGUOUS": "c_contiguous", "C": "c_contiguous", "CONTIGUOUS": "c_contiguous",
    "F_CONTIGUOUS": "f_contiguous", "F": "f_contiguous", "FORTRAN": "f_contiguous",
    "OWNDATA": "owndata", "O": "owndata", "WRITEABLE": "writeable", "W": "writeable",
    "ALIGNED": "aligned", "A": "aligned", "WRITEBACKIFCOPY": "writebackifcopy", "X": "writebackifcopy",
    "BEHAVED": "behaved", "B": "behaved", "CARRAY": "carray", "CA": "carray", "FARRAY": "farray", "FA": "farray",
    "FORC": "forc", "FNC": "fnc",
}  # fmt: skip


_FLAG_BITS = {0x1: "c_contiguous", 0x2: "f_contiguous", 0x4: "owndata", 0x100: "aligned", 0x400: "writeable"}
