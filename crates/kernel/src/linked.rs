//! CUDA C++ functions declared from Python, as builtins, and device code that kernels are linked with.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use cuprous_core::DType;

use crate::builtin::{Builtin, TypeSpec};

/// The format of device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// PTX text.
    Ptx,
    /// Machine code for one architecture.
    Cubin,
    /// Machine code for several architectures.
    Fatbin,
    /// A host object file that contains device code.
    Object,
    /// An archive of host object files.
    Archive,
    /// LTO IR, for link-time optimization.
    Ltoir,
}

impl ObjectKind {
    /// Returns the format for a file name extension.
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
    /// The format.
    pub kind: ObjectKind,
    /// The name in messages.
    pub name: String,
    /// The code.
    pub data: Arc<[u8]>,
}

static KNOWN: LazyLock<Mutex<HashMap<String, &'static Builtin>>> = LazyLock::new(Mutex::default);
/// Helpers to call functions that return their result through the first argument, as Numba's device functions do.
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

/// The host name of declared functions. They have no CPU implementation.
pub const HOST: &str = "@linked";

/// Declares a function and returns the name by which kernels call it. With `pointer`, the result comes through the
/// first argument.
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

/// Returns the builtin of a declared function.
pub fn row(name: &str) -> Option<&'static Builtin> {
    if !name.starts_with("linked.") {
        return None;
    }
    KNOWN.lock().unwrap_or_else(|e| e.into_inner()).get(name).copied()
}
