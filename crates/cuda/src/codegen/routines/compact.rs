//! Compaction: gathers the elements that a mask selects.

use cuprous_core::routine::packed_mask;
use cuprous_core::{DType, Layout, RoutineOp, ScanOp};
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, Source, scan};

const TEXT: &str = include_str!("compact.cuh");

/// Adds the launches that pack a mask into bits.
pub(super) fn pack(call: &RoutineCall, builder: &mut Builder) {
    let (buffer, layout) = &call.ins[0];
    let mut mask = builder.dense(&call.ins[0], DType::Bool);
    if !builder.target.options.aligned || mask.offset % 16 != 0 {
        let at = builder.out.scratch(layout.size as usize);
        builder.pack(Arg::Buffer(*buffer), layout, at, DType::Bool);
        mask = Source { at, offset: 0 };
    }
    let tiles = packed_mask(layout.size).1;
    let stage = Launch::new("pack_mask_bits", &[], &[TEXT])
        .source("mask", "uint8", mask)
        .pointer("counts", "int64", Arg::Buffer(call.out.0))
        .int("n", layout.size)
        .int("tiles", tiles)
        .stage("pack_mask", tiles.div_up(8), 256, 0);
    builder.out.stages.push(stage);
    if tiles > 1 {
        let layout = Layout::contiguous(DType::I64, &[tiles]);
        let op = RoutineOp::Scan { op: ScanOp::Sum, axis: 0 };
        let sums =
            RoutineCall { op, ins: vec![(call.out.0, layout.clone())], out: (call.out.0, layout), ..call.clone() };
        scan::scan(&sums, ScanOp::Sum, 0, builder);
    }
}

/// Adds the launches of a compaction.
pub(super) fn compact(call: &RoutineCall, builder: &mut Builder) {
    let out = Arg::Buffer(call.out.0);
    let packed = builder.dense(&call.ins[0], DType::I64);
    let indices = call.ins.len() == 1;
    let d = call.out.1.dtype;
    let values = if indices { packed } else { builder.dense(&call.ins[1], d) };
    let tiles = call.ins[0].1.size / (packed_mask(1).0);
    let name = if indices { "mask_indices".into() } else { format!("compact_{}", short(d)) };
    let stage = Launch::new(name, &[d], &[TEXT])
        .source("packed", "int64", packed)
        .source("values", ctype(d), values)
        .pointer("out", ctype(d), out)
        .pointer("indices_out", "int64", out)
        .int("tiles", tiles)
        .int("size", call.out.1.size)
        .stage(&format!("compact<{}, {indices}>", ctype(d)), tiles, 256, 0);
    builder.out.stages.push(stage);
}
