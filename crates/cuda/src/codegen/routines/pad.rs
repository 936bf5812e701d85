//! Padding of arrays at their edges.

use cuprous_core::Dims;
use cuprous_core::routine::Edge;
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, EDGES, Launch, Source, edge_name};

const TEXT: &str = include_str!("pad.cuh");

/// An axis: the extent of the output, extent and stride of the operand, elements in front.
type Axis = [i64; 4];

/// Adds the launch of a padding.
pub(super) fn pad(call: &RoutineCall, (edge, constant): (Edge, u64), before: &Dims, builder: &mut Builder) {
    let (buffer, layout) = &call.ins[0];
    let out = &call.out.1;
    let mut axes: Vec<Axis> = Vec::new();
    for (k, &front) in before.iter().enumerate() {
        let axis = [out.shape[k], layout.shape[k], layout.strides[k], front];
        let plain = |a: &Axis| a[0] == a[1] && a[3] == 0;
        match axes.last_mut() {
            _ if axis[0] == 1 && plain(&axis) => {}
            // Adjacent axes that are not padded and step as one are merged.
            Some(last) if plain(last) && plain(&axis) && last[2] == axis[2] * axis[1] => {
                *last = [last[0] * axis[0], last[1] * axis[1], axis[2], 0];
            }
            _ => axes.push(axis),
        }
    }
    if axes.is_empty() {
        axes.push([1, 1, 0, 0]);
    }
    let column = |k: usize| axes.iter().map(|a| a[k]).collect::<Vec<i64>>();
    let (d, total) = (out.dtype, out.size);
    let from = if layout.dtype == d {
        Source { at: Arg::Buffer(*buffer), offset: layout.offset }
    } else {
        return pad_as(call, (edge, constant), before, builder);
    };
    let index = if total < 1 << 31 { "uint32" } else { "uint64" };
    let template = format!("pad<{}, {}, {index}, 4>", ctype(d), edge_name(edge));
    let stage = Launch::new(format!("pad_{}", short(d)), &[d], &[EDGES, TEXT])
        .source("x", ctype(d), from)
        .pointer("y", ctype(d), Arg::Buffer(call.out.0))
        .int("total", total)
        .int("constant", constant as i64)
        .ints("extents", &column(0))
        .ints("from", &column(1))
        .ints("strides", &column(2))
        .ints("before", &column(3))
        .stage(&template, total.div_up(1024), 256, 0);
    builder.out.stages.push(stage);
}

/// Converts the operand first.
fn pad_as(call: &RoutineCall, edge: (Edge, u64), before: &Dims, builder: &mut Builder) {
    let (d, layout) = (call.out.1.dtype, &call.ins[0].1);
    let copy = builder.out.scratch(layout.size as usize * d.size());
    builder.pack(Arg::Buffer(call.ins[0].0), layout, copy, d);
    // The padding reads the copy instead of the operand.
    let dense = cuprous_core::Layout::contiguous(d, &layout.shape);
    let start = builder.out.stages.len();
    pad(&RoutineCall { ins: vec![(u32::MAX, dense)], ..call.clone() }, edge, before, builder);
    for arg in builder.out.stages[start..].iter_mut().flat_map(|s| &mut s.args) {
        if *arg == Arg::Buffer(u32::MAX) {
            *arg = copy;
        }
    }
}
