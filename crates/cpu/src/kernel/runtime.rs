//! The run-time library: functions that generated code calls.

use std::cell::RefCell;
use std::io::Write as _;

use cuprous_kernel::exception::VALUES;

use super::env::Env;
use super::request::{OVERFLOW, Request, STOP, wait};
use super::sanitizer::calls as checks;
use crate::blocks::MapArgs;

/// Defines functions. A suffix of the name gives the type of the operands, such as `f64`.
macro_rules! functions {
    ($($name:ident($($arg:ident: $t:ty),*) -> $ret:ty $body:block)*) => {
        $(
            #[allow(unused_unsafe, clippy::missing_safety_doc, reason = "only generated code calls them")]
            unsafe extern "C" fn $name($($arg: $t),*) -> $ret $body
        )*
        /// Returns the functions by symbol.
        pub(super) fn symbols() -> Vec<(&'static str, *const u8)> {
            vec![$((stringify!($name), $name as *const u8)),*]
        }
    };
}

thread_local! {
    /// The line that the running thread is printing.
    static LINE: RefCell<String> = const { RefCell::new(String::new()) };
}

fn print(text: &str) {
    LINE.with_borrow_mut(|line| line.push_str(text));
}

/// Replaces the value in memory by `next(old)`, and repeats this if another core changed it in between.
macro_rules! update_atomically {
    ($p:ident, $atomic:ident, $bits:expr, $number:expr, |$old:ident| $next:expr) => {{
        // SAFETY: generated code passes the address of an element, aligned to it.
        let cell = unsafe { std::sync::atomic::$atomic::from_ptr($p.cast()) };
        let found =
            cell.fetch_update(std::sync::atomic::Ordering::Relaxed, std::sync::atomic::Ordering::Relaxed, |bits| {
                let $old = $number(bits);
                $next.map($bits)
            });
        match found {
            Ok(bits) | Err(bits) => $number(bits),
        }
    }};
}
macro_rules! f64s {
    ($p:ident, |$old:ident| $next:expr) => {
        update_atomically!($p, AtomicU64, f64::to_bits, f64::from_bits, |$old| $next)
    };
}
macro_rules! f32s {
    ($p:ident, |$old:ident| $next:expr) => {
        update_atomically!($p, AtomicU32, f32::to_bits, f32::from_bits, |$old| $next)
    };
}
macro_rules! f16s {
    ($p:ident, $x:ident, |$old:ident, $new:ident| $next:expr) => {{
        let $new = half::f16::from_bits($x as u16);
        u32::from(update_atomically!($p, AtomicU16, half::f16::to_bits, half::f16::from_bits, |$old| $next).to_bits())
    }};
}
macro_rules! bf16s {
    ($p:ident, $x:ident, |$old:ident, $new:ident| $next:expr) => {{
        let $new = half::bf16::from_bits($x as u16);
        u32::from(update_atomically!($p, AtomicU16, half::bf16::to_bits, half::bf16::from_bits, |$old| $next).to_bits())
    }};
}
macro_rules! u64s {
    ($p:ident, |$old:ident| $next:expr) => {
        update_atomically!($p, AtomicU64, |x: u64| x, |x: u64| x, |$old| $next)
    };
}
macro_rules! u32s {
    ($p:ident, |$old:ident| $next:expr) => {
        update_atomically!($p, AtomicU32, |x: u32| x, |x: u32| x, |$old| $next)
    };
}

fn floor_divide(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        return a / b;
    }
    let r = a % b;
    let mut q = (a - r) / b;
    if r != 0.0 && (b < 0.0) != (r < 0.0) {
        q -= 1.0;
    }
    if q == 0.0 {
        return 0f64.copysign(a / b);
    }
    let whole = q.floor();
    if q - whole > 0.5 { whole + 1.0 } else { whole }
}

fn remainder(a: f64, b: f64) -> f64 {
    let r = a % b;
    if b == 0.0 {
        r
    } else if r == 0.0 {
        0f64.copysign(b)
    } else if (b < 0.0) != (r < 0.0) {
        r + b
    } else {
        r
    }
}

functions! {
    // --- the operation table, for operands in memory
    host_map(f: usize, n: usize, out: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> () {
        // SAFETY: `f` is a block function that the code generator looked up for these operands.
        unsafe {
            let f: crate::blocks::MapFn = std::mem::transmute(f);
            f(&MapArgs { n, out, args: [a, b, c], step: [1; 3] });
        }
    }
    host_clear(at: *mut u8, bytes: usize) -> () {
        // SAFETY: generated code passes its context and the context's size.
        unsafe { at.write_bytes(0, bytes) }
    }
    // --- functions of the C library
    sin_f64(x: f64) -> f64 { x.sin() }
    cos_f64(x: f64) -> f64 { x.cos() }
    tan_f64(x: f64) -> f64 { x.tan() }
    exp_f64(x: f64) -> f64 { x.exp() }
    exp2_f64(x: f64) -> f64 { x.exp2() }
    expm1_f64(x: f64) -> f64 { x.exp_m1() }
    log_f64(x: f64) -> f64 { x.ln() }
    log2_f64(x: f64) -> f64 { x.log2() }
    log10_f64(x: f64) -> f64 { x.log10() }
    log1p_f64(x: f64) -> f64 { x.ln_1p() }
    arcsin_f64(x: f64) -> f64 { x.asin() }
    arccos_f64(x: f64) -> f64 { x.acos() }
    arctan_f64(x: f64) -> f64 { x.atan() }
    sinh_f64(x: f64) -> f64 { x.sinh() }
    cosh_f64(x: f64) -> f64 { x.cosh() }
    tanh_f64(x: f64) -> f64 { x.tanh() }
    cbrt_f64(x: f64) -> f64 { x.cbrt() }
    arctan2_f64(x: f64, y: f64) -> f64 { x.atan2(y) }
    hypot_f64(x: f64, y: f64) -> f64 { x.hypot(y) }
    power_f64(x: f64, y: f64) -> f64 { x.powf(y) }
    fmod_f64(x: f64, y: f64) -> f64 { x % y }
    remainder_f64(x: f64, y: f64) -> f64 { remainder(x, y) }
    floor_divide_f64(x: f64, y: f64) -> f64 { floor_divide(x, y) }
    erf_f64(x: f64) -> f64 { libm::erf(x) }
    erfc_f64(x: f64) -> f64 { libm::erfc(x) }
    sin_f32(x: f32) -> f32 { x.sin() }
    cos_f32(x: f32) -> f32 { x.cos() }
    tan_f32(x: f32) -> f32 { x.tan() }
    exp_f32(x: f32) -> f32 { x.exp() }
    exp2_f32(x: f32) -> f32 { x.exp2() }
    expm1_f32(x: f32) -> f32 { x.exp_m1() }
    log_f32(x: f32) -> f32 { x.ln() }
    log2_f32(x: f32) -> f32 { x.log2() }
    log10_f32(x: f32) -> f32 { x.log10() }
    log1p_f32(x: f32) -> f32 { x.ln_1p() }
    arcsin_f32(x: f32) -> f32 { x.asin() }
    arccos_f32(x: f32) -> f32 { x.acos() }
    arctan_f32(x: f32) -> f32 { x.atan() }
    sinh_f32(x: f32) -> f32 { x.sinh() }
    cosh_f32(x: f32) -> f32 { x.cosh() }
    tanh_f32(x: f32) -> f32 { x.tanh() }
    cbrt_f32(x: f32) -> f32 { x.cbrt() }
    arctan2_f32(x: f32, y: f32) -> f32 { x.atan2(y) }
    hypot_f32(x: f32, y: f32) -> f32 { x.hypot(y) }
    power_f32(x: f32, y: f32) -> f32 { x.powf(y) }
    fmod_f32(x: f32, y: f32) -> f32 { x % y }
    remainder_f32(x: f32, y: f32) -> f32 { remainder(x.into(), y.into()) as f32 }
    floor_divide_f32(x: f32, y: f32) -> f32 { floor_divide(x.into(), y.into()) as f32 }
    erf_f32(x: f32) -> f32 { libm::erff(x) }
    erfc_f32(x: f32) -> f32 { libm::erfcf(x) }
    // --- rows of the table of builtins
    fma_f64(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    fma_f32(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    ieee_remainder_f64(x: f64, y: f64) -> f64 { libm::remainder(x, y) }
    ieee_remainder_f32(x: f32, y: f32) -> f32 { libm::remainderf(x, y) }
    ldexp_f64(x: f64, n: i32) -> f64 { libm::ldexp(x, n) }
    ldexp_f32(x: f32, n: i32) -> f32 { libm::ldexpf(x, n) }
    sinpi_f64(x: f64) -> f64 { (std::f64::consts::PI * (x % 2.0)).sin() }
    sinpi_f32(x: f32) -> f32 { (std::f64::consts::PI * (f64::from(x) % 2.0)).sin() as f32 }
    cospi_f64(x: f64) -> f64 { (std::f64::consts::PI * (x % 2.0)).cos() }
    cospi_f32(x: f32) -> f32 { (std::f64::consts::PI * (f64::from(x) % 2.0)).cos() as f32 }
    frexp_mantissa_f64(x: f64) -> f64 { libm::frexp(x).0 }
    frexp_mantissa_f32(x: f32) -> f32 { libm::frexpf(x).0 }
    frexp_exponent_f64(x: f64) -> i32 { if x.is_finite() { libm::frexp(x).1 } else { 0 } }
    frexp_exponent_f32(x: f32) -> i32 { if x.is_finite() { libm::frexpf(x).1 } else { 0 } }
    // --- atomic operations without an instruction. Maxima and minima keep a NaN in memory and ignore a NaN operand;
    // nanmax and nanmin replace a NaN in memory
    atomic_add_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |old| Some(old + x)) }
    atomic_sub_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |old| Some(old - x)) }
    atomic_exch_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |_old| Some(x)) }
    atomic_max_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |old| (x > old).then_some(x)) }
    atomic_min_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |old| (x < old).then_some(x)) }
    atomic_nanmax_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |old| (x > old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_nanmin_f64(p: *mut u8, x: f64) -> f64 { f64s!(p, |old| (x < old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_add_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |old| Some(old + x)) }
    atomic_sub_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |old| Some(old - x)) }
    atomic_exch_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |_old| Some(x)) }
    atomic_max_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |old| (x > old).then_some(x)) }
    atomic_min_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |old| (x < old).then_some(x)) }
    atomic_nanmax_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |old| (x > old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_nanmin_f32(p: *mut u8, x: f32) -> f32 { f32s!(p, |old| (x < old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_add_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |old, x| Some(old + x)) }
    atomic_sub_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |old, x| Some(old - x)) }
    atomic_exch_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |_old, x| Some(x)) }
    atomic_max_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |old, x| (x > old).then_some(x)) }
    atomic_min_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |old, x| (x < old).then_some(x)) }
    atomic_nanmax_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |old, x| (x > old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_nanmin_f16(p: *mut u8, x: u32) -> u32 { f16s!(p, x, |old, x| (x < old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_add_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |old, x| Some(old + x)) }
    atomic_sub_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |old, x| Some(old - x)) }
    atomic_exch_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |_old, x| Some(x)) }
    atomic_max_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |old, x| (x > old).then_some(x)) }
    atomic_min_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |old, x| (x < old).then_some(x)) }
    atomic_nanmax_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |old, x| (x > old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_nanmin_bf16(p: *mut u8, x: u32) -> u32 { bf16s!(p, x, |old, x| (x < old || (old.is_nan() && !x.is_nan())).then_some(x)) }
    atomic_inc_u32(p: *mut u8, most: u32) -> u32 { u32s!(p, |old| Some(if old >= most { 0 } else { old + 1 })) }
    atomic_inc_u64(p: *mut u8, most: u64) -> u64 { u64s!(p, |old| Some(if old >= most { 0 } else { old + 1 })) }
    atomic_dec_u32(p: *mut u8, most: u32) -> u32 { u32s!(p, |old| Some(if old == 0 || old > most { most } else { old - 1 })) }
    atomic_dec_u64(p: *mut u8, most: u64) -> u64 { u64s!(p, |old| Some(if old == 0 || old > most { most } else { old - 1 })) }
    // --- records
    host_copy(to: *mut u8, from: *const u8, bytes: i64) -> () {
        // SAFETY: generated code passes the addresses of two records of that size, or the same address twice.
        unsafe { std::ptr::copy(from, to, bytes as usize) }
    }
    // --- exceptions
    host_raise(env: *mut Env, fault: i64, x: i32, y: i32, z: i32, count: i64, values: *const i64) -> () {
        // SAFETY: generated code passes its environment and `count` values.
        let (env, values) = unsafe { (&mut *env, std::slice::from_raw_parts(values, count as usize)) };
        if env.fault[0] == 0 {
            env.fault[0] = fault + 1;
            for (k, n) in [x, y, z].into_iter().chain(env.block).enumerate() {
                env.fault[1 + k] = n.into();
            }
            env.fault[VALUES - 1] = count;
            env.fault[VALUES..VALUES + values.len()].copy_from_slice(values);
        }
    }
    // --- leaving the launch; neither returns
    host_stop(env: *const Env) -> () {
        // SAFETY: generated code passes its environment, which lives as long as the block runs.
        wait(unsafe { (*env).current_thread }, Request { op: STOP, mask: 0, value: 0, lane: 0 });
    }
    host_overflow(env: *const Env, function: u32) -> () {
        // SAFETY: generated code passes its environment, which lives as long as the block runs.
        wait(unsafe { (*env).current_thread }, Request { op: OVERFLOW, mask: function, value: 0, lane: 0 });
    }
    // --- waiting for other threads
    host_wait(env: *const Env, op: i32, mask: u32, value: u64, lane: u32) -> u64 {
        // SAFETY: generated code passes its environment, which lives as long as the block runs.
        let block = unsafe { (*env).current_thread };
        wait(block, Request { op, mask, value, lane })
    }
    // --- the sanitizer of checked kernels
    check_access(
        env: *const Env, site: u32, address: usize, indices: *const i64, count: usize, values: *const u8, bytes: usize
    ) -> () {
        // SAFETY: generated code passes the addresses of that many indices and bytes.
        let (indices, values) =
            unsafe { (std::slice::from_raw_parts(indices, count), std::slice::from_raw_parts(values, bytes)) };
        checks::access(env, site, address, indices, (bytes > 0).then_some(values))
    }
    check_barrier(env: *const Env, site: u32) -> () { checks::wait(env, site) }
    check_fence(env: *const Env, device: bool) -> () { checks::fence(env, device) }
    check_local_array(env: *const Env, address: usize, bytes: usize) -> () { checks::declare(env, address, bytes) }
    // --- printing
    print_text(start: *const u8, bytes: usize) -> () {
        // SAFETY: the string lives as long as the code.
        print(&String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(start, bytes) }))
    }
    print_int(n: i64) -> () { print(&n.to_string()) }
    print_uint(n: u64) -> () { print(&n.to_string()) }
    print_bool(b: u8) -> () { print(if b != 0 { "True" } else { "False" }) }
    print_float(x: f64) -> () { print(&format!("{x:.6}").replace("NaN", "nan")) }
    print_line() -> () {
        LINE.with_borrow_mut(|line| {
            line.push('\n');
            // A closed output cannot be reported.
            let _may_be_closed = std::io::stdout().write_all(line.as_bytes()).and_then(|()| std::io::stdout().flush());
            line.clear();
        })
    }
}
