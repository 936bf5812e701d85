//! Errors of this crate.

use std::fmt;

/// Which Python exception a failure becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `DistBackendError`: a rank died, ranks disagree, or a wait took too long.
    Backend,
    /// `DistNetworkError`: an address cannot be reached or bound.
    Network,
    /// `DistStoreError`: a key did not appear in time, or the store answered nonsense.
    Store,
    /// `ValueError`: an argument is wrong.
    Value,
    /// `TypeError`: the library does not have the element type.
    Type,
    /// `RuntimeError`: numbers or sizes of tensors are wrong.
    Runtime,
    /// `NotImplementedError`: the kind of store or library cannot do it.
    Unsupported,
    /// `KeyboardInterrupt`.
    Interrupted,
}

/// An error with its Python class. The message names the cause first, then what to do.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The class.
    pub kind: Kind,
    /// The whole message.
    pub message: String,
}

/// `Result` with [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        #[doc = concat!("Returns a failure of kind [`Kind::", stringify!($kind), "`].")]
        pub fn $name(message: impl Into<String>) -> Failure {
            Failure { kind: Kind::$kind, message: message.into() }
        }
    )*};
}

impl Failure {
    constructors! {
        backend => Backend, network => Network, store => Store, value => Value, type_ => Type,
        runtime => Runtime, unsupported => Unsupported, interrupted => Interrupted,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for cuprous_core::Error {
    fn from(failure: Failure) -> cuprous_core::Error {
        match failure.kind {
            Kind::Value => cuprous_core::Error::value(failure.message),
            Kind::Type => cuprous_core::Error::type_(failure.message),
            Kind::Runtime => cuprous_core::Error::runtime(failure.message),
            Kind::Interrupted => cuprous_core::Error::interrupted(failure.message),
            _ => cuprous_core::Error::distributed(failure.message),
        }
    }
}
