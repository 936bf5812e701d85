//! Correlation with weights.

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Dims};
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, EDGES, Launch, Source, edge_name};

const TEXT: &str = include_str!("correlate.cuh");
/// Most weights along one axis that a thread keeps in registers. More weights take several launches, each of which adds
/// to the sums of the one before.
const LINE: i64 = 40;
/// Most launches over which the weights are divided. If more are needed, the tile in shared memory is faster.
const LAUNCHES: i64 = 8;
/// Most columns of weights for the tile in shared memory. Rows are unrolled in steps of 16.
const WIDEST: i64 = 512;

/// Extents of the operand and of the output along an axis.
#[derive(Clone, Copy)]
struct Extent {
    from: i64,
    to: i64,
}

impl Extent {
    /// An axis along which there is nothing to add, so that both are equal.
    fn same(n: i64) -> Extent {
        Extent { from: n, to: n }
    }
}

/// The arguments that all kernels share.
struct Correlation {
    d: DType,
    edge: Edge,
    constant: u64,
    x: Source,
    weights: Source,
    y: Arg,
}

impl Correlation {
    /// Returns a launch that reads the weights from `from` on.
    fn launch(&self, what: &str, from: i64) -> Launch {
        let weights = Source { offset: self.weights.offset + from, ..self.weights };
        Launch::new(format!("{what}_{}", short(self.d)), &[self.d], &[EDGES, TEXT])
            .source("x", ctype(self.d), self.x)
            .source("weights", ctype(self.d), weights)
            .pointer("y", ctype(self.d), self.y)
    }

    fn types(&self) -> String {
        format!("{}, {}", ctype(self.d), edge_name(self.edge))
    }
}

/// Adds the launch of a correlation; `None` for unsupported types.
pub(super) fn correlate(
    call: &RoutineCall,
    (edge, constant): (Edge, u64),
    origin: &Dims,
    builder: &mut Builder,
) -> Option<()> {
    let out = &call.out.1;
    let d = out.dtype;
    if !matches!(d, DType::F32 | DType::F64 | DType::I32 | DType::I64) {
        return None;
    }
    let (from, shape, window) = (&call.ins[0].1.shape, &out.shape, &call.ins[1].1.shape);
    let all = Correlation {
        d,
        edge,
        constant,
        x: builder.dense(&call.ins[0], d),
        weights: builder.dense(&call.ins[1], d),
        y: Arg::Buffer(call.out.0),
    };
    let n = shape.len();
    let product = |dims: &[i64]| dims.iter().product::<i64>();
    // Axes along which the weights have an effect: more than one weight, a shift, or another extent.
    let busy: Vec<usize> = (0..n).filter(|&k| window[k] != 1 || origin[k] != 0 || from[k] != shape[k]).collect();
    let (first, last) = (busy.first().copied().unwrap_or(n.max(1) - 1), busy.last().copied().unwrap_or(0));
    if n > 0 && first + 1 == n || n == 0 {
        // Along the last axis only: all other axes are rows.
        let last = |dims: &Dims, none: i64| dims.last().copied().unwrap_or(none);
        let (width, k, o) = (Extent { from: last(from, 1), to: last(shape, 1) }, last(window, 1), last(origin, 0));
        let height = out.size / width.to;
        if k <= LINE * LAUNCHES {
            in_parts(k, |from, k| row(&all, height, width, (from, k), o - from, builder));
            return Some(());
        }
        if tile(&all, 1, [Extent::same(height), width], [1, k], [0, o], builder) {
            return Some(());
        }
    } else if first == last {
        let extent = Extent { from: from[first], to: shape[first] };
        let (outer, inner) = (product(&shape[..first]), product(&shape[first + 1..]));
        if window[first] <= LINE * LAUNCHES {
            in_parts(window[first], |from, k| {
                column(&all, (outer, extent, inner), (from, k), origin[first] - from, builder);
            });
            return Some(());
        }
        if tile(&all, outer, [extent, Extent::same(inner)], [window[first], 1], [origin[first], 0], builder) {
            return Some(());
        }
    } else if first + 2 == n {
        let extents = [n - 2, n - 1].map(|k| Extent { from: from[k], to: shape[k] });
        let pair = |dims: &Dims| [dims[n - 2], dims[n - 1]];
        if tile(&all, product(&shape[..n - 2]), extents, pair(window), pair(origin), builder) {
            return Some(());
        }
    }
    let stage = all
        .launch("correlate", 0)
        .int("total", out.size)
        .int("constant", all.constant as i64)
        .ints("x_shape", if n == 0 { &[1] } else { from })
        .ints("shape", if n == 0 { &[1] } else { shape })
        .ints("window", if n == 0 { &[1] } else { window })
        .ints("origin", if n == 0 { &[0] } else { origin })
        .stage(&format!("correlate_any<{}>", all.types()), out.size.div_up(128), 128, 0);
    builder.out.stages.push(stage);
    Some(())
}

/// Calls `launch(first, count)` for parts of `k` weights of roughly equal size.
fn in_parts(k: i64, mut launch: impl FnMut(i64, i64)) {
    let parts = k.div_up(LINE).max(1);
    (0..parts).map(|p| (p * k / parts, (p + 1) * k / parts)).for_each(|(from, to)| launch(from, to - from));
}

/// Correlates over the last two axes of a batch. Returns false if the weights do not fit.
fn tile(
    all: &Correlation,
    batch: i64,
    [height, width]: [Extent; 2],
    [kh, kw]: [i64; 2],
    [oy, ox]: [i64; 2],
    builder: &mut Builder,
) -> bool {
    let v = 16 / all.d.size() as i64;
    let ry = match kh {
        1..=4 => 4,
        _ => 8,
    };
    let tx = 64 * v;
    let row = (tx + kw - 1 + v - 1) / v * v + v;
    let shared = |warps: i64| ((ry * warps + kh - 1) * row + kh * ((kw + v - 1) / v * v)) * all.d.size() as i64;
    let blocks = |warps: i64| batch * height.to.div_up(ry * warps) * width.to.div_up(tx);
    let room = builder.target.arch.max_shared as i64;
    // Two blocks per multiprocessor where possible, and enough blocks for all multiprocessors.
    let fits = |warps: i64| shared(warps) <= room / 2 - 1024 || (warps == 1 && shared(warps) <= room);
    let enough = |warps: i64| blocks(warps) >= 2 * i64::from(builder.target.arch.sms) && height.to > ry * warps / 2;
    let Some(warps) = [8, 4, 2, 1].into_iter().find(|&w| fits(w) && (w == 1 || enough(w))) else { return false };
    if kw > WIDEST {
        return false;
    }
    let stage = all
        .launch("correlate_tile", 0)
        .int("x_height", height.from)
        .int("x_width", width.from)
        .int("height", height.to)
        .int("width", width.to)
        .int("tiles_y", height.to.div_up(ry * warps))
        .int("tiles_x", width.to.div_up(tx))
        .int("origin_y", oy)
        .int("origin_x", ox)
        .int("constant", all.constant as i64)
        .shared(shared(warps) as usize)
        .stage(
            &format!("correlate_tile<{}, {kh}, {kw}, {ry}, {warps}>", all.types()),
            blocks(warps),
            32 * warps as u32,
            0,
        );
    builder.out.stages.push(stage);
    true
}

/// Correlates along the last axis, with `k` weights from `from` on.
fn row(all: &Correlation, height: i64, width: Extent, (from, k): (i64, i64), origin: i64, builder: &mut Builder) {
    let tiles_x = width.to.div_up(64 * 16 / all.d.size() as i64);
    let device = builder.full_device() / 64;
    let rows =
        [8, 4, 2].into_iter().find(|r| height * tiles_x >= r * device).unwrap_or(1).min(builder.tuning.row_outputs);
    let warps = if height * tiles_x >= 8 * rows { 8 } else { 1 };
    let stage = all
        .launch("correlate_row", from)
        .int("x_width", width.from)
        .int("height", height)
        .int("width", width.to)
        .int("tiles_x", tiles_x)
        .int("origin", origin)
        .int("constant", all.constant as i64)
        .stage(
            &format!("correlate_row<{}, {k}, {rows}, {warps}, {}>", all.types(), from > 0),
            tiles_x * height.div_up(rows * warps),
            32 * warps as u32,
            if k * all.d.size() as i64 <= 128 { 24 / warps as u32 } else { 0 },
        );
    builder.out.stages.push(stage);
}

/// Correlates along an axis that is not the last, with `k` weights from `from` on.
fn column(
    all: &Correlation,
    (outer, n, inner): (i64, Extent, i64),
    (from, k): (i64, i64),
    origin: i64,
    builder: &mut Builder,
) {
    let most = i64::from(builder.tuning.column_outputs);
    let outputs = if outer * n.to * inner >= most * builder.full_device() / 2 { most } else { 8 };
    let (parts, blocks_inner) = (n.to.div_up(outputs), inner.div_up(128));
    let stage = all
        .launch("correlate_column", from)
        .int("outer", outer)
        .int("x_n", n.from)
        .int("n", n.to)
        .int("inner", inner)
        .int("parts", parts)
        .int("blocks_inner", blocks_inner)
        .int("origin", origin)
        .int("constant", all.constant as i64)
        .stage(
            &format!("correlate_column<{}, {k}, {outputs}, {}>", all.types(), from > 0),
            outer * parts * blocks_inner,
            128,
            if k <= 32 && all.d == DType::F32 { builder.tuning.column_blocks } else { 0 },
        );
    builder.out.stages.push(stage);
}
