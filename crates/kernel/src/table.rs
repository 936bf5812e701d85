//! The tables of builtins: one row for each name that kernels may call.
//!
//! A function of the operation table (`math.sin`, `np.sin`, `+`) is one line: the name, the function and the typing
//! rule. NumPy's names are those of the operation table. A builtin that only devices have (`cuda.syncthreads`) is a
//! [`Builtin`]: parameter types, result type, CUDA C++ text and CPU code. For the CPU, `@x` is code that the code
//! generator writes itself. Other names are functions of the run-time library, with the name of the type appended if
//! the signature has a type variable.
//!
//! Builtins with a lowering function of their own are rows of `lower::builtins`.

use std::collections::HashMap;
use std::sync::LazyLock;

use cuprous_core::{DType, Fun};

use crate::builtin::{Builtin, TypeSpec};
use crate::rules::Rule;

/// Functions of the operation table by the names under which kernels call them.
pub const FUNCTIONS: &[(&str, Fun, Rule)] = &[
    ("math.acos", Fun::Arccos, Rule::Math),
    ("math.acosh", Fun::Arccosh, Rule::Math),
    ("math.asin", Fun::Arcsin, Rule::Math),
    ("math.asinh", Fun::Arcsinh, Rule::Math),
    ("math.atan", Fun::Arctan, Rule::Math),
    ("math.atan2", Fun::Arctan2, Rule::Math),
    ("math.atanh", Fun::Arctanh, Rule::Math),
    ("math.cbrt", Fun::Cbrt, Rule::Math),
    ("math.ceil", Fun::Ceil, Rule::Math),
    ("math.copysign", Fun::Copysign, Rule::Math),
    ("math.cos", Fun::Cos, Rule::Math),
    ("math.cosh", Fun::Cosh, Rule::Math),
    ("math.degrees", Fun::Degrees, Rule::Math),
    ("math.erf", Fun::Erf, Rule::Math),
    ("math.erfc", Fun::Erfc, Rule::Math),
    ("math.exp", Fun::Exp, Rule::Math),
    ("math.exp2", Fun::Exp2, Rule::Math),
    ("math.expm1", Fun::Expm1, Rule::Math),
    ("math.fabs", Fun::Fabs, Rule::Math),
    ("math.floor", Fun::Floor, Rule::Math),
    ("math.fmod", Fun::Fmod, Rule::Math),
    ("math.gamma", Fun::Gamma, Rule::Math),
    ("math.gcd", Fun::Gcd, Rule::Arith),
    ("math.hypot", Fun::Hypot, Rule::Math),
    ("math.isfinite", Fun::Isfinite, Rule::Math),
    ("math.isinf", Fun::Isinf, Rule::Math),
    ("math.isnan", Fun::Isnan, Rule::Math),
    ("math.lcm", Fun::Lcm, Rule::Arith),
    ("math.lgamma", Fun::Gammaln, Rule::Math),
    ("math.log", Fun::Log, Rule::Math),
    ("math.log10", Fun::Log10, Rule::Math),
    ("math.log1p", Fun::Log1p, Rule::Math),
    ("math.log2", Fun::Log2, Rule::Math),
    ("math.nextafter", Fun::Nextafter, Rule::Math),
    ("math.pow", Fun::Power, Rule::Math),
    ("math.radians", Fun::Radians, Rule::Math),
    ("math.sin", Fun::Sin, Rule::Math),
    ("math.sinh", Fun::Sinh, Rule::Math),
    ("math.sqrt", Fun::Sqrt, Rule::Math),
    ("math.tan", Fun::Tan, Rule::Math),
    ("math.tanh", Fun::Tanh, Rule::Math),
    ("math.trunc", Fun::Trunc, Rule::Math),
    ("cmath.acos", Fun::Arccos, Rule::Complex),
    ("cmath.acosh", Fun::Arccosh, Rule::Complex),
    ("cmath.asin", Fun::Arcsin, Rule::Complex),
    ("cmath.asinh", Fun::Arcsinh, Rule::Complex),
    ("cmath.atan", Fun::Arctan, Rule::Complex),
    ("cmath.atanh", Fun::Arctanh, Rule::Complex),
    ("cmath.cos", Fun::Cos, Rule::Complex),
    ("cmath.cosh", Fun::Cosh, Rule::Complex),
    ("cmath.exp", Fun::Exp, Rule::Complex),
    ("cmath.isfinite", Fun::Isfinite, Rule::Complex),
    ("cmath.isinf", Fun::Isinf, Rule::Complex),
    ("cmath.isnan", Fun::Isnan, Rule::Complex),
    ("cmath.log", Fun::Log, Rule::Complex),
    ("cmath.log10", Fun::Log10, Rule::Complex),
    ("cmath.phase", Fun::Angle, Rule::Complex),
    ("cmath.sin", Fun::Sin, Rule::Complex),
    ("cmath.sinh", Fun::Sinh, Rule::Complex),
    ("cmath.sqrt", Fun::Sqrt, Rule::Complex),
    ("cmath.tan", Fun::Tan, Rule::Complex),
    ("cmath.tanh", Fun::Tanh, Rule::Complex),
    ("abs", Fun::Absolute, Rule::Plain),
    ("cuda.cbrt", Fun::Cbrt, Rule::Math),
    ("cuda.rsqrt", Fun::Rsqrt, Rule::Math),
    ("cuda.fp16.hadd", Fun::Add, Rule::Arith),
    ("cuda.fp16.hsub", Fun::Subtract, Rule::Arith),
    ("cuda.fp16.hmul", Fun::Multiply, Rule::Arith),
    ("cuda.fp16.hdiv", Fun::Divide, Rule::Divide),
    ("cuda.fp16.hneg", Fun::Negative, Rule::Arith),
    ("cuda.fp16.habs", Fun::Absolute, Rule::Plain),
    ("cuda.fp16.heq", Fun::Equal, Rule::Compare),
    ("cuda.fp16.hne", Fun::NotEqual, Rule::Compare),
    ("cuda.fp16.hge", Fun::GreaterEqual, Rule::Compare),
    ("cuda.fp16.hgt", Fun::Greater, Rule::Compare),
    ("cuda.fp16.hle", Fun::LessEqual, Rule::Compare),
    ("cuda.fp16.hlt", Fun::Less, Rule::Compare),
    ("cuda.fp16.hmax", Fun::Maximum, Rule::Ufunc),
    ("cuda.fp16.hmin", Fun::Minimum, Rule::Ufunc),
    ("cuda.fp16.hsin", Fun::Sin, Rule::Math),
    ("cuda.fp16.hcos", Fun::Cos, Rule::Math),
    ("cuda.fp16.hlog", Fun::Log, Rule::Math),
    ("cuda.fp16.hlog2", Fun::Log2, Rule::Math),
    ("cuda.fp16.hlog10", Fun::Log10, Rule::Math),
    ("cuda.fp16.hexp", Fun::Exp, Rule::Math),
    ("cuda.fp16.hexp2", Fun::Exp2, Rule::Math),
    ("cuda.fp16.hsqrt", Fun::Sqrt, Rule::Math),
    ("cuda.fp16.hrsqrt", Fun::Rsqrt, Rule::Math),
    ("cuda.fp16.hrcp", Fun::Reciprocal, Rule::Ufunc),
    ("cuda.fp16.hceil", Fun::Ceil, Rule::Math),
    ("cuda.fp16.hfloor", Fun::Floor, Rule::Math),
    ("cuda.fp16.htrunc", Fun::Trunc, Rule::Math),
    ("cuda.fp16.hrint", Fun::Rint, Rule::Math),
    ("cuda.fp16.htanh", Fun::Tanh, Rule::Math),
    ("cuda.fp16.htanh_approx", Fun::Tanh, Rule::Math),
    ("operator.add", Fun::Add, Rule::Arith),
    ("operator.sub", Fun::Subtract, Rule::Arith),
    ("operator.mul", Fun::Multiply, Rule::Arith),
    ("operator.truediv", Fun::Divide, Rule::Divide),
    ("operator.floordiv", Fun::FloorDivide, Rule::Arith),
    ("operator.mod", Fun::Remainder, Rule::Arith),
    ("operator.pow", Fun::Power, Rule::Power),
    ("operator.neg", Fun::Negative, Rule::Arith),
    ("operator.and_", Fun::BitwiseAnd, Rule::Bits),
    ("operator.or_", Fun::BitwiseOr, Rule::Bits),
    ("operator.xor", Fun::BitwiseXor, Rule::Bits),
    ("operator.lshift", Fun::LeftShift, Rule::Shift),
    ("operator.rshift", Fun::RightShift, Rule::Shift),
    ("operator.eq", Fun::Equal, Rule::Compare),
    ("operator.ne", Fun::NotEqual, Rule::Compare),
    ("operator.lt", Fun::Less, Rule::Compare),
    ("operator.le", Fun::LessEqual, Rule::Compare),
    ("operator.gt", Fun::Greater, Rule::Compare),
    ("operator.ge", Fun::GreaterEqual, Rule::Compare),
];

/// NumPy's aliases.
const NUMPY_ALIASES: &[(&str, &str)] = &[
    ("abs", "absolute"),
    ("acos", "arccos"),
    ("asin", "arcsin"),
    ("atan", "arctan"),
    ("atan2", "arctan2"),
    ("acosh", "arccosh"),
    ("asinh", "arcsinh"),
    ("atanh", "arctanh"),
    ("bitwise_not", "invert"),
    ("bitwise_invert", "invert"),
    ("conj", "conjugate"),
    ("deg2rad", "radians"),
    ("mod", "remainder"),
    ("pow", "power"),
    ("rad2deg", "degrees"),
    ("true_divide", "divide"),
];

/// Returns the function of the operation table and the typing rule of a name.
pub fn function(name: &str) -> Option<(Fun, Rule)> {
    static BY_NAME: LazyLock<HashMap<&str, (Fun, Rule)>> =
        LazyLock::new(|| FUNCTIONS.iter().map(|&(name, fun, rule)| (name, (fun, rule))).collect());
    if let Some(found) = BY_NAME.get(name) {
        return Some(*found);
    }
    let name = name.strip_prefix("np.")?;
    let name = NUMPY_ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    Fun::from_name(name).filter(|fun| !fun.op().cuda.is_empty()).map(|fun| (fun, Rule::Ufunc))
}

use DType::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use TypeSpec::{IntBool, Is, Nothing, T};

const INTS: &[DType] = &[I8, I16, I32, I64, U8, U16, U32, U64];
const UNSIGNED: &[DType] = &[U32, U64];
const FLOATS: &[DType] = &[F32, F64];
const WARP_TYPES: &[DType] = &[I32, U32, I64, U64, F32, F64];
const MASK: i64 = 0xffff_ffff;

macro_rules! rows {
    ($($name:literal ($($param:expr),*) $([$($default:expr),*])? -> $ret:expr, $types:expr, $cuda:literal, $host:literal
       $($flag:ident)?;)*) => {
        /// The builtins of the devices.
        pub static ROWS: &[Builtin] = &[$(Builtin {
            name: $name,
            params: &[$($param),*],
            defaults: &[$($($default),*)?],
            ret: $ret,
            types: $types,
            cuda: $cuda,
            host: $host,
            has_effect: flags!(effect $($flag)?),
            synchronizes: flags!(sync $($flag)?),
            is_attribute: flags!(attribute $($flag)?),
        }),*];
    };
}
macro_rules! flags {
    // Builtins that synchronize have an effect.
    (effect effect) => {
        true
    };
    (effect sync) => {
        true
    };
    (sync sync) => {
        true
    };
    (attribute attribute) => {
        true
    };
    ($flag:ident $($other:ident)?) => {
        false
    };
}

rows! {
    // --- where a thread stands
    "cuda.threadIdx.x" () -> Is(I32), &[], "(int)threadIdx.x", "@threadIdx.x" attribute;
    "cuda.threadIdx.y" () -> Is(I32), &[], "(int)threadIdx.y", "@threadIdx.y" attribute;
    "cuda.threadIdx.z" () -> Is(I32), &[], "(int)threadIdx.z", "@threadIdx.z" attribute;
    "cuda.blockIdx.x" () -> Is(I32), &[], "(int)blockIdx.x", "@blockIdx.x" attribute;
    "cuda.blockIdx.y" () -> Is(I32), &[], "(int)blockIdx.y", "@blockIdx.y" attribute;
    "cuda.blockIdx.z" () -> Is(I32), &[], "(int)blockIdx.z", "@blockIdx.z" attribute;
    "cuda.blockDim.x" () -> Is(I32), &[], "(int)blockDim.x", "@blockDim.x" attribute;
    "cuda.blockDim.y" () -> Is(I32), &[], "(int)blockDim.y", "@blockDim.y" attribute;
    "cuda.blockDim.z" () -> Is(I32), &[], "(int)blockDim.z", "@blockDim.z" attribute;
    "cuda.gridDim.x" () -> Is(I32), &[], "(int)gridDim.x", "@gridDim.x" attribute;
    "cuda.gridDim.y" () -> Is(I32), &[], "(int)gridDim.y", "@gridDim.y" attribute;
    "cuda.gridDim.z" () -> Is(I32), &[], "(int)gridDim.z", "@gridDim.z" attribute;
    "cuda.laneid" () -> Is(I32), &[], "lane_id()", "@laneid" attribute;
    // --- waiting
    "cuda.syncthreads" () -> Nothing, &[], "__syncthreads()", "@syncthreads" sync;
    "cuda.syncthreads_count" (Is(I32)) -> Is(I32), &[], "__syncthreads_count({0})", "@syncthreads_count" sync;
    "cuda.syncthreads_and" (Is(I32)) -> Is(I32), &[], "__syncthreads_and({0})", "@syncthreads_and" sync;
    "cuda.syncthreads_or" (Is(I32)) -> Is(I32), &[], "__syncthreads_or({0})", "@syncthreads_or" sync;
    "cuda.cg.grid.sync" () -> Nothing, &[], "grid_sync()", "@grid_sync" sync;
    "cuda.cg.block.sync" () -> Nothing, &[], "__syncthreads()", "@syncthreads" sync;
    "cuda.syncwarp" (Is(U32)) [MASK] -> Nothing, &[], "__syncwarp({0})", "@syncwarp" sync;
    "cuda.threadfence" () -> Nothing, &[], "__threadfence()", "@fence" effect;
    "cuda.threadfence_block" () -> Nothing, &[], "__threadfence_block()", "@fence" effect;
    "cuda.threadfence_system" () -> Nothing, &[], "__threadfence_system()", "@fence" effect;
    "cuda.nanosleep" (Is(U32)) -> Nothing, &[], "__nanosleep({0})", "@nothing" effect;
    // --- lanes of a warp
    "cuda.activemask" () -> Is(U32), &[], "__activemask()", "@activemask" effect;
    "cuda.lanemask_lt" () -> Is(U32), &[], "((1u << lane_id()) - 1u)", "@lanemask_lt";
    "cuda.all_sync" (Is(U32), Is(Bool)) -> Is(Bool), &[], "(bool)__all_sync({0}, {1})", "@all_sync" sync;
    "cuda.any_sync" (Is(U32), Is(Bool)) -> Is(Bool), &[], "(bool)__any_sync({0}, {1})", "@any_sync" sync;
    "cuda.eq_sync" (Is(U32), Is(Bool)) -> Is(Bool), &[], "(bool)__uni_sync({0}, {1})", "@eq_sync" sync;
    "cuda.ballot_sync" (Is(U32), Is(Bool)) -> Is(U32), &[], "__ballot_sync({0}, {1})", "@ballot_sync" sync;
    "cuda.shfl_sync" (Is(U32), T, Is(I32)) -> T, WARP_TYPES, "__shfl_sync({0}, {1}, {2})", "@shfl_sync" sync;
    "cuda.shfl_up_sync" (Is(U32), T, Is(U32)) -> T, WARP_TYPES, "__shfl_up_sync({0}, {1}, {2})", "@shfl_up_sync" sync;
    "cuda.shfl_down_sync" (Is(U32), T, Is(U32)) -> T, WARP_TYPES, "__shfl_down_sync({0}, {1}, {2})", "@shfl_down_sync" sync;
    "cuda.shfl_xor_sync" (Is(U32), T, Is(I32)) -> T, WARP_TYPES, "__shfl_xor_sync({0}, {1}, {2})", "@shfl_xor_sync" sync;
    "cuda.match_any_sync" (Is(U32), T) -> Is(U32), WARP_TYPES, "__match_any_sync({0}, {1})", "@match_any_sync" sync;
    "cuda.match_all_sync" (Is(U32), T) -> IntBool, WARP_TYPES, "match_all({0}, {1})", "@match_all_sync" sync;
    // --- bits
    "cuda.popc" (T) -> T, INTS, "popc({0})", "popc";
    "cuda.brev" (T) -> T, UNSIGNED, "brev({0})", "brev";
    "cuda.clz" (T) -> T, INTS, "clz({0})", "clz";
    "cuda.ffs" (T) -> Is(U32), INTS, "ffs({0})", "ffs";
    // --- arithmetic
    "cuda.fma" (T, T, T) -> T, FLOATS, "fma({0}, {1}, {2})", "fma";
    "math.remainder" (T, T) -> T, FLOATS, "remainder({0}, {1})", "ieee_remainder";
    "math.ldexp" (T, Is(I32)) -> T, FLOATS, "ldexp({0}, {1})", "ldexp";
    "cuda.sinpi" (T) -> T, FLOATS, "sinpi({0})", "sinpi";
    "cuda.cospi" (T) -> T, FLOATS, "cospi({0})", "cospi";
    "math.frexp_mantissa" (T) -> T, FLOATS, "frexp_mantissa({0})", "frexp_mantissa";
    "math.frexp_exponent" (T) -> Is(I32), FLOATS, "frexp_exponent({0})", "frexp_exponent";
}

/// The builtin that requires all blocks to run at the same time.
pub const GRID_SYNC: &str = "cuda.cg.grid.sync";

/// Returns the builtin of a name.
pub fn row(name: &str) -> Option<&'static Builtin> {
    static BY_NAME: LazyLock<HashMap<&str, &'static Builtin>> =
        LazyLock::new(|| ROWS.iter().map(|row| (row.name, row)).collect());
    BY_NAME.get(name).copied().or_else(|| crate::libdevice::row(name)).or_else(|| crate::linked::row(name))
}

/// Returns the dtype and the length of a vector type: `cuda.float32x3`.
pub fn vector(name: &str) -> Option<(DType, usize)> {
    let (dtype, count) = name.strip_prefix("cuda.")?.rsplit_once('x')?;
    let d = DType::from_name(dtype).filter(|d| INTS.contains(d) || FLOATS.contains(d))?;
    count.parse().ok().filter(|n| (1..=4).contains(n)).map(|n| (d, n))
}

/// Returns the names of all rows.
pub fn names() -> impl Iterator<Item = String> {
    let functions = FUNCTIONS.iter().map(|f| f.0.to_owned());
    let numpy = Fun::ALL.iter().filter(|f| !f.op().cuda.is_empty()).map(|f| format!("np.{}", f.op().name));
    let libdevice = crate::libdevice::names().map(|n| format!("libdevice.{n}"));
    let rows = ROWS.iter().map(|r| r.name.to_owned());
    functions.chain(numpy).chain(libdevice).chain(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_name() {
        assert_eq!(function("np.sin"), Some((Fun::Sin, Rule::Ufunc)));
        assert_eq!(function("np.abs"), Some((Fun::Absolute, Rule::Ufunc)));
        assert_eq!(function("np.zeros"), None);
    }

    #[test]
    fn rows_use_their_arguments() {
        for row in ROWS {
            for k in 0..row.params.len() {
                assert!(row.cuda.contains(&format!("{{{k}}}")), "{}", row.name);
            }
            assert_eq!(row.params.contains(&T), !row.types.is_empty(), "{}", row.name);
            assert!(row.defaults.len() <= row.params.len());
        }
    }
}
