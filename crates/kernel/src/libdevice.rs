//! libdevice's functions with the names of Numba's `cuda.libdevice`, as builtins generated from a table of signatures.
//! Values that libdevice returns through pointers are returned as a tuple.

use std::collections::HashMap;
use std::sync::LazyLock;

use cuprous_core::DType;

use crate::builtin::{Builtin, TypeSpec};

/// Result (v: none), parameters, parameters written through pointers, which come last, and the names of the functions
/// with that signature. f: float32, d: float64, h: int16, i: int32, l: int64.
const SIGNATURES: &[(&str, &str, &str, &str)] = &[
    ("i", "i", "", "abs brev clz ffs popc"),
    (
        "d",
        "d",
        "",
        "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi drcp_rd drcp_rn drcp_ru drcp_rz \
         dsqrt_rd dsqrt_rn dsqrt_ru dsqrt_rz erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs \
         floor j0 j1 lgamma log log10 log1p log2 logb nearbyint normcdf normcdfinv rcbrt rint round rsqrt \
         sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1",
    ),
    (
        "f",
        "f",
        "",
        "acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif erfcf erfcinvf erfcxf erff \
         erfinvf exp10f exp2f expf expm1f fabsf fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f \
         fast_logf fast_sinf fast_tanf floorf frcp_rd frcp_rn frcp_ru frcp_rz frsqrt_rn fsqrt_rd fsqrt_rn \
         fsqrt_ru fsqrt_rz j0f j1f lgammaf log10f log1pf log2f logbf logf nearbyintf normcdff normcdfinvf \
         rcbrtf rintf roundf rsqrtf saturatef sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf y0f y1f",
    ),
    (
        "d",
        "dd",
        "",
        "atan2 copysign dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd dmul_rn \
         dmul_ru dmul_rz fdim fmax fmin fmod hypot nextafter pow remainder",
    ),
    (
        "f",
        "ff",
        "",
        "atan2f copysignf fadd_rd fadd_rn fadd_ru fadd_rz fast_fdividef fast_powf fdimf fdiv_rd fdiv_rn \
         fdiv_ru fdiv_rz fmaxf fminf fmodf fmul_rd fmul_rn fmul_ru fmul_rz fsub_rd fsub_rn fsub_ru \
         fsub_rz hypotf nextafterf powf remainderf",
    ),
    ("l", "l", "", "brevll llabs"),
    ("i", "iii", "", "byte_perm sad usad"),
    ("i", "l", "", "clzll ffsll popcll"),
    ("f", "d", "", "double2float_rd double2float_rn double2float_ru double2float_rz"),
    (
        "i",
        "d",
        "",
        "double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd \
         double2uint_rn double2uint_ru double2uint_rz ilogb isfinited isinfd isnand signbitd",
    ),
    (
        "l",
        "d",
        "",
        "double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru \
         double2ull_rz double_as_longlong llrint llround",
    ),
    ("v", "f", "ff", "fast_sincosf sincosf sincospif"),
    (
        "i",
        "f",
        "",
        "finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn \
         float2uint_ru float2uint_rz float_as_int ilogbf isinff isnanf signbitf",
    ),
    ("h", "f", "", "float2half_rn"),
    (
        "l",
        "f",
        "",
        "float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru \
         float2ull_rz llrintf llroundf",
    ),
    ("d", "ddd", "", "fma fma_rd fma_rn fma_ru fma_rz"),
    ("f", "fff", "", "fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz"),
    ("d", "d", "i", "frexp"),
    ("f", "f", "i", "frexpf"),
    ("i", "ii", "", "hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd"),
    ("f", "h", "", "half2float"),
    ("d", "ii", "", "hiloint2double"),
    ("d", "i", "", "int2double_rn uint2double_rn"),
    (
        "f",
        "i",
        "",
        "int2float_rd int2float_rn int2float_ru int2float_rz int_as_float uint2float_rd uint2float_rn \
         uint2float_ru uint2float_rz",
    ),
    ("d", "id", "", "jn yn"),
    ("f", "if", "", "jnf ynf"),
    ("d", "di", "", "ldexp powi scalbn"),
    ("f", "fi", "", "ldexpf powif scalbnf"),
    (
        "d",
        "l",
        "",
        "ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double ull2double_rd \
         ull2double_rn ull2double_ru ull2double_rz",
    ),
    (
        "f",
        "l",
        "",
        "ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn ull2float_ru \
         ull2float_rz",
    ),
    ("l", "ll", "", "llmax llmin mul64hi ullmax ullmin umul64hi"),
    ("d", "d", "d", "modf"),
    ("f", "f", "f", "modff"),
    ("d", "dd", "i", "remquo"),
    ("f", "ff", "i", "remquof"),
    ("v", "d", "dd", "sincos sincospi"),
];

/// Returns the type that a letter stands for.
pub fn letter(c: char) -> DType {
    match c {
        'f' => DType::F32,
        'd' => DType::F64,
        'h' => DType::I16,
        'l' => DType::I64,
        _ => DType::I32,
    }
}

fn leaked<T: 'static>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

fn row_of(ret: &str, takes: &str, writes: &str, name: &str) -> Builtin {
    let params: Vec<TypeSpec> = takes.chars().map(|c| TypeSpec::Is(letter(c))).collect();
    let results: Vec<DType> = ret.chars().filter(|&c| c != 'v').chain(writes.chars()).map(letter).collect();
    let args: Vec<String> = (0..params.len()).map(|k| format!("{{{k}}}")).collect();
    // Functions that write through pointers are called through a wrapper.
    let prefix = if writes.is_empty() { "__nv_" } else { "nv_" };
    Builtin {
        name: Box::leak(format!("libdevice.{name}").into_boxed_str()),
        params: leaked(params),
        defaults: &[],
        ret: match results[..] {
            [one] => TypeSpec::Is(one),
            _ => TypeSpec::Several(leaked(results)),
        },
        types: &[],
        cuda: Box::leak(format!("{prefix}{name}({})", args.join(", ")).into_boxed_str()),
        host: Box::leak(format!("nv_{name}").into_boxed_str()),
        has_effect: false,
        synchronizes: false,
        is_attribute: false,
    }
}

/// A builtin with its signature: result, parameters, parameters written through pointers.
type Entry = (Builtin, [&'static str; 3]);

static BY_NAME: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let all = SIGNATURES.iter().flat_map(|&(ret, takes, writes, names)| {
        names.split_whitespace().map(move |name| (name, (row_of(ret, takes, writes, name), [ret, takes, writes])))
    });
    all.collect()
});

/// Returns the builtin `libdevice.name`.
pub fn row(name: &str) -> Option<&'static Builtin> {
    BY_NAME.get(name.strip_prefix("libdevice.")?).map(|(row, _)| row)
}

/// Returns the signature of a function, in the letters of the table.
pub fn signature(name: &str) -> Option<[&'static str; 3]> {
    BY_NAME.get(name.strip_prefix("libdevice.")?).map(|(_, signature)| *signature)
}

/// Returns all names.
pub fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_become_rows() {
        assert_eq!(names().count(), 317);
        let sin = row("libdevice.sinf").map(|row| (row.ret, row.params, row.cuda));
        assert_eq!(sin, Some((TypeSpec::Is(DType::F32), &[TypeSpec::Is(DType::F32)][..], "__nv_sinf({0})")));
        let frexp = row("libdevice.frexp").map(|row| row.ret);
        assert_eq!(frexp, Some(TypeSpec::Several(&[DType::F64, DType::I32])));
        assert!(row("libdevice.sine").is_none());
    }
}
