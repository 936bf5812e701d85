"""Reports which glibc an extension needs: `python -m tests.symbols dist/*.whl [--glibc 2.28]`; `make wheel` runs it.

A linker that targets an old glibc leaves a function that came later undefined and without a version. Such a library
seems to need nothing new and cannot be loaded, so both are reported.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

DYNSYM, NEEDED_VERSIONS, VERSION_OF_SYMBOL = 11, 0x6FFFFFFE, 0x6FFFFFFF


def needed(image: bytes) -> dict[str, list[str]]:
    """Returns the undefined symbols of a 64-bit ELF library by version, those without a version under an empty string.

    Weak symbols without a version are left out, since they may stay undefined.
    """
    at, entry, count = *struct.unpack_from("<Q", image, 0x28), *struct.unpack_from("<HH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, at + i * entry) for i in range(count)]
    kinds = {section[1]: section for section in sections}

    def text(section: tuple[int, ...], offset: int) -> str:
        start = sections[section[6]][4] + offset
        return image[start : image.index(b"\0", start)].decode()

    versions = {0: "", 1: ""}
    found: dict[str, list[str]] = defaultdict(list)
    if table := kinds.get(NEEDED_VERSIONS):
        library, more = table[4], True
        while more:
            _, entries, _, first, following = struct.unpack_from("<HHIII", image, library)
            own = library + first
            for _ in range(entries):
                _, _, index, name, step = struct.unpack_from("<IHHII", image, own)
                versions[index & 0x7FFF] = text(table, name)
                found[versions[index & 0x7FFF]] = []
                own += step
            library, more = library + following, following != 0
    symbols, indices = kinds[DYNSYM], kinds.get(VERSION_OF_SYMBOL)
    for i in range(1, symbols[5] // 24):
        name, info, _, section = struct.unpack_from("<IBBH", image, symbols[4] + 24 * i)
        index = struct.unpack_from("<H", image, indices[4] + 2 * i)[0] & 0x7FFF if indices else 1
        version = versions.get(index, "")
        if section == 0 and (version or info >> 4 == 1):
            found[version].append(text(symbols, name))
    return dict(found)


def version_of(name: str) -> tuple[int, ...]:
    """Returns the glibc that has a version of its symbols, nothing for other libraries' versions."""
    if name.startswith("GLIBC_ABI_"):  # a requirement on the loader, such as DT_RELR
        return (2, 36)
    found = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", name)
    return tuple(map(int, found[1].split("."))) if found else ()


def problems(image: bytes, limit: tuple[int, ...] | None) -> tuple[str, list[str]]:
    """Returns the glibc that a library needs, and why it does not load on the one that it should load on."""
    symbols = needed(image)
    highest = max(map(version_of, symbols), default=())
    found = [
        f"{', '.join(names) or 'a version'} of {name}"
        for name, names in symbols.items()
        if limit and version_of(name) > limit
    ]
    # Those of Python come from the interpreter; `-z defs` cannot be used because of them.
    missing = [name for name in symbols.get("", []) if not re.match(r"_?Py[A-Z_]", name)]
    if missing:
        found.append(f"{', '.join(missing)}, which the targeted glibc does not have")
    return ".".join(map(str, highest)), found


def main() -> int:
    """Prints what each library of the wheels needs; returns 1 if one needs more than it may."""
    parser = argparse.ArgumentParser(prog="python -m tests.symbols", description=main.__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="WHEEL", help="wheels, or libraries themselves")
    parser.add_argument("--glibc", help="the newest glibc that may be needed, such as 2.28")
    options = parser.parse_args()
    limit = tuple(map(int, options.glibc.split("."))) if options.glibc else None
    bad = False
    for path in options.files:
        images = {path.name: path.read_bytes()}
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                images = {name: wheel.read(name) for name in wheel.namelist()}
        for name, image in images.items():
            if image[:6] != b"\x7fELF\x02\x01":  # 64 bits, little endian
                continue
            highest, found = problems(image, limit)
            print(f"{name}: glibc {highest or 'of any version'}")
            for problem in found:
                print(f"{name} needs {problem}", file=sys.stderr)
            bad |= bool(found)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
