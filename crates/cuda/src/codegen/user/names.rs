//! Names in generated code. Python's names are kept unless C++ or the prelude uses them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use cuprous_kernel::ir::Function;

use crate::codegen::prelude::Part;

/// C++ keywords, and other names that have a meaning in generated code.
const CPP_NAMES: &str = "\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval \
    constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double \
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace \
    new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires \
    return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true \
    try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq int8 int16 int32 \
    int64 uint8 uint16 uint32 uint64 half bf16 complex64 complex128 array strided none DEV DEV_FAR threadIdx \
    blockIdx blockDim gridDim warpSize main dynamic_shared index_entry slice_entry new_axis whole_axis MISSING \
    printf assert NULL INFINITY NAN abs min max sin cos tan exp log sqrt pow fabs floor ceil round trunc fma hypot \
    erf erfc acos asin atan sinh cosh tanh exp2 expm1 log2 log10 log1p cbrt rint atan2 fmod remainder ldexp frexp \
    copysign nextafter isnan isinf isfinite";

/// Names that the prelude calls or defines.
static RESERVED: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut names: HashSet<String> = CPP_NAMES.split_whitespace().map(str::to_owned).collect();
    for part in Part::ALL {
        let text = part.text();
        let mut word = String::new();
        for c in text.chars().chain([' ']) {
            if c.is_ascii_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            // Identifiers before a bracket or template arguments.
            if matches!(c, '(' | '<') && word.len() > 1 {
                names.insert(std::mem::take(&mut word));
            }
            word.clear();
        }
    }
    names
});

/// Returns a name that C++ and the prelude do not use.
pub(super) fn unreserved(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    // Names that begin with two underscores belong to the compiler.
    if RESERVED.contains(&text) || text.starts_with("__") || text.starts_with("shared_") || text.starts_with("local_") {
        text.push('_');
    }
    text
}

/// Returns the names of a function's variables.
pub(super) fn variables(function: &Function, taken: &[String]) -> Vec<String> {
    let mut count: HashMap<String, u32> = taken.iter().map(|name| (name.clone(), 1)).collect();
    let mut names = Vec::new();
    for var in &function.vars {
        let plain = unreserved(&var.name);
        let mut name = plain.clone();
        while count.contains_key(&name) {
            let k = count.entry(plain.clone()).or_insert(0);
            *k += 1;
            name = format!("{plain}_{k}");
        }
        count.insert(name.clone(), 1);
        names.push(name);
    }
    names
}
