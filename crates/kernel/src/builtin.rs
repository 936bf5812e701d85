//! Builtins that devices implement: their signatures and their code for each device.

use cuprous_core::DType;

/// A type in the signature of a builtin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeSpec {
    /// This type. Arguments are converted to it.
    Is(DType),
    /// The type variable of the signature.
    T,
    /// No value is returned.
    Nothing,
    /// An int32 and a bool are returned.
    IntBool,
    /// A tuple of these types is returned.
    Several(&'static [DType]),
}

/// A builtin that devices implement. A row of [`crate::table::ROWS`], or one that follows from a declaration.
#[derive(Debug)]
pub struct Builtin {
    /// The name.
    pub name: &'static str,
    /// The types of the parameters.
    pub params: &'static [TypeSpec],
    /// Default values of the last parameters.
    pub defaults: &'static [i64],
    /// The type of the result.
    pub ret: TypeSpec,
    /// The types that the type variable may stand for. An argument takes the first one that represents its values.
    pub types: &'static [DType],
    /// The CUDA C++ text; `{0}`, `{1}` are the arguments.
    pub cuda: &'static str,
    /// The CPU's code: `@x` for what the code generator writes itself, else the name of a function of the run-time
    /// library.
    pub host: &'static str,
    /// Whether a call does more than return a value.
    pub has_effect: bool,
    /// Whether threads wait for one another in a call.
    pub synchronizes: bool,
    /// Whether the name is a value and not a function: `cuda.threadIdx.x`.
    pub is_attribute: bool,
}

/// `cuda.threadIdx.x` of the last thread along x. Kernels cannot name it.
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
