//! Errors. A message names the cause first, then the shapes or types, then what to do.

use std::fmt;

/// Which Python exception an error becomes. The names are Python's and NumPy's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each names its Python class")]
pub enum ErrorKind {
    Value,
    Type,
    Index,
    /// `numpy.exceptions.AxisError`.
    Axis,
    Overflow,
    NotImplemented,
    /// `OutOfMemoryError(MemoryError)`.
    Memory,
    Runtime,
    /// Operands on two devices. The exception is both a `ValueError`, which NumPy raises, and a `RuntimeError`, which
    /// PyTorch raises.
    Device,
    /// `numpy._core._exceptions._UFuncNoLoopError`'s public base: `TypeError`.
    Cast,
    /// `ImportError`: a required library is not installed.
    MissingLibrary,
    /// `DistBackendError`: processes that compute together cannot continue.
    Distributed,
    /// `RecursionError`: the functions of a kernel were nested too deeply.
    Recursion,
    /// `KeyboardInterrupt`. The interrupted work can continue later.
    Interrupted,
    /// `KeyboardInterrupt`. The interrupted work is lost.
    Aborted,
}

/// An error that becomes a Python exception.
#[derive(Clone, Debug)]
pub struct Error {
    /// The Python class.
    pub kind: ErrorKind,
    /// The whole message. It starts with `[op]` if an operation is the cause.
    pub message: String,
}

/// `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        #[doc = concat!("Returns an error of kind [`ErrorKind::", stringify!($kind), "`].")]
        pub fn $name(message: impl Into<String>) -> Error {
            Error { kind: ErrorKind::$kind, message: message.into() }
        }
    )*};
}

impl Error {
    constructors! {
        value => Value, type_ => Type, index => Index, axis => Axis, overflow => Overflow, cast => Cast,
        not_implemented => NotImplemented, memory => Memory, runtime => Runtime, device => Device,
        missing_library => MissingLibrary, distributed => Distributed, interrupted => Interrupted, aborted => Aborted, recursion => Recursion,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
