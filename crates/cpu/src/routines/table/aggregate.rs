//! Aggregates rows by the numbers of their groups: several functions of a column in one pass.

use cuprous_core::routine::GroupFunction;
use cuprous_core::{DType, LayoutRef, Result};
use rayon::prelude::*;

use super::{Column, Id, PART, is_column, is_mask, output};
use crate::routines::operands::View;

/// Rows whose positions are computed at a time.
const BLOCK: usize = 2048;
/// Copies of the accumulators of few groups, so that adjacent rows of a group do not wait for each other.
const COPIES: usize = 4;
/// Groups up to which there are copies.
const FEW: usize = 256;
/// The most parts of the rows. They determine how sums are rounded, so they do not depend on the number of threads.
const MOST_PARTS: usize = 64;
/// Groups from which rows are not divided: each thread has a range of the groups instead.
const MANY: usize = 1 << 12;

/// Returns true if the operands and the output fit together.
pub(crate) fn fits(functions: &[GroupFunction], ins: &[(u32, LayoutRef)], out: &LayoutRef) -> bool {
    let needs_values = |f: &GroupFunction| matches!(f, GroupFunction::Sum | GroupFunction::Min | GroupFunction::Max);
    let (ids, values) = (&ins[0].1, ins.get(1).map(|v| &v.1));
    is_column(ids)
        && matches!(ids.dtype, DType::I32 | DType::I64)
        && values.is_none_or(|v| v.ndim() == 1 && v.size == ids.size && is_supported(v.dtype))
        && (values.is_some() || !functions.iter().any(needs_values))
        && is_mask(ins.get(2).map(|m| &m.1), ids.size)
        && !functions.is_empty()
        && out.dtype == DType::I64
        && out.ndim() == 2
        && out.shape[0] == functions.len() as i64
}

fn is_supported(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::Bool
            | DType::U8
            | DType::I8
            | DType::U16
            | DType::I16
            | DType::U32
            | DType::I32
            | DType::U64
            | DType::I64
            | DType::F32
            | DType::F64
    )
}

/// # Safety
/// The views are in memory and fit together.
pub(crate) unsafe fn aggregate(functions: &[GroupFunction], ins: &[View], out: View) -> Result<()> {
    let groups = out.shape()[1] as usize;
    // SAFETY: by this function's contract.
    unsafe {
        let ids = Column::new(ins[0])?;
        let values = ins.get(1).map(|v| Column::new(*v)).transpose()?;
        let mask = ins.get(2).map(|m| Column::new(*m)).transpose()?;
        let mask = mask.as_ref().map(|m| m.slice());
        macro_rules! of {
            ($($dtype:ident $t:ty),*) => {
                match ins.get(1).map(|v| v.dtype()) {
                    $(Some(DType::$dtype) => {
                        let values = values.as_ref().map(|v| v.slice::<$t>());
                        match ins[0].dtype() {
                            DType::I32 => Task::<i32, $t> { functions, groups, ids: ids.slice(), values, mask }.run(output(out)),
                            _ => Task::<i64, $t> { functions, groups, ids: ids.slice(), values, mask }.run(output(out)),
                        }
                    })*
                    _ => match ins[0].dtype() {
                        DType::I32 => Task::<i32, u8> { functions, groups, ids: ids.slice(), values: None, mask }.run(output(out)),
                        _ => Task::<i64, u8> { functions, groups, ids: ids.slice(), values: None, mask }.run(output(out)),
                    },
                }
            };
        }
        of!(Bool u8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64);
    }
    Ok(())
}

/// An element and its wide type, whose bits are in the accumulators.
trait Value: Copy + Send + Sync {
    type Wide: Copy;
    /// The smallest of nothing, and the largest.
    const NO_MIN: u64;
    const NO_MAX: u64;
    fn wide(self) -> Self::Wide;
    fn bits(wide: Self::Wide) -> u64;
    fn of_bits(bits: u64) -> Self::Wide;
    fn add(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn min(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn max(a: Self::Wide, b: Self::Wide) -> Self::Wide;
}

macro_rules! int_value {
    ($($t:ty, $wide:ty);*) => {$(
        impl Value for $t {
            type Wide = $wide;
            const NO_MIN: u64 = <$t>::MAX as $wide as u64;
            const NO_MAX: u64 = <$t>::MIN as $wide as u64;
            #[inline(always)]
            fn wide(self) -> $wide { self as $wide }
            #[inline(always)]
            fn bits(wide: $wide) -> u64 { wide as u64 }
            #[inline(always)]
            fn of_bits(bits: u64) -> $wide { bits as $wide }
            #[inline(always)]
            fn add(a: $wide, b: $wide) -> $wide { a.wrapping_add(b) }
            #[inline(always)]
            fn min(a: $wide, b: $wide) -> $wide { Ord::min(a, b) }
            #[inline(always)]
            fn max(a: $wide, b: $wide) -> $wide { Ord::max(a, b) }
        }
    )*};
}
int_value!(u8, i64; i8, i64; u16, i64; i16, i64; u32, i64; i32, i64; u64, u64; i64, i64);

macro_rules! float_value {
    ($($t:ty)*) => {$(
        impl Value for $t {
            type Wide = f64;
            const NO_MIN: u64 = f64::NAN.to_bits();
            const NO_MAX: u64 = f64::NAN.to_bits();
            #[inline(always)]
            fn wide(self) -> f64 { self as f64 }
            #[inline(always)]
            fn bits(wide: f64) -> u64 { wide.to_bits() }
            #[inline(always)]
            fn of_bits(bits: u64) -> f64 { f64::from_bits(bits) }
            #[inline(always)]
            fn add(a: f64, b: f64) -> f64 { a + b }
            // The other one of NaN.
            #[inline(always)]
            fn min(a: f64, b: f64) -> f64 { a.min(b) }
            #[inline(always)]
            fn max(a: f64, b: f64) -> f64 { a.max(b) }
        }
    )*};
}
float_value!(f32 f64);

/// The value of an aggregate of no rows.
fn start<V: Value>(function: GroupFunction) -> u64 {
    match function {
        GroupFunction::Sum | GroupFunction::Count => 0,
        GroupFunction::Min => V::NO_MIN,
        GroupFunction::Max => V::NO_MAX,
        // -1: the largest number of a row that has no sign, and the smallest that has one.
        GroupFunction::First | GroupFunction::Last => u64::MAX,
    }
}

/// Combines the aggregates of two sets of rows.
#[inline(always)]
fn combine<V: Value>(function: GroupFunction, a: u64, b: u64) -> u64 {
    let wide = |f: fn(V::Wide, V::Wide) -> V::Wide| V::bits(f(V::of_bits(a), V::of_bits(b)));
    match function {
        GroupFunction::Sum => wide(V::add),
        GroupFunction::Min => wide(V::min),
        GroupFunction::Max => wide(V::max),
        GroupFunction::Count => a.wrapping_add(b),
        GroupFunction::First => a.min(b),
        GroupFunction::Last => (a as i64).max(b as i64) as u64,
    }
}

/// Combines values with the accumulators at their positions.
#[inline(always)]
fn reduce<V: Value>(at: &[u32], values: &[V], sums: &mut [u64], f: impl Fn(V::Wide, V::Wide) -> V::Wide) {
    for (&at, value) in at.iter().zip(values) {
        let sum = &mut sums[at as usize];
        *sum = V::bits(f(V::of_bits(*sum), value.wide()));
    }
}

struct Task<'a, I, V> {
    functions: &'a [GroupFunction],
    groups: usize,
    ids: &'a [I],
    values: Option<&'a [V]>,
    mask: Option<&'a [u8]>,
}

impl<I: Id, V: Value> Task<'_, I, V> {
    fn run(&self, out: &mut [u64]) {
        let (n, groups) = (self.ids.len(), self.groups);
        // Combining the parts costs at most as much as half of the rows.
        let parts = (n / PART.max(2 * groups)).clamp(1, MOST_PARTS);
        let ranges =
            if parts == 1 && groups >= MANY && n >= PART { rayon::current_num_threads().clamp(1, 8) } else { 1 };
        let (rows, width) = (n.div_ceil(parts).max(1), groups.div_ceil(ranges).max(1));
        let task = |k: usize| {
            let (part, range) = (k / ranges, k % ranges);
            let columns = (range * width).min(groups)..((range + 1) * width).min(groups);
            let rows = (part * rows).min(n)..((part + 1) * rows).min(n);
            if groups <= FEW { self.part::<COPIES>(rows, columns) } else { self.part::<1>(rows, columns) }
        };
        let found: Vec<Vec<u64>> =
            if parts * ranges == 1 { vec![task(0)] } else { (0..parts * ranges).into_par_iter().map(task).collect() };
        for (k, of_task) in found.iter().enumerate() {
            let (part, first) = (k / ranges, (k % ranges * width).min(groups));
            let width = of_task.len() / self.functions.len();
            for (f, &function) in self.functions.iter().enumerate() {
                let to = &mut out[f * groups + first..][..width];
                let from = &of_task[f * width..][..width];
                if part == 0 {
                    to.copy_from_slice(from);
                } else {
                    to.iter_mut().zip(from).for_each(|(a, b)| *a = combine::<V>(function, *a, *b));
                }
            }
        }
    }

    /// Returns the aggregates of some groups in some rows, a row for each function.
    fn part<const COPIES: usize>(&self, rows: std::ops::Range<usize>, groups: std::ops::Range<usize>) -> Vec<u64> {
        let width = groups.len();
        // Before the groups is what rows outside of them are added to.
        let mut sums: Vec<Vec<u64>> =
            self.functions.iter().map(|&f| vec![start::<V>(f); (width + 1) * COPIES]).collect();
        let mut at = [0u32; BLOCK];
        let (first, all) = (groups.start, groups.len() == self.groups);
        for begin in rows.clone().step_by(BLOCK) {
            let end = rows.end.min(begin + BLOCK);
            let at = &mut at[..end - begin];
            for (k, (to, id)) in at.iter_mut().zip(&self.ids[begin..end]).enumerate() {
                let slot = if all { id.slot() } else { id.slot().wrapping_sub(first) };
                let slot = if slot <= width { slot } else { 0 };
                *to = (slot * COPIES + k % COPIES) as u32;
            }
            if let Some(mask) = self.mask {
                for (k, (to, &m)) in at.iter_mut().zip(&mask[begin..end]).enumerate() {
                    *to = if m != 0 { *to } else { (k % COPIES) as u32 };
                }
            }
            for (sums, &function) in sums.iter_mut().zip(self.functions) {
                self.block(function, begin, at, sums);
            }
        }
        let mut found = Vec::with_capacity(self.functions.len() * width);
        for (sums, &function) in sums.iter().zip(self.functions) {
            let of_group = |copies: &[u64]| copies[1..].iter().fold(copies[0], |a, &b| combine::<V>(function, a, b));
            found.extend(sums[COPIES..].chunks(COPIES).map(of_group));
        }
        found
    }

    /// Adds a block of rows to the accumulators at their positions.
    #[inline(always)]
    fn block(&self, function: GroupFunction, begin: usize, at: &[u32], sums: &mut [u64]) {
        let values = self.values.map_or(&[][..], |values| &values[begin..begin + at.len()]);
        match function {
            GroupFunction::Sum => reduce::<V>(at, values, sums, V::add),
            GroupFunction::Min => reduce::<V>(at, values, sums, V::min),
            GroupFunction::Max => reduce::<V>(at, values, sums, V::max),
            GroupFunction::Count => at.iter().for_each(|&at| sums[at as usize] += 1),
            GroupFunction::First => {
                for (k, &at) in at.iter().enumerate() {
                    let first = &mut sums[at as usize];
                    *first = (*first).min((begin + k) as u64);
                }
            }
            GroupFunction::Last => {
                at.iter().enumerate().for_each(|(k, &at)| sums[at as usize] = (begin + k) as u64);
            }
        }
    }
}
