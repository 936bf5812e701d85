//! Functions of CUDA C++ that kernels call: rows of the table of builtins, made as Python declares them; device code
//! that kernels are linked with.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use cuprous_core::DType;

use crate::builtin::{Builtin, TypeSpec};

/// What device code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// Text for the driver's assembler.
    Ptx,
    /// Code for one GPU.
    Cubin,
    /// Code for several GPUs.
    Fatbin,
    /// A file of the host with device code in it.
    Object,
    /// Several of those.
    Archive,
    /// Code for link-time optimization.
    Ltoir,
}

impl ObjectKind {
    /// By the ending of a file's name.
    pub fn of(ending: &str) -> Option<ObjectKind> {
        Some(match ending {
            "ptx" => ObjectKind::Ptx,
            "cubin" => ObjectKind::Cubin,
            "fatbin" => ObjectKind::Fatbin,
            "o" | "obj" => ObjectKind::Object,
            "a" | "lib" => ObjectKind::Archive,
            "ltoir" => ObjectKind::Ltoir,
            _ => return None,
        })
    }
}

/// Device code that a kernel or module is linked with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// What messages call it.
    pub name: String,
    /// The code.
    pub data: Arc<[u8]>,
}

static KNOWN: LazyLock<Mutex<HashMap<String, &'static Builtin>>> = LazyLock::new(Mutex::default);
/// How a call looks where the function gives its result through its first argument, as Numba's device functions do.
pub const THROUGH_POINTER: &str = "
template <class R, class... A, class... B> __device__ __forceinline__ R call_linked(int (*f)(R*, A...), B... b) {
    R r;
    f(&r, (A)b...);
    return r;
}
template <class... A, class... B> __device__ __forceinline__ void run_linked(int (*f)(void*, A...), B... b) {
    f(nullptr, (A)b...);
}
";

/// The host name of such a function, which no CPU has.
pub const HOST: &str = "@linked";

/// Declares one; `pointer` says that the result comes through the first argument. Gives the name that kernels know.
pub fn declare(name: &str, params: &[DType], ret: Option<DType>, pointer: bool) -> String {
    let full = format!("linked.{name}.{params:?}.{ret:?}.{pointer}");
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    known.entry(full.clone()).or_insert_with(|| {
        let places: Vec<String> = (0..params.len()).map(|k| format!("{{{k}}}")).collect();
        let cuda = match (pointer, ret.is_some()) {
            (false, _) => format!("{name}({})", places.join(", ")),
            (true, given) => {
                let args: String = places.iter().map(|p| format!(", {p}")).collect();
                format!("{}_linked({name}{args})", if given { "call" } else { "run" })
            }
        };
        Box::leak(Box::new(Builtin {
            name: Box::leak(full.clone().into_boxed_str()),
            params: params.iter().map(|&d| TypeSpec::Is(d)).collect::<Vec<_>>().leak(),
            defaults: &[],
            ret: ret.map_or(TypeSpec::Nothing, TypeSpec::Is),
            types: &[],
            cuda: cuda.leak(),
            host: HOST,
            has_effect: true,
            synchronizes: false,
            is_attribute: false,
        }))
    });
    full
}

/// The row of one that was declared.
pub fn row(name: &str) -> Option<&'static Builtin> {
    if !name.starts_with("linked.") {
        return None;
    }
    KNOWN.lock().unwrap_or_else(|e| e.into_inner()).get(name).copied()
}
