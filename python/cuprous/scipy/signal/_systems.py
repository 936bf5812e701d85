"""Linear systems: their classes, and what they respond, by SciPy on the host: matrices are small, and states follow one
another."""

from __future__ import annotations

from typing import Any

from cuprous._common.naming import documented, named
from cuprous.scipy.signal._by_scipy import WRAPPERS, by_scipy, to_device, to_host

#: Attributes of SciPy's systems by class, and conversions of all.
_ATTRIBUTES = {
    "TransferFunction": ("num", "den"),
    "ZerosPolesGain": ("zeros", "poles", "gain"), "StateSpace": ("A", "B", "C", "D"),
}  # fmt: skip
_CONVERSIONS = ("to_tf", "to_zpk", "to_ss")
#: Methods in continuous and discrete time: the function that does the same, and an example with its result.
_METHODS = {
    "lti": {
        "bode": ("bode", "([1.0])[1].round(4)", "array([-3.0103])"),
        "freqresp": ("freqresp", "([1.0])[1]", "array([0.5-0.5j])"),
        "impulse": ("impulse", "(T=cp.asarray([0.0, 1.0]))[1].round(6)", "array([1.      , 0.367879])"),
        "output": ("lsim", "(cp.ones(3), cp.arange(3.0))[1].round(6)", "array([0.      , 0.632121, 0.864665])"),
        "step": ("step", "(T=cp.asarray([0.0, 1.0]))[1].round(6)", "array([0.      , 0.632121])"),
        "to_discrete": ("cont2discrete", "(0.1).dt", "0.1"),
    },
    "dlti": {
        "bode": ("dbode", "([1.0])[1].round(4)", "array([0.365])"),
        "freqresp": ("dfreqresp", "([1.0])[1].round(4)", "array([-0.5-0.9152j])"),
        "impulse": ("dimpulse", "(n=3)[1][0].ravel()", "array([0., 1., 1.])"),
        "output": ("dlsim", "(cp.ones(3), None)[1].ravel()", "array([0., 1., 2.])"),
        "step": ("dstep", "(n=3)[1][0].ravel()", "array([0., 1., 2.])"),
    },
}
_OPERATORS = ("add", "mul", "neg", "pow", "radd", "rmul", "rsub", "rtruediv", "sub", "truediv")


class System:
    """The base class of linear systems. A system of SciPy on the host has the numbers; they are copied to the device
    when they are read."""

    _scipy: str
    host_system: Any

    def __new__(cls, *system: Any, **keywords: Any) -> Any:
        """Returns an instance of the class for the kind of system, in continuous or discrete time."""
        return by_scipy(cls._scipy, *system, **keywords)

    def __init__(self, *system: Any, **keywords: Any) -> None: ...

    def __repr__(self) -> str:
        return repr(self.host_system)

    def __reduce__(self) -> Any:
        return _of, (self.host_system,)


def _of(host: Any) -> Any:
    """Returns a system of SciPy as one of ours."""
    system: Any = object.__new__(_CLASSES[type(host).__name__])
    system.host_system = host
    return system


class lti(System):
    """A linear time-invariant system in continuous time: a `TransferFunction`, `ZerosPolesGain` or `StateSpace`.

    Parameters
    ----------
    *system : any
        (num, den), (zeros, poles, gain) or (A, B, C, D).
    **keywords : any
        None.

    Raises
    ------
    ValueError
        For another number of arguments.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    ZerosPolesGain, StateSpace, TransferFunction, dlti

    Examples
    --------
    >>> cp.scipy.signal.lti([1.0], [1.0, 2.0]).poles
    array([-2.])
    """

    _scipy = "lti"


class dlti(System):
    """A linear time-invariant system in discrete time: a `TransferFunction`, `ZerosPolesGain` or `StateSpace`.

    Parameters
    ----------
    *system : any
        (num, den), (zeros, poles, gain) or (A, B, C, D).
    **keywords : any
        `dt`, the sampling time; True if it is not known.

    Raises
    ------
    ValueError
        For another number of arguments.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    ZerosPolesGain, StateSpace, TransferFunction, lti

    Examples
    --------
    >>> cp.scipy.signal.dlti([1.0], [1.0, 0.5], dt=0.1).poles
    array([-0.5])
    """

    _scipy = "dlti"


class TransferFunction(System):
    """A system as the quotient of two polynomials, from the highest power down.

    Parameters
    ----------
    *system : any
        The numerator and denominator, or another system.
    **keywords : any
        `dt`, the sampling time of a system in discrete time.

    Raises
    ------
    ValueError
        For another number of arguments.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    ZerosPolesGain, StateSpace, lti, dlti, tf2ss, tf2zpk

    Examples
    --------
    >>> cp.scipy.signal.TransferFunction([1.0], [1.0, 2.0]).den
    array([1., 2.])
    """

    _scipy = "TransferFunction"


class ZerosPolesGain(System):
    """A system as zeros, poles and gain.

    Parameters
    ----------
    *system : any
        The zeros, poles and gain, or another system.
    **keywords : any
        `dt`, the sampling time of a system in discrete time.

    Raises
    ------
    ValueError
        For another number of arguments.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    TransferFunction, StateSpace, lti, dlti, zpk2ss, zpk2tf

    Examples
    --------
    >>> cp.scipy.signal.ZerosPolesGain([], [-2.0], 1.0).to_tf().den
    array([1., 2.])
    """

    _scipy = "ZerosPolesGain"


class StateSpace(System):
    """A system as the matrices of x' = A x + B u and y = C x + D u.

    Parameters
    ----------
    *system : any
        The matrices, or another system.
    **keywords : any
        `dt`, the sampling time of a system in discrete time.

    Raises
    ------
    ValueError
        For another number of arguments.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    TransferFunction, ZerosPolesGain, lti, dlti, ss2zpk, ss2tf

    Examples
    --------
    >>> (cp.scipy.signal.StateSpace(-2.0, 1.0, 1.0, 0.0) * 3.0).B
    array([[3.]])
    """

    _scipy = "StateSpace"


def _attribute(name: str) -> property:
    def read(self: System) -> Any:
        return to_device(getattr(self.host_system, name))

    def write(self: System, value: Any) -> None:
        setattr(self.host_system, name, to_host(value))

    return property(read, write, doc=f"The system's `{name}`.")


def _called(name: str) -> Any:
    def method(self: System, *args: Any, **keywords: Any) -> Any:
        host = {key: to_host(value) for key, value in keywords.items()}
        return to_device(getattr(self.host_system, name)(*map(to_host, args), **host))

    return method


def _conversion(name: str) -> Any:
    kind = {"to_tf": "TransferFunction", "to_zpk": "ZerosPolesGain", "to_ss": "StateSpace"}[name]
    return named(_called(name), name, f"Returns the system as a `{kind}`.")


def _method(time: str, name: str) -> Any:
    function, call, result = _METHODS[time][name]
    system = "lti([1.0], [1.0, 1.0])" if time == "lti" else "dlti([1.0], [1.0, -1.0], dt=1.0)"
    doc = f"""Returns what `{function}` returns for the system.

    Parameters
    ----------
    args : any
        The function's arguments behind the system.
    keywords : any
        The same by name.

    Returns
    -------
    callable
        The function's results.

    Examples
    --------
    >>> cp.scipy.signal.{system}.{name}{call}
    {result}
    """
    return named(_called(name), name, doc)


def _operator(name: str) -> Any:
    def method(self: System, *other: Any) -> Any:
        return to_device(getattr(self.host_system, name)(*map(to_host, other)))

    return named(method, name, "Combines the system with a number or another system.")


for _cls in (TransferFunction, ZerosPolesGain, StateSpace):
    for _name in _ATTRIBUTES[_cls._scipy]:
        setattr(_cls, _name, _attribute(_name))
for _name in ("dt", "inputs", "outputs", "poles", "zeros"):
    setattr(System, _name, _attribute(_name))
for _name in _CONVERSIONS:
    setattr(System, _name, _conversion(_name))
for _time in (lti, dlti):
    for _name in _METHODS[_time._scipy]:
        setattr(_time, _name, _method(_time._scipy, _name))
for _name in _OPERATORS:
    setattr(StateSpace, f"__{_name}__", _operator(f"__{_name}__"))
StateSpace.__array_ufunc__ = None  # type: ignore[attr-defined]  # numbers of NumPy leave operators to this class

#: SciPy's classes of systems of one kind in continuous and discrete time, and ours.
_CLASSES = {
    f"{kind.__name__}{word}": type(f"{kind.__name__}{word}", (kind, time), {"__module__": __name__})
    for kind in (TransferFunction, ZerosPolesGain, StateSpace)
    for word, time in (("Continuous", lti), ("Discrete", dlti))
}
WRAPPERS.update(dict.fromkeys(_CLASSES, _of))


_RAISES = """AttributeError
    For a system in {} time.
ValueError
    For arguments that SciPy refuses.
ImportError
    If SciPy is not installed."""
_continuous = documented({
    "system : lti or tuple of array_like":
        "An `lti` system, or a tuple of (num, den), (zeros, poles, gain) or (A, B, C, D).",
    "X0 : array_like": "The state at first, zero by default.",
    "T : array_like": "The times; by default they follow from the system.",
    "N : int": "The number of times.",
    "w : array_like": "The angular frequencies; by default they follow from the system.",
    "n : int": "The number of frequencies.",
}, Raises=_RAISES.format("discrete"))  # fmt: skip
_discrete = documented({
    "system : dlti or tuple of array_like":
        "A `dlti` system, or a tuple of (num, den, dt), (zeros, poles, gain, dt) or (A, B, C, D, dt).",
    "x0 : array_like": "The state at first, zero by default.",
    "t : array_like": "The times; by default multiples of dt.",
    "w : array_like": "The angular frequencies a sample; by default from 0 to pi.",
    "n : int": "The number of frequencies.",
}, Raises=_RAISES.format("continuous"))  # fmt: skip


@_continuous
def lsim(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> Any:
    """Returns the response of a continuous system to an input.

    Parameters
    ----------
    U : array_like
        The input at the times, 1-d, or a column for each input; 0 and None are no input.
    T : array_like
        The times, evenly spaced.
    interp : bool, default True
        Whether the input is linear between the times, not constant.

    Returns
    -------
    tuple of ndarrays
        The times, the output and the states.

    See Also
    --------
    scipy.signal.bode, scipy.signal.freqresp, scipy.signal.impulse, scipy.signal.step

    Examples
    --------
    >>> t, y, x = cp.scipy.signal.lsim(([1.0], [1.0, 0.0]), cp.ones(3), cp.arange(3.0))
    >>> y.round(6)
    array([0., 1., 2.])
    """
    return by_scipy("lsim", system, U, T, X0, interp)


@_continuous
def impulse(system: Any, X0: Any = None, T: Any = None, N: int | None = None) -> Any:
    """Returns the impulse response of a continuous system.

    Returns
    -------
    tuple of ndarrays
        The times and the response.

    See Also
    --------
    scipy.signal.step, scipy.signal.lsim, scipy.signal.bode, scipy.signal.freqresp

    Examples
    --------
    >>> t, y = cp.scipy.signal.impulse(([1.0], [1.0, 1.0]), T=cp.asarray([0.0, 1.0]))
    >>> y.round(6)
    array([1.      , 0.367879])
    """
    return by_scipy("impulse", system, X0, T, N)


@_continuous
def step(system: Any, X0: Any = None, T: Any = None, N: int | None = None) -> Any:
    """Returns the step response of a continuous system.

    Returns
    -------
    tuple of ndarrays
        The times and the response.

    See Also
    --------
    scipy.signal.lsim, scipy.signal.bode, scipy.signal.freqresp, scipy.signal.impulse

    Examples
    --------
    >>> t, y = cp.scipy.signal.step(([1.0], [1.0, 1.0]), T=cp.asarray([0.0, 1.0]))
    >>> y.round(6)
    array([0.      , 0.632121])
    """
    return by_scipy("step", system, X0, T, N)


@_continuous
def bode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Returns the magnitude and phase of a continuous system's frequency response.

    Returns
    -------
    tuple of ndarrays
        The frequencies, the magnitude in decibels and the phase in degrees.

    See Also
    --------
    scipy.signal.freqresp, scipy.signal.impulse, scipy.signal.step, scipy.signal.lsim

    Examples
    --------
    >>> w, magnitude, phase = cp.scipy.signal.bode(([1.0], [1.0, 1.0]), cp.asarray([1.0]))
    >>> magnitude.round(4), phase.round(4)
    (array([-3.0103]), array([-45.]))
    """
    return by_scipy("bode", system, w, n)


@_continuous
def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Returns the frequency response of a continuous system.

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    See Also
    --------
    scipy.signal.impulse, scipy.signal.step, scipy.signal.lsim, scipy.signal.bode

    Examples
    --------
    >>> w, h = cp.scipy.signal.freqresp(([1.0], [1.0, 1.0]), cp.asarray([1.0]))
    >>> h
    array([0.5-0.5j])
    """
    return by_scipy("freqresp", system, w, n)


@_discrete
def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> Any:
    """Returns the response of a discrete system to an input.

    Parameters
    ----------
    u : array_like
        The input, 1-d, or a column for each input.
    t : array_like, optional
        The times of the input; by default multiples of dt.

    Returns
    -------
    tuple of ndarrays
        The times, the output and, for a `StateSpace` system, the states.

    See Also
    --------
    lsim, dstep, dimpulse, cont2discrete

    Examples
    --------
    >>> t, y = cp.scipy.signal.dlsim(([1.0], [1.0, -1.0], 1.0), cp.ones(3))
    >>> y.ravel()
    array([0., 1., 2.])
    """
    return by_scipy("dlsim", system, u, t, x0)


@_discrete
def dimpulse(system: Any, x0: Any = None, t: Any = None, n: int | None = None) -> Any:
    """Returns the impulse response of a discrete system.

    Parameters
    ----------
    n : int, optional
        The number of times.

    Returns
    -------
    tuple of ndarrays
        The times, and a tuple with the response to each input.

    See Also
    --------
    impulse, dstep, dlsim, cont2discrete

    Examples
    --------
    >>> t, y = cp.scipy.signal.dimpulse(([1.0], [1.0, -1.0], 1.0), n=3)
    >>> y[0].ravel()
    array([0., 1., 1.])
    """
    return by_scipy("dimpulse", system, x0, t, n)


@_discrete
def dstep(system: Any, x0: Any = None, t: Any = None, n: int | None = None) -> Any:
    """Returns the step response of a discrete system.

    Parameters
    ----------
    n : int, optional
        The number of times.

    Returns
    -------
    tuple of ndarrays
        The times, and a tuple with the response to each input.

    See Also
    --------
    step, dimpulse, dlsim, cont2discrete

    Examples
    --------
    >>> t, y = cp.scipy.signal.dstep(([1.0], [1.0, -1.0], 1.0), n=3)
    >>> y[0].ravel()
    array([0., 1., 2.])
    """
    return by_scipy("dstep", system, x0, t, n)


@_discrete
def dbode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Returns the magnitude and phase of a discrete system's frequency response.

    Returns
    -------
    tuple of ndarrays
        The frequencies, the magnitude in decibels and the phase in degrees.

    See Also
    --------
    dfreqresp, dlti, TransferFunction, ZerosPolesGain, StateSpace

    Examples
    --------
    >>> w, magnitude, phase = cp.scipy.signal.dbode(([2.0], [1.0], 1.0), [1.0])
    >>> magnitude.round(4)
    array([6.0206])
    """
    return by_scipy("dbode", system, w, n)


@_discrete
def dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
    """Returns the frequency response of a discrete system.

    Parameters
    ----------
    whole : bool, default False
        Whether the frequencies go around the whole circle.

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    See Also
    --------
    scipy.signal.dbode, scipy.signal.dimpulse

    Examples
    --------
    >>> w, h = cp.scipy.signal.dfreqresp(([1.0], [1.0, -0.5], 1.0), cp.asarray([0.0]))
    >>> h
    array([2.+0.j])
    """
    return by_scipy("dfreqresp", system, w, n, whole)


__all__ = [
    "StateSpace",
    "TransferFunction",
    "ZerosPolesGain",
    "bode",
    "dbode",
    "dfreqresp",
    "dimpulse",
    "dlsim",
    "dlti",
    "dstep",
    "freqresp",
    "impulse",
    "lsim",
    "lti",
    "step",
]
