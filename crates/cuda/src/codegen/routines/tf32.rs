//! Large float32 matrix products by the tensor cores of compute capability 9.0, at the accuracy of float32. Operands are split
//! into two parts that TF32 represents (`tf32_split.cuh`), and three products of the parts are summed (`tf32_dot.cuh`).
//!
//! The largest error is below that of cuBLAS' float32 products from 512 terms on, because each 32 terms are summed apart; the
//! mean of many sums of one sign is lower by 1.2e-7 of their value. Source of the method: Ootomo and Yokota, "Recovering single
//! precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", 2022.

use cuprous_core::{DType, Layout, LayoutRef, RoutineOp};
use cuprous_plan::{Factor, RoutineCall};

use super::super::types::{Arch, Arg, Generated, Options};
use super::scan::BULK;
use super::{Builder, DivUp, Launch, Source};

const SPLIT: &str = include_str!("tf32_split.cuh");
const DOT: &str = include_str!("tf32_dot.cuh");
const COMBINE: &str = include_str!("tf32_combine.cuh");

/// Rows and terms of a tile; a step of a block sums the terms of two tiles.
const ROWS: i64 = 128;
const TERMS: i64 = 32;
const TILE_BYTES: i64 = ROWS * TERMS * 2 * 4;
/// Pairs of tiles in a block's shared memory, and bytes beside them.
const STAGES: i64 = 3;
const EXTRA_SHARED: usize = 1 << 10;
const THREADS: u32 = 384;

/// Most bytes of images at a time, and of the smaller of two images if not both fit.
const MOST_IMAGES: i64 = 1 << 30;
const MOST_SMALLER: i64 = MOST_IMAGES / 2;
/// Most parts into which the terms are split, so that few large tiles occupy all multiprocessors.
const MOST_SLICES: i64 = 16;

/// Measured on an H100, in microseconds: a step of a block, a kernel beside others in a graph, and a mebibyte that is read or
/// written. The last one is the time of 2^20 products and sums by cuBLAS.
const STEP_US: f64 = 1.2;
const LAUNCH_US: f64 = 2.0;
const MIB_US: f64 = 0.42;
const SGEMM_US: f64 = 0.042;
/// The share of cuBLAS' time that the estimate must not exceed.
const GAIN: f64 = 0.85;

/// A product as these kernels see it.
#[derive(Clone, Copy)]
struct Product {
    m: i64,
    n: i64,
    terms: i64,
    batch: i64,
    /// Matrices of the first and of the second operand: 1 if the batch shares one.
    matrices: [i64; 2],
}

impl Product {
    fn tiles(&self) -> [i64; 2] {
        [self.m.div_up(ROWS), self.n.div_up(ROWS)]
    }

    /// Returns the tiles along the terms: an even number, because a block takes two at a time.
    fn steps(&self) -> i64 {
        self.terms.div_up(2 * TERMS) * 2
    }

    /// Returns the bytes of the image of an operand.
    fn image_bytes(&self, operand: usize) -> i64 {
        self.matrices[operand] * self.tiles()[operand] * self.steps() * TILE_BYTES
    }

    fn result_bytes(&self) -> i64 {
        self.batch * self.m * self.n * 4
    }

    /// Returns the product of some rows of an operand with the other operand.
    fn of_rows(&self, operand: usize, rows: i64) -> Product {
        if operand == 0 { Product { m: rows, ..*self } } else { Product { n: rows, ..*self } }
    }

    /// Estimates the microseconds of the images, and of the rest with the terms in so many parts.
    fn estimate(&self, slices: i64, sms: u32) -> ([f64; 2], f64) {
        let [tiles_m, tiles_n] = self.tiles();
        let waves = (tiles_m * tiles_n * self.batch * slices).div_up(sms.into());
        let moved = |bytes: i64| bytes as f64 / f64::from(1 << 20) * MIB_US + LAUNCH_US;
        // An image is written, and half as much is read.
        let images = [0, 1].map(|k| moved(self.image_bytes(k) / 2 * 3));
        let combine = if slices == 1 { 0.0 } else { moved(self.result_bytes() * (2 * slices + 1)) };
        (images, waves as f64 * (self.steps() / 2).div_up(slices) as f64 * 2.0 * STEP_US + combine + LAUNCH_US)
    }

    /// Returns how the product is best computed, if that is faster than cuBLAS.
    fn schedule(&self, sms: u32) -> Option<Schedule> {
        let bytes = [0, 1].map(|k| self.image_bytes(k));
        let grouped = usize::from(bytes[1] > bytes[0]);
        let all_rows = [self.m, self.n][grouped];
        let rows = if bytes[0] + bytes[1] <= MOST_IMAGES {
            all_rows
        } else if self.batch == 1 && bytes[1 - grouped] <= MOST_SMALLER {
            let groups = bytes[grouped].div_up(MOST_IMAGES - bytes[1 - grouped]);
            all_rows.div_up(groups).div_up(ROWS) * ROWS
        } else {
            return None;
        };
        let (groups, group) = (all_rows.div_up(rows) as f64, self.of_rows(grouped, rows));
        // Parts of the terms are combined in whole rows of the result.
        let most = if grouped == 1 && rows < all_rows { 1 } else { MOST_SLICES.min(self.steps() / 2) };
        let of = |slices: i64| {
            let (images, rest) = group.estimate(slices, sms);
            (slices, groups * (images[grouped] + rest) + images[1 - grouped])
        };
        let (slices, time) = (1..=most).map(of).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let work = self.m as f64 * self.n as f64 * self.terms as f64 * self.batch as f64;
        let cublas = work / f64::from(1 << 20) * SGEMM_US + LAUNCH_US;
        (time <= GAIN * cublas).then_some(Schedule { grouped, rows, slices })
    }
}

/// How a product is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Schedule {
    /// The operand whose rows are taken in groups, because the images of all may be too large.
    grouped: usize,
    /// The rows of a group.
    rows: i64,
    /// Parts of the terms.
    slices: i64,
}

/// An operand, or some of its rows: its first element, and the strides of its rows, terms and batch.
#[derive(Clone, Copy)]
struct Operand {
    at: Arg,
    offset: i64,
    row_step: i64,
    term_step: i64,
    batch_step: i64,
}

/// An operand's image and the flags of its tiles.
struct Image {
    tiles: Arg,
    flags: Arg,
}

impl Image {
    fn new(builder: &mut Builder, product: &Product, which: usize) -> Image {
        let bytes = product.image_bytes(which);
        let flags = (bytes / TILE_BYTES) as usize * DType::I32.size();
        Image { tiles: builder.out.scratch(bytes as usize), flags: builder.out.scratch(flags) }
    }
}

/// Where a group's product goes: the first element and the first column, the distance of rows, and the scratch for the parts
/// of the terms with their number.
struct Place<'a> {
    call: &'a RoutineCall,
    start: i64,
    column: i64,
    pitch: i64,
    parts: Option<(Arg, i64)>,
}

/// Returns the launches of a large float32 product; `None` for other calls, and where cuBLAS is as fast.
pub(crate) fn product(call: &RoutineCall, arch: Arch, options: Options) -> Option<Generated> {
    let (a, b, out) = (&call.ins.first()?.1, &call.ins.get(1)?.1, &call.out.1);
    let shared = (STAGES * 2 * TILE_BYTES) as usize;
    let fits = (arch.major, arch.minor) == (9, 0) && shared + EXTRA_SHARED <= arch.max_shared;
    if call.op != RoutineOp::Dot || out.dtype != DType::F32 || !fits || out.size == 0 {
        return None;
    }
    let last = out.ndim() - 2;
    // The caller ensures that the batch axes collapse to one.
    let batch_step =
        |layout: &Layout| (0..last).rev().find(|&axis| layout.shape[axis] != 1).map_or(0, |axis| layout.strides[axis]);
    let batch: i64 = out.shape[..last].iter().product();
    let matrices = [a, b].map(|layout| if batch_step(layout) == 0 { 1 } else { batch });
    let (m, n, terms) = (out.shape[last], out.shape[last + 1], a.shape[last + 1]);
    if terms == 0 {
        return None;
    }
    let product = Product { m, n, terms, batch, matrices };
    let Schedule { grouped, rows, slices } = product.schedule(arch.sms)?;
    let mut builder = Builder::new(arch, options);
    let operand = |which: usize| {
        let layout: &Layout = &call.ins[which].1;
        let (row_axis, term_axis) = if which == 0 { (last, last + 1) } else { (last + 1, last) };
        let (row_step, term_step) = (layout.strides[row_axis], layout.strides[term_axis]);
        let (at, batch_step) = (Arg::Buffer(call.ins[which].0), batch_step(layout));
        Operand { at, offset: layout.offset, row_step, term_step, batch_step }
    };
    let largest = product.of_rows(grouped, rows);
    let images = [0, 1].map(|which| Image::new(&mut builder, &largest, which));
    let parts = if slices == 1 { None } else { Some(builder.out.scratch((largest.result_bytes() * slices) as usize)) };
    split(&mut builder, &product, 1 - grouped, &operand(1 - grouped), &images[1 - grouped]);
    let all_rows = [m, n][grouped];
    for start in (0..all_rows).step_by(rows as usize) {
        let group = product.of_rows(grouped, rows.min(all_rows - start));
        let operand = operand(grouped);
        let offset = operand.offset + start * operand.row_step;
        split(&mut builder, &group, grouped, &Operand { offset, ..operand }, &images[grouped]);
        let (row, column) = if grouped == 0 { (start, 0) } else { (0, start) };
        let place =
            Place { call, start: row * n + column, column, pitch: n, parts: parts.map(|parts| (parts, slices)) };
        multiply(&mut builder, &group, &images, &place);
    }
    Some(builder.out)
}

/// Adds the launch that makes the image of an operand.
fn split(builder: &mut Builder, product: &Product, which: usize, operand: &Operand, image: &Image) {
    let Operand { at, offset, row_step, term_step, batch_step } = *operand;
    let (rows, terms) = ([product.m, product.n][which], product.terms);
    let (tiles, steps) = (product.tiles()[which], product.steps());
    let multiple = |n: i64| n % 4 == 0;
    let along = term_step == 1
        && builder.target.options.aligned
        && [terms, row_step, batch_step, offset].into_iter().all(multiple);
    let down = !along && row_step.abs() < term_step.abs();
    let variant = if along {
        "along"
    } else if down {
        "down"
    } else {
        "any"
    };
    let stage = Launch::new(format!("tf32_split_{variant}"), &[DType::F32], &[SPLIT])
        .source("x", "float", Source { at, offset })
        .pointer("image", "float", image.tiles)
        .pointer("flags", "int32", image.flags)
        .int("rows", rows)
        .int("terms", terms)
        .int("row_step", row_step)
        .int("term_step", term_step)
        .int("batch_step", batch_step)
        .int("tiles", tiles)
        .int("steps", steps)
        .stage(&format!("tf32_split<{along}, {down}>"), product.matrices[which] * tiles * steps, 256, 0);
    builder.out.stages.push(stage);
}

/// Adds the launches that multiply two images.
fn multiply(builder: &mut Builder, product: &Product, [a, b]: &[Image; 2], place: &Place) {
    let Product { m, n, batch, matrices, .. } = *product;
    let [tiles_m, tiles_n] = product.tiles();
    let out = Source { at: Arg::Buffer(place.call.out.0), offset: place.start };
    let slices = place.parts.map_or(1, |(_, slices)| slices);
    let pairs = [n, place.pitch, place.start].into_iter().all(|n| n % 2 == 0) && builder.target.options.aligned;
    let blocks = (tiles_m * tiles_n * batch * slices).min(builder.target.arch.sms.into());
    let launch = Launch::new(format!("tf32_dot_{pairs}"), &[DType::F32], &[SPLIT, BULK, DOT])
        .own_instructions()
        .shared((STAGES * 2 * TILE_BYTES) as usize)
        .pointer("a", "float", a.tiles)
        .pointer("a_flags", "int32", a.flags)
        .pointer("b", "float", b.tiles)
        .pointer("b_flags", "int32", b.flags);
    let launch = match place.parts {
        None => epilogue(launch.target("c", "float", out), Some(place)),
        Some((parts, _)) => epilogue(launch.target("c", "float", Source { at: parts, offset: 0 }), None),
    };
    let stage = launch
        .int("m", m)
        .int("n", n)
        .int("tiles_m", tiles_m)
        .int("tiles_n", tiles_n)
        .int("steps", product.steps())
        .int("slices", slices)
        .int("batch", batch)
        .int("a_batch", i64::from(matrices[0] != 1))
        .int("b_batch", i64::from(matrices[1] != 1))
        .int("pitch", place.pitch)
        .stage(&format!("tf32_dot<{STAGES}, {pairs}>"), blocks, THREADS, 1);
    builder.out.stages.push(stage);
    let Some((parts, _)) = place.parts else { return };
    let size = batch * m * n;
    let launch = Launch::new("tf32_combine", &[DType::F32], &[COMBINE]).pointer("parts", "float", parts);
    let blocks = size.div_up(1024).min(builder.full_device() / 256);
    let stage = epilogue(launch.target("c", "float", out), Some(place))
        .int("size", size)
        .int("n", n)
        .int("count", slices)
        .stage("tf32_combine", blocks, 256, 0);
    builder.out.stages.push(stage);
}

/// Adds the factors of the product and of the addend with their signs, the addend and the bias: those of the place, or none.
/// They are arguments, because the kernel takes a second to compile.
fn epilogue(launch: Launch, place: Option<&Place>) -> Launch {
    let none = cuprous_plan::Epilogue::default();
    let cuprous_plan::Epilogue { scale, addend, bias } = place.map_or(&none, |place| &place.call.epilogue);
    let factor = |launch: Launch, name: &str, factor: Factor| {
        let launch = match factor.constant {
            Some(slot) => launch.scalar(name, slot),
            None => launch.float(name, 1.0),
        };
        launch.float(&format!("{name}_sign"), if factor.negative { -1.0 } else { 1.0 })
    };
    let source =
        |array: &(u32, LayoutRef), start: i64| Source { at: Arg::Buffer(array.0), offset: array.1.offset + start };
    let (start, column) = place.map_or((0, 0), |place| (place.start, place.column));
    let launch = factor(launch, "alpha", *scale);
    factor(launch, "beta", addend.as_ref().map_or(Factor::default(), |addend| addend.factor))
        .optional("addend", "float", addend.as_ref().map(|addend| source(&addend.array, start)))
        .optional("bias", "float", bias.as_ref().map(|bias| source(bias, column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(m: i64, terms: i64, n: i64, batch: i64) -> Option<(i64, i64)> {
        let product = Product { m, n, terms, batch, matrices: [batch, batch] };
        product.schedule(132).map(|schedule| (schedule.rows, schedule.slices))
    }

    #[test]
    fn large_products_take_the_tensor_cores() {
        assert_eq!(schedule(4096, 4096, 4096, 1), Some((4096, 1)));
        assert_eq!(schedule(2048, 2048, 2048, 1), Some((2048, 1)));
        assert_eq!(schedule(16384, 384, 1536, 1), Some((16384, 1)));
        assert_eq!(schedule(512, 512, 512, 1), None);
        assert_eq!(schedule(16, 4096, 4096, 1), None);
        assert_eq!(schedule(128, 64, 128, 768), None);
        // Both images are too large.
        assert_eq!(schedule(16384, 16384, 16384, 1), None);
    }

    #[test]
    fn few_tiles_with_many_terms_are_split_by_their_terms() {
        assert_eq!(schedule(1024, 16384, 1024, 1), Some((1024, 2)));
        // Making the images would take as long as is gained.
        assert_eq!(schedule(384, 16384, 1536, 1), None);
    }

    #[test]
    fn an_operand_with_a_large_image_is_taken_in_groups_of_rows() {
        let (rows, _) = schedule(12288, 50304, 768, 1).expect("the images of all rows have 5 GiB");
        assert!(rows < 12288 / 5 && rows % ROWS == 0, "{rows}");
        assert!(schedule(768, 12288, 50304, 1).is_some_and(|(rows, slices)| rows < 50304 && slices == 1));
    }
}
