//! Matrix products of integers and booleans, and of floats on GPUs for which no library is called. cuBLASLt does the
//! others.

use cuprous_core::{DType, Kind, LayoutRef};
use cuprous_plan::{Factor, RoutineCall};

use super::super::prelude::Part;
use super::super::types::{Arg, Vendor, ctype, short};
use super::{Builder, Launch, Source};

const TEXT: &str = include_str!("dot.cuh");
const FLOAT: &str = include_str!("dot_float.cuh");
/// Whose sums are defined by a template.
const HALF: [&str; 2] = [
    "template <> struct dot_sum<half> : dot_sum_half<half> {};\n",
    "template <> struct dot_sum<bf16> : dot_sum_half<bf16> {};\n",
];
const COMPLEX: [&str; 2] = [
    "template <> struct dot_sum<complex64> : dot_sum_complex<complex64> {};\n",
    "template <> struct dot_sum<complex128> : dot_sum_complex<complex128> {};\n",
];

/// Returns the texts that a product needs.
pub(super) fn texts(d: DType) -> Vec<&'static str> {
    let own = match d {
        DType::F16 => Some(HALF[0]),
        DType::BF16 => Some(HALF[1]),
        DType::C64 => Some(COMPLEX[0]),
        DType::C128 => Some(COMPLEX[1]),
        _ => None,
    };
    let float = matches!(d.kind(), Kind::Float | Kind::Complex);
    [TEXT].into_iter().chain(float.then_some(FLOAT)).chain(own).collect()
}

/// Adds a factor as a constant of that name, of the type of sums.
fn factor(launch: Launch, name: &str, of: Factor, d: DType) -> Launch {
    let value = match of.constant {
        Some(slot) => (launch.value(&format!("{name}_value"), slot, d), format!("dot_wide({name}_value)")),
        None => (launch, format!("dot_wide(cast<{}>(1.0f))", ctype(d))),
    };
    let (launch, text) = value;
    let text = if of.negative { format!("neg({text})") } else { text };
    launch.line(format!("const auto {name} = {text};"))
}

/// Passes what a product of floats does to its sums.
pub(super) fn epilogue(launch: Launch, call: &RoutineCall) -> Launch {
    let (d, epilogue) = (call.out.1.dtype, &call.epilogue);
    let at = |array: &(u32, LayoutRef)| Source { at: Arg::Buffer(array.0), offset: array.1.offset };
    let launch = factor(launch.part(Part::Arith), "scale", epilogue.scale, d);
    let addend = epilogue.addend.as_ref();
    factor(launch, "factor", addend.map_or(Factor::default(), |a| a.factor), d)
        .operand("addend", ctype(d), addend.map(|a| at(&a.array)))
        .operand("bias", ctype(d), epilogue.bias.as_ref().map(at))
        .passing(format!("dot_epilogue<{}>{{scale, factor, addend, bias}}", ctype(d)))
}

/// Adds the launch of a product; `None` for floating types on GPUs for which a library is called.
pub(super) fn dot(call: &RoutineCall, builder: &mut Builder) -> Option<()> {
    let out = &call.out.1;
    // Integer products wrap, so signed types share the code of the unsigned ones.
    let d = match (out.dtype.kind(), out.dtype.size()) {
        (Kind::Float | Kind::Complex, _) if builder.target.arch.vendor == Vendor::Nvidia => return None,
        (Kind::Float | Kind::Complex, _) => out.dtype,
        (Kind::Bool, _) => DType::Bool,
        (_, 1) => DType::U8,
        (_, 2) => DType::U16,
        (_, 4) => DType::U32,
        _ => DType::U64,
    };
    let (a, b) = (&call.ins[0].1, &call.ins[1].1);
    let last = out.ndim() - 2;
    let (m, n, depth) = (out.shape[last], out.shape[last + 1], a.shape[last + 1]);
    let (tiles_m, tiles_n) = ((m + 63) / 64, (n + 63) / 64);
    // A product without batch axes gets one of extent 1.
    let first_of = |dims: &[i64], none: i64| if last == 0 { vec![none] } else { dims[..last].to_vec() };
    let batch = first_of(&out.shape, 1);
    let blocks = tiles_m * tiles_n * batch.iter().product::<i64>();
    let source = |k: usize| Source { at: Arg::Buffer(call.ins[k].0), offset: call.ins[k].1.offset };
    let mut launch = Launch::new(format!("dot_{}", short(d)), &[d], &texts(d))
        .source("a", ctype(d), source(0))
        .source("b", ctype(d), source(1))
        .pointer("c", ctype(d), Arg::Buffer(call.out.0))
        .int("m", m)
        .int("n", n)
        .int("depth", depth)
        .int("tiles_m", tiles_m)
        .int("tiles_n", tiles_n)
        .ints("a_steps", &a.strides[last..])
        .ints("b_steps", &b.strides[last..])
        .ints("batch", &batch)
        .ints("a_batch", &first_of(&a.strides, 0))
        .ints("b_batch", &first_of(&b.strides, 0));
    if matches!(d.kind(), Kind::Float | Kind::Complex) {
        launch = epilogue(launch, call);
    }
    builder.out.stages.push(launch.stage(&format!("dot<{}>", ctype(d)), blocks, 256, 0));
    Some(())
}
