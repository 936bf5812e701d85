//! A builtin that devices implement: its signature, and its code for both devices.

use cuprous_core::DType;

/// A type in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeSpec {
    /// This type; numbers are converted to it.
    Is(DType),
    /// The row's type variable.
    T,
    /// Nothing is returned.
    Nothing,
    /// An int32 and a truth value are returned.
    IntBool,
    /// A tuple of these is returned.
    Several(&'static [DType]),
}

/// A builtin of the devices.
#[derive(Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// The types of its arguments.
    pub params: &'static [TypeSpec],
    /// Values of the last arguments where they are left out.
    pub defaults: &'static [i64],
    /// What it returns.
    pub ret: TypeSpec,
    /// What the type variable may be; the first that an argument converts to without loss is taken.
    pub types: &'static [DType],
    /// CUDA C++; `{0}`, `{1}` are the arguments.
    pub cuda: &'static str,
    /// The CPU's code.
    pub host: &'static str,
    /// Whether it does more than give a value.
    pub has_effect: bool,
    /// Whether threads wait there for one another.
    pub synchronizes: bool,
    /// Whether the name alone is the value: `cuda.threadIdx.x`.
    pub is_attribute: bool,
}

/// `cuda.threadIdx.x` of the last thread of a row; no name that a kernel could call.
pub static LAST_THREAD_X: Builtin = Builtin {
    name: "cuda.threadIdx.last",
    params: &[],
    defaults: &[],
    ret: TypeSpec::Is(DType::I32),
    types: &[],
    cuda: "(int)blockDim.x - 1",
    host: "@threadIdx.last",
    has_effect: false,
    synchronizes: false,
    is_attribute: true,
};
