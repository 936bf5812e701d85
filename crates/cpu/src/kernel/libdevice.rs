//! libdevice functions for kernels on the CPU, with NVIDIA's names, signatures and semantics. The float32 functions
//! compute in float64 and round once.

use half::f16;

use crate::math::special;

/// A rounding mode.
#[derive(Clone, Copy)]
enum Mode {
    Nearest,
    Down,
    Up,
    Zero,
}

/// Rounds `near + rest` to a neighbor of `near` in the given mode. `rest` is the rounding error of `near`.
fn directed(near: f64, rest: f64, mode: Mode) -> f64 {
    if !near.is_finite() || rest == 0.0 {
        return near;
    }
    match mode {
        Mode::Down if rest < 0.0 => near.next_down(),
        Mode::Up if rest > 0.0 => near.next_up(),
        Mode::Zero if near > 0.0 && rest < 0.0 => near.next_down(),
        Mode::Zero if near < 0.0 && rest > 0.0 => near.next_up(),
        _ => near,
    }
}

/// Rounds `near + rest` to float32.
fn narrow(near: f64, rest: f64, mode: Mode) -> f32 {
    let single = near as f32;
    let left = (near - f64::from(single)) + rest;
    if !single.is_finite() || left == 0.0 || left.is_nan() {
        return single;
    }
    match mode {
        Mode::Down if left < 0.0 => single.next_down(),
        Mode::Up if left > 0.0 => single.next_up(),
        Mode::Zero if single > 0.0 && left < 0.0 => single.next_down(),
        Mode::Zero if single < 0.0 && left > 0.0 => single.next_up(),
        _ => single,
    }
}

fn sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

fn product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    (p, a.mul_add(b, -p))
}

fn quotient(a: f64, b: f64) -> (f64, f64) {
    let q = a / b;
    (q, (-q).mul_add(b, a) * b.signum())
}

fn root(a: f64) -> (f64, f64) {
    let s = a.sqrt();
    (s, (-s).mul_add(s, a))
}

fn fused(a: f64, b: f64, c: f64) -> (f64, f64) {
    let near = a.mul_add(b, c);
    let (p, low) = product(a, b);
    let (s, carry) = sum(p, c);
    (near, (s - near) + (carry + low))
}

fn whole(x: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => x.round_ties_even(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
        Mode::Zero => x.trunc(),
    }
}

/// Converts an integer to float64. Returns the result and its rounding error.
fn int_to_f64(x: i128) -> (f64, f64) {
    let near = x as f64;
    (near, (x - near as i128) as f64)
}

fn power(x: f64, n: i32) -> f64 {
    x.powi(n)
}

fn exponent(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_infinite() {
        f64::INFINITY
    } else if x.is_nan() {
        x
    } else {
        f64::from(libm::ilogb(x))
    }
}

fn greatest(x: f64, y: f64) -> f64 {
    if y > x || x.is_nan() || (y == 0.0 && x == 0.0 && y.is_sign_positive()) { y } else { x }
}

fn least(x: f64, y: f64) -> f64 {
    if y < x || x.is_nan() || (y == 0.0 && x == 0.0 && y.is_sign_negative()) { y } else { x }
}

fn round_half_away(x: f64) -> f64 {
    x.round()
}

fn scaled_erfc(x: f64) -> f64 {
    if x < 25.0 {
        (x * x).exp() * libm::erfc(x)
    } else {
        1.0 / (x * std::f64::consts::PI.sqrt()) * (1.0 - 0.5 / (x * x))
    }
}

fn inverse_erfc(y: f64) -> f64 {
    if y > 1e-3 {
        return special::erfinv(1.0 - y);
    }
    // Newton steps on log erfc, starting with the first terms of its asymptotic expansion.
    let w = -(y * (2.0 - y) * std::f64::consts::PI.sqrt()).ln();
    let mut x = w.max(1.0).sqrt();
    for _ in 0..8 {
        let f = libm::erfc(x);
        if f > 0.0 {
            x += (f / y).ln() * f / (2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp());
        }
    }
    x
}

fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn inverse_normal(p: f64) -> f64 {
    -std::f64::consts::SQRT_2 * inverse_erfc(2.0 * p)
}

fn sin_cos_pi(x: f64) -> (f64, f64) {
    let x = x % 2.0;
    // Exact at multiples of 1/2.
    let angle = std::f64::consts::PI * x;
    let sine = if x == x.trunc() { 0f64.copysign(x) } else { angle.sin() };
    let cosine = if (x.abs() - 0.5).abs() == 0.0 || (x.abs() - 1.5).abs() == 0.0 { 0.0 } else { angle.cos() };
    (sine, cosine)
}

/// Saturates as the GPU does. A NaN becomes zero, or the smallest integer for 64 bits.
fn int(x: f64) -> i32 {
    x as i32
}

fn long(x: f64) -> i64 {
    if x.is_nan() { i64::MIN } else { x as i64 }
}

fn ulong(x: f64) -> i64 {
    (if x.is_nan() { 1 << 63 } else { x as u64 }).cast_signed()
}

fn byte_permute(x: i32, y: i32, select: i32) -> i32 {
    let all = u64::from(x.cast_unsigned()) | u64::from(y.cast_unsigned()) << 32;
    let pick = |k: u32| {
        let nibble = select.cast_unsigned() >> (4 * k) & 0xf;
        let byte = (all >> (8 * (nibble & 7))) as u8;
        if nibble & 8 == 0 { byte } else { 0u8.wrapping_sub(byte >> 7) }
    };
    i32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

macro_rules! functions {
    ($($name:ident($($arg:ident: $t:ty),*) -> $ret:ty $body:block)*) => {
        $(extern "C" fn $name($($arg: $t),*) -> $ret $body)*
        /// Returns the functions by symbol.
        fn scalars() -> Vec<(&'static str, *const u8)> {
            vec![$((stringify!($name), $name as *const u8)),*]
        }
    };
}
/// Defines functions of float64 and their float32 variants.
macro_rules! reals {
    ($($double:ident $single:ident($($arg:ident),*) $body:expr;)*) => {
        $(
            extern "C" fn $double($($arg: f64),*) -> f64 { $body }
            extern "C" fn $single($($arg: f32),*) -> f32 { $(let $arg = f64::from($arg);)* ($body) as f32 }
        )*
        fn real() -> Vec<(&'static str, *const u8)> {
            vec![$((stringify!($double), $double as *const u8), (stringify!($single), $single as *const u8)),*]
        }
    };
}
/// Defines functions for each rounding mode: to nearest, down, up, to zero.
macro_rules! rounded {
    ($($names:tt($($arg:ident: $t:ty),*) -> $ret:ty |$mode:ident| $body:expr;)*) => {
        $(rounded!(@each $names ($($arg: $t),*) $ret, $mode, $body);)*
        fn modes() -> Vec<(&'static str, *const u8)> {
            let mut all: Vec<(&'static str, *const u8)> = Vec::new();
            $(rounded!(@list all $names);)*
            all
        }
    };
    (@each [$n:ident $d:ident $u:ident $z:ident] $args:tt $ret:ty, $mode:ident, $body:expr) => {
        rounded!(@one $n $args $ret, $mode, Mode::Nearest, $body);
        rounded!(@one $d $args $ret, $mode, Mode::Down, $body);
        rounded!(@one $u $args $ret, $mode, Mode::Up, $body);
        rounded!(@one $z $args $ret, $mode, Mode::Zero, $body);
    };
    (@one $name:ident ($($arg:ident: $t:ty),*) $ret:ty, $mode:ident, $which:expr, $body:expr) => {
        extern "C" fn $name($($arg: $t),*) -> $ret { let $mode = $which; $body }
    };
    (@list $all:ident [$($name:ident)*]) => {
        $all.extend([$((stringify!($name), $name as *const u8)),*]);
    };
}

reals! {
    nv_acos nv_acosf(x) x.acos();
    nv_acosh nv_acoshf(x) x.acosh();
    nv_asin nv_asinf(x) x.asin();
    nv_asinh nv_asinhf(x) x.asinh();
    nv_atan nv_atanf(x) x.atan();
    nv_atan2 nv_atan2f(x, y) x.atan2(y);
    nv_atanh nv_atanhf(x) x.atanh();
    nv_cbrt nv_cbrtf(x) x.cbrt();
    nv_ceil nv_ceilf(x) x.ceil();
    nv_copysign nv_copysignf(x, y) x.copysign(y);
    nv_cos nv_cosf(x) x.cos();
    nv_cosh nv_coshf(x) x.cosh();
    nv_cospi nv_cospif(x) sin_cos_pi(x).1;
    nv_erf nv_erff(x) libm::erf(x);
    nv_erfc nv_erfcf(x) libm::erfc(x);
    nv_erfcinv nv_erfcinvf(x) inverse_erfc(x);
    nv_erfcx nv_erfcxf(x) scaled_erfc(x);
    nv_erfinv nv_erfinvf(x) special::erfinv(x);
    nv_exp nv_expf(x) x.exp();
    nv_exp10 nv_exp10f(x) libm::exp10(x);
    nv_exp2 nv_exp2f(x) x.exp2();
    nv_expm1 nv_expm1f(x) x.exp_m1();
    nv_fabs nv_fabsf(x) x.abs();
    nv_fdim nv_fdimf(x, y) libm::fdim(x, y);
    nv_floor nv_floorf(x) x.floor();
    nv_fma nv_fmaf(x, y, z) x.mul_add(y, z);
    nv_fmax nv_fmaxf(x, y) greatest(x, y);
    nv_fmin nv_fminf(x, y) least(x, y);
    nv_fmod nv_fmodf(x, y) x % y;
    nv_hypot nv_hypotf(x, y) x.hypot(y);
    nv_j0 nv_j0f(x) libm::j0(x);
    nv_j1 nv_j1f(x) libm::j1(x);
    nv_lgamma nv_lgammaf(x) libm::lgamma(x);
    nv_log nv_logf(x) x.ln();
    nv_log10 nv_log10f(x) x.log10();
    nv_log1p nv_log1pf(x) x.ln_1p();
    nv_log2 nv_log2f(x) x.log2();
    nv_logb nv_logbf(x) exponent(x);
    nv_nearbyint nv_nearbyintf(x) x.round_ties_even();
    nv_normcdf nv_normcdff(x) normal(x);
    nv_normcdfinv nv_normcdfinvf(x) inverse_normal(x);
    nv_pow nv_powf(x, y) x.powf(y);
    nv_rcbrt nv_rcbrtf(x) 1.0 / x.cbrt();
    nv_remainder nv_remainderf(x, y) libm::remainder(x, y);
    nv_rint nv_rintf(x) x.round_ties_even();
    nv_round nv_roundf(x) round_half_away(x);
    nv_rsqrt nv_rsqrtf(x) 1.0 / x.sqrt();
    nv_sin nv_sinf(x) x.sin();
    nv_sinh nv_sinhf(x) x.sinh();
    nv_sinpi nv_sinpif(x) sin_cos_pi(x).0;
    nv_sqrt nv_sqrtf(x) x.sqrt();
    nv_tan nv_tanf(x) x.tan();
    nv_tanh nv_tanhf(x) x.tanh();
    nv_tgamma nv_tgammaf(x) libm::tgamma(x);
    nv_trunc nv_truncf(x) x.trunc();
    nv_y0 nv_y0f(x) libm::y0(x);
    nv_y1 nv_y1f(x) libm::y1(x);
}

rounded! {
    [nv_dadd_rn nv_dadd_rd nv_dadd_ru nv_dadd_rz](x: f64, y: f64) -> f64 |m| { let (r, e) = sum(x, y); directed(r, e, m) };
    [nv_dmul_rn nv_dmul_rd nv_dmul_ru nv_dmul_rz](x: f64, y: f64) -> f64 |m| { let (r, e) = product(x, y); directed(r, e, m) };
    [nv_ddiv_rn nv_ddiv_rd nv_ddiv_ru nv_ddiv_rz](x: f64, y: f64) -> f64 |m| { let (r, e) = quotient(x, y); directed(r, e, m) };
    [nv_drcp_rn nv_drcp_rd nv_drcp_ru nv_drcp_rz](x: f64) -> f64 |m| { let (r, e) = quotient(1.0, x); directed(r, e, m) };
    [nv_dsqrt_rn nv_dsqrt_rd nv_dsqrt_ru nv_dsqrt_rz](x: f64) -> f64 |m| { let (r, e) = root(x); directed(r, e, m) };
    [nv_fma_rn nv_fma_rd nv_fma_ru nv_fma_rz](x: f64, y: f64, z: f64) -> f64 |m| { let (r, e) = fused(x, y, z); directed(r, e, m) };
    [nv_fadd_rn nv_fadd_rd nv_fadd_ru nv_fadd_rz](x: f32, y: f32) -> f32 |m| { let (r, e) = sum(x.into(), y.into()); narrow(r, e, m) };
    [nv_fsub_rn nv_fsub_rd nv_fsub_ru nv_fsub_rz](x: f32, y: f32) -> f32 |m| { let (r, e) = sum(x.into(), (-y).into()); narrow(r, e, m) };
    [nv_fmul_rn nv_fmul_rd nv_fmul_ru nv_fmul_rz](x: f32, y: f32) -> f32 |m| { let (r, e) = product(x.into(), y.into()); narrow(r, e, m) };
    [nv_fdiv_rn nv_fdiv_rd nv_fdiv_ru nv_fdiv_rz](x: f32, y: f32) -> f32 |m| { let (r, e) = quotient(x.into(), y.into()); narrow(r, e, m) };
    [nv_frcp_rn nv_frcp_rd nv_frcp_ru nv_frcp_rz](x: f32) -> f32 |m| { let (r, e) = quotient(1.0, x.into()); narrow(r, e, m) };
    [nv_fsqrt_rn nv_fsqrt_rd nv_fsqrt_ru nv_fsqrt_rz](x: f32) -> f32 |m| { let (r, e) = root(x.into()); narrow(r, e, m) };
    [nv_fmaf_rn nv_fmaf_rd nv_fmaf_ru nv_fmaf_rz](x: f32, y: f32, z: f32) -> f32 |m| { let (r, e) = fused(x.into(), y.into(), z.into()); narrow(r, e, m) };
    [nv_double2float_rn nv_double2float_rd nv_double2float_ru nv_double2float_rz](x: f64) -> f32 |m| narrow(x, 0.0, m);
    [nv_double2int_rn nv_double2int_rd nv_double2int_ru nv_double2int_rz](x: f64) -> i32 |m| int(whole(x, m));
    [nv_double2uint_rn nv_double2uint_rd nv_double2uint_ru nv_double2uint_rz](x: f64) -> i32 |m| (whole(x, m) as u32).cast_signed();
    [nv_double2ll_rn nv_double2ll_rd nv_double2ll_ru nv_double2ll_rz](x: f64) -> i64 |m| long(whole(x, m));
    [nv_double2ull_rn nv_double2ull_rd nv_double2ull_ru nv_double2ull_rz](x: f64) -> i64 |m| ulong(whole(x, m));
    [nv_float2int_rn nv_float2int_rd nv_float2int_ru nv_float2int_rz](x: f32) -> i32 |m| int(whole(x.into(), m));
    [nv_float2uint_rn nv_float2uint_rd nv_float2uint_ru nv_float2uint_rz](x: f32) -> i32 |m| (whole(x.into(), m) as u32).cast_signed();
    [nv_float2ll_rn nv_float2ll_rd nv_float2ll_ru nv_float2ll_rz](x: f32) -> i64 |m| long(whole(x.into(), m));
    [nv_float2ull_rn nv_float2ull_rd nv_float2ull_ru nv_float2ull_rz](x: f32) -> i64 |m| ulong(whole(x.into(), m));
    [nv_int2float_rn nv_int2float_rd nv_int2float_ru nv_int2float_rz](x: i32) -> f32 |m| narrow(x.into(), 0.0, m);
    [nv_uint2float_rn nv_uint2float_rd nv_uint2float_ru nv_uint2float_rz](x: i32) -> f32 |m| narrow(x.cast_unsigned().into(), 0.0, m);
    [nv_ll2double_rn nv_ll2double_rd nv_ll2double_ru nv_ll2double_rz](x: i64) -> f64 |m| { let (r, e) = int_to_f64(x.into()); directed(r, e, m) };
    [nv_ull2double_rn nv_ull2double_rd nv_ull2double_ru nv_ull2double_rz](x: i64) -> f64 |m| { let (r, e) = int_to_f64(x.cast_unsigned().into()); directed(r, e, m) };
    [nv_ll2float_rn nv_ll2float_rd nv_ll2float_ru nv_ll2float_rz](x: i64) -> f32 |m| { let (r, e) = int_to_f64(x.into()); narrow(r, e, m) };
    [nv_ull2float_rn nv_ull2float_rd nv_ull2float_ru nv_ull2float_rz](x: i64) -> f32 |m| { let (r, e) = int_to_f64(x.cast_unsigned().into()); narrow(r, e, m) };
}

functions! {
    nv_abs(x: i32) -> i32 { x.wrapping_abs() }
    nv_llabs(x: i64) -> i64 { x.wrapping_abs() }
    nv_brev(x: i32) -> i32 { x.reverse_bits() }
    nv_brevll(x: i64) -> i64 { x.reverse_bits() }
    nv_byte_perm(x: i32, y: i32, z: i32) -> i32 { byte_permute(x, y, z) }
    nv_clz(x: i32) -> i32 { x.leading_zeros() as i32 }
    nv_clzll(x: i64) -> i32 { x.leading_zeros() as i32 }
    nv_ffs(x: i32) -> i32 { if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 } }
    nv_ffsll(x: i64) -> i32 { if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 } }
    nv_popc(x: i32) -> i32 { x.count_ones() as i32 }
    nv_popcll(x: i64) -> i32 { x.count_ones() as i32 }
    nv_hadd(x: i32, y: i32) -> i32 { ((i64::from(x) + i64::from(y)) >> 1) as i32 }
    nv_rhadd(x: i32, y: i32) -> i32 { ((i64::from(x) + i64::from(y) + 1) >> 1) as i32 }
    nv_uhadd(x: i32, y: i32) -> i32 { ((u64::from(x.cast_unsigned()) + u64::from(y.cast_unsigned())) >> 1) as i32 }
    nv_urhadd(x: i32, y: i32) -> i32 { ((u64::from(x.cast_unsigned()) + u64::from(y.cast_unsigned()) + 1) >> 1) as i32 }
    nv_max(x: i32, y: i32) -> i32 { x.max(y) }
    nv_min(x: i32, y: i32) -> i32 { x.min(y) }
    nv_umax(x: i32, y: i32) -> i32 { x.cast_unsigned().max(y.cast_unsigned()).cast_signed() }
    nv_umin(x: i32, y: i32) -> i32 { x.cast_unsigned().min(y.cast_unsigned()).cast_signed() }
    nv_llmax(x: i64, y: i64) -> i64 { x.max(y) }
    nv_llmin(x: i64, y: i64) -> i64 { x.min(y) }
    nv_ullmax(x: i64, y: i64) -> i64 { x.cast_unsigned().max(y.cast_unsigned()).cast_signed() }
    nv_ullmin(x: i64, y: i64) -> i64 { x.cast_unsigned().min(y.cast_unsigned()).cast_signed() }
    nv_mul24(x: i32, y: i32) -> i32 { (x << 8 >> 8).wrapping_mul(y << 8 >> 8) }
    nv_umul24(x: i32, y: i32) -> i32 { (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff) }
    nv_mulhi(x: i32, y: i32) -> i32 { ((i64::from(x) * i64::from(y)) >> 32) as i32 }
    nv_umulhi(x: i32, y: i32) -> i32 { ((u64::from(x.cast_unsigned()) * u64::from(y.cast_unsigned())) >> 32) as i32 }
    nv_mul64hi(x: i64, y: i64) -> i64 { ((i128::from(x) * i128::from(y)) >> 64) as i64 }
    nv_umul64hi(x: i64, y: i64) -> i64 { ((u128::from(x.cast_unsigned()) * u128::from(y.cast_unsigned())) >> 64) as i64 }
    nv_sad(x: i32, y: i32, z: i32) -> i32 { x.abs_diff(y).wrapping_add(z.cast_unsigned()).cast_signed() }
    nv_usad(x: i32, y: i32, z: i32) -> i32 { x.cast_unsigned().abs_diff(y.cast_unsigned()).wrapping_add(z.cast_unsigned()).cast_signed() }
    nv_double2hiint(x: f64) -> i32 { (x.to_bits() >> 32) as i32 }
    nv_double2loint(x: f64) -> i32 { x.to_bits() as i32 }
    nv_hiloint2double(x: i32, y: i32) -> f64 { f64::from_bits(u64::from(x.cast_unsigned()) << 32 | u64::from(y.cast_unsigned())) }
    nv_double_as_longlong(x: f64) -> i64 { x.to_bits().cast_signed() }
    nv_longlong_as_double(x: i64) -> f64 { f64::from_bits(x.cast_unsigned()) }
    nv_float_as_int(x: f32) -> i32 { x.to_bits().cast_signed() }
    nv_int_as_float(x: i32) -> f32 { f32::from_bits(x.cast_unsigned()) }
    nv_float2half_rn(x: f32) -> i16 { f16::from_f32(x).to_bits().cast_signed() }
    nv_half2float(x: i32) -> f32 { f16::from_bits(x as u16).to_f32() }
    nv_int2double_rn(x: i32) -> f64 { x.into() }
    nv_uint2double_rn(x: i32) -> f64 { x.cast_unsigned().into() }
    nv_fast_cosf(x: f32) -> f32 { x.cos() }
    nv_fast_exp10f(x: f32) -> f32 { libm::exp10(x.into()) as f32 }
    nv_fast_expf(x: f32) -> f32 { x.exp() }
    nv_fast_fdividef(x: f32, y: f32) -> f32 { x / y }
    nv_fast_log10f(x: f32) -> f32 { x.log10() }
    nv_fast_log2f(x: f32) -> f32 { x.log2() }
    nv_fast_logf(x: f32) -> f32 { x.ln() }
    nv_fast_powf(x: f32, y: f32) -> f32 { x.powf(y) }
    nv_fast_sinf(x: f32) -> f32 { x.sin() }
    nv_fast_tanf(x: f32) -> f32 { x.tan() }
    nv_finitef(x: f32) -> i32 { x.is_finite().into() }
    nv_isfinited(x: f64) -> i32 { x.is_finite().into() }
    nv_isinfd(x: f64) -> i32 { x.is_infinite().into() }
    nv_isinff(x: f32) -> i32 { x.is_infinite().into() }
    nv_isnand(x: f64) -> i32 { x.is_nan().into() }
    nv_isnanf(x: f32) -> i32 { x.is_nan().into() }
    nv_signbitd(x: f64) -> i32 { x.is_sign_negative().into() }
    nv_signbitf(x: f32) -> i32 { x.is_sign_negative().into() }
    nv_frsqrt_rn(x: f32) -> f32 { (1.0 / f64::from(x).sqrt()) as f32 }
    nv_ilogb(x: f64) -> i32 { libm::ilogb(x) }
    nv_ilogbf(x: f32) -> i32 { libm::ilogbf(x) }
    nv_llrint(x: f64) -> i64 { long(x.round_ties_even()) }
    nv_llrintf(x: f32) -> i64 { long(f64::from(x).round_ties_even()) }
    nv_llround(x: f64) -> i64 { long(round_half_away(x)) }
    nv_llroundf(x: f32) -> i64 { long(round_half_away(x.into())) }
    nv_jn(n: i32, x: f64) -> f64 { libm::jn(n, x) }
    nv_jnf(n: i32, x: f32) -> f32 { libm::jn(n, x.into()) as f32 }
    nv_yn(n: i32, x: f64) -> f64 { libm::yn(n, x) }
    nv_ynf(n: i32, x: f32) -> f32 { libm::yn(n, x.into()) as f32 }
    nv_ldexp(x: f64, n: i32) -> f64 { libm::ldexp(x, n) }
    nv_ldexpf(x: f32, n: i32) -> f32 { libm::ldexpf(x, n) }
    nv_scalbn(x: f64, n: i32) -> f64 { libm::scalbn(x, n) }
    nv_scalbnf(x: f32, n: i32) -> f32 { libm::scalbnf(x, n) }
    nv_powi(x: f64, n: i32) -> f64 { power(x, n) }
    nv_powif(x: f32, n: i32) -> f32 { power(x.into(), n) as f32 }
    nv_nextafter(x: f64, y: f64) -> f64 { libm::nextafter(x, y) }
    nv_nextafterf(x: f32, y: f32) -> f32 { libm::nextafterf(x, y) }
    nv_saturatef(x: f32) -> f32 { if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) } }
    nv_sincos(x: f64, sine: &mut f64, cosine: &mut f64) -> () { (*sine, *cosine) = x.sin_cos() }
    nv_sincosf(x: f32, sine: &mut f32, cosine: &mut f32) -> () { (*sine, *cosine) = x.sin_cos() }
    nv_fast_sincosf(x: f32, sine: &mut f32, cosine: &mut f32) -> () { (*sine, *cosine) = x.sin_cos() }
    nv_sincospi(x: f64, sine: &mut f64, cosine: &mut f64) -> () { (*sine, *cosine) = sin_cos_pi(x) }
    nv_sincospif(x: f32, sine: &mut f32, cosine: &mut f32) -> () {
        let (s, c) = sin_cos_pi(x.into());
        (*sine, *cosine) = (s as f32, c as f32)
    }
    nv_frexp(x: f64, fraction: &mut f64, n: &mut i32) -> () { (*fraction, *n) = libm::frexp(x) }
    nv_frexpf(x: f32, fraction: &mut f32, n: &mut i32) -> () { (*fraction, *n) = libm::frexpf(x) }
    nv_modf(x: f64, fraction: &mut f64, integer: &mut f64) -> () { (*fraction, *integer) = libm::modf(x) }
    nv_modff(x: f32, fraction: &mut f32, integer: &mut f32) -> () { (*fraction, *integer) = libm::modff(x) }
    nv_remquo(x: f64, y: f64, rest: &mut f64, n: &mut i32) -> () { (*rest, *n) = libm::remquo(x, y) }
    nv_remquof(x: f32, y: f32, rest: &mut f32, n: &mut i32) -> () { (*rest, *n) = libm::remquof(x, y) }
}

/// Returns the functions by symbol.
pub(super) fn symbols() -> Vec<(&'static str, *const u8)> {
    [real(), modes(), scalars()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_table_exists() {
        let here: Vec<&str> = symbols().into_iter().map(|(name, _)| name).collect();
        let missing: Vec<&str> =
            cuprous_kernel::libdevice::names().filter(|n| !here.contains(&format!("nv_{n}").as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn results_follow_the_rounding_mode() {
        assert!(nv_dadd_ru(1.0, 1e-20) > 1.0 && nv_dadd_rd(1.0, 1e-20) == 1.0 && nv_dadd_rd(1.0, -1e-20) < 1.0);
        assert!(nv_ddiv_rd(1.0, 3.0) < nv_ddiv_ru(1.0, 3.0) && nv_ddiv_rz(-1.0, 3.0) == nv_ddiv_ru(-1.0, 3.0));
        assert!(nv_fsqrt_rd(2.0).next_up() == nv_fsqrt_ru(2.0));
        assert_eq!(nv_double2int_rn(2.5), 2);
        assert_eq!(nv_ll2float_ru(16_777_217), 16_777_218.0);
        assert_eq!(nv_byte_perm(0x0302_0100, 0x0706_0504, 0x7531), 0x0705_0301);
        assert!((nv_erfcinv(1e-10) - 4.572_824_967_389_486).abs() < 1e-12);
    }
}
