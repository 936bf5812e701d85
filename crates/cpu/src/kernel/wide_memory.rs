//! Groups of lanes: elements of arrays.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cuprous_core::{DType, Result};
use cuprous_kernel::ir::{Expr, Stmt};
use cuprous_kernel::types::Ty;

use super::address::split_constant;
use super::function::FunctionCompiler;
use super::plan::Plan;
use super::values::register;
use super::vector::{Chunks, LaneValue, WIDTH};

/// The addresses of an array access in all lanes.
pub(super) enum LaneAddresses {
    /// One address for all lanes, with a constant offset.
    Uniform(Value, i32),
    /// The first lane's address with a constant offset, and the stride between lanes in bytes, also as a number if it
    /// is constant.
    Strided(Value, i32, Value, Option<i64>),
    /// An address per lane.
    Varying(Vec<Value>),
}

impl FunctionCompiler<'_, '_, '_> {
    pub(super) fn load_step(&mut self, d: DType, (at, far): (Value, i32), step: Value, known: Option<i64>) -> Chunks {
        if known == Some(d.size() as i64) {
            return self.load_chunks(d, at, far);
        }
        let t = register(d);
        match known.and_then(|k| i32::try_from(i64::from(far) + k * (WIDTH - 1)).ok().map(|_| k as i32)) {
            Some(k) => {
                self.gather_lanes(d, |body, lane| body.b.ins().load(t, Self::trusted(), at, far + k * lane as i32))
            }
            None => {
                let addresses = self.lane_addresses(at, step);
                self.gather_lanes(d, |body, lane| body.b.ins().load(t, Self::trusted(), addresses[lane as usize], far))
            }
        }
    }

    /// Returns addresses with a constant stride. Addressing modes can add one, two, four or eight times a register, so
    /// only every third address is computed: all of them would not fit into registers.
    fn lane_addresses(&mut self, at: Value, step: Value) -> Vec<Value> {
        let third = self.b.ins().imul_imm_s(step, 3);
        let mut every_third = vec![at];
        for k in 0..(WIDTH as usize - 1) / 3 {
            every_third.push(self.b.ins().iadd(every_third[k], third));
        }
        let times = [0, 1, 2, 4, 8];
        let address = |lane: i64| {
            let first = (0..every_third.len()).find(|&k| times.contains(&(lane - 3 * k as i64)))?;
            Some((every_third[first], lane - 3 * first as i64))
        };
        let all: Vec<(Value, i64)> = (0..WIDTH).filter_map(address).collect();
        all.into_iter()
            .map(|(base, by)| match by {
                0 => base,
                by => {
                    let far = self.b.ins().ishl_imm_s(step, i64::from(by.trailing_zeros()));
                    self.b.ins().iadd(base, far)
                }
            })
            .collect()
    }

    /// Builds vectors from the values that `read` returns for each lane.
    pub(super) fn gather_lanes(&mut self, d: DType, mut read: impl FnMut(&mut Self, i64) -> Value) -> Chunks {
        let t = Self::vector(d);
        let lanes = i64::from(t.lane_count());
        let mut chunks = Chunks::new();
        for c in 0..WIDTH / lanes {
            let first = read(self, c * lanes);
            let mut chunk = self.b.ins().splat(t, first);
            for lane in 1..lanes {
                let value = read(self, c * lanes + lane);
                chunk = self.b.ins().insertlane(chunk, value, lane as u8);
            }
            chunks.push(if d == DType::Bool { self.b.ins().ineg(chunk) } else { chunk });
        }
        chunks
    }

    /// Returns the addresses of the lanes' elements, and a condition that is true if only some of the indices are
    /// negative.
    pub(super) fn wide_address(
        &mut self,
        plan: &Plan,
        array: &Expr,
        indices: &[Expr],
    ) -> Result<Option<(LaneAddresses, Option<Value>)>> {
        let values = self.expr(array)?;
        let Ty::Array(ty) = &array.ty else { return Ok(None) };
        let mut at = Vec::new();
        let mut mixed: Option<Value> = None;
        let mut any = false;
        let mut apart = Vec::new();
        for (axis, index) in indices.iter().enumerate() {
            let d = index.dtype().unwrap_or(DType::I64);
            let natural = self.is_non_negative(index);
            let (rest, more) = if natural { split_constant(index) } else { (Some(index), 0) };
            apart.push(more);
            let Some(index) = rest else {
                at.push(None);
                continue;
            };
            let extent = values[1 + axis];
            at.push(Some(match self.wide_expr(plan, index)? {
                LaneValue::Uniform(value) => {
                    LaneValue::Uniform(if natural { value } else { self.wrap_negative(value, extent) })
                }
                LaneValue::Linear(value, k) if natural => LaneValue::Linear(value, k),
                LaneValue::Linear(value, k) => {
                    let last = self.b.ins().iadd_imm_s(value, k.wrapping_mul(WIDTH - 1));
                    let differ = self.b.ins().bxor(value, last);
                    let part = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, differ, 0);
                    mixed = Some(mixed.map_or(part, |m| self.b.ins().bor(m, part)));
                    LaneValue::Linear(self.wrap_negative(value, extent), k)
                }
                value => {
                    any = true;
                    if natural {
                        value
                    } else {
                        let chunks = self.chunks(value, d);
                        let extent = self.b.ins().splat(Self::vector(d), extent);
                        let wrap_negative = chunks.into_iter().map(|c| {
                            // The sign as a mask.
                            let sign = self.b.ins().sshr_imm_s(c, 8 * d.size() as i64 - 1);
                            let back = self.b.ins().band(extent, sign);
                            self.b.ins().iadd(c, back)
                        });
                        LaneValue::Varying(wrap_negative.collect())
                    }
                }
            }));
        }
        let strides = self.known_strides(array, ty, &values);
        let (mut address, far) = self.add_constant_offset(values[0], &apart, &strides);
        let mut step: Option<(Value, Option<i64>)> = None;
        for (index, &stride) in at.iter().zip(&strides) {
            let Some(LaneValue::Uniform(value) | LaneValue::Linear(value, _)) = *index else { continue };
            let far = self.byte_offset(value, stride);
            address = self.b.ins().iadd(address, far);
            if let Some(LaneValue::Linear(_, k)) = *index {
                let own = (self.b.ins().imul_imm_s(stride.0, k), stride.1.map(|s| s * k));
                step = Some(match step {
                    None => own,
                    Some(before) => {
                        let both = before.1.zip(own.1).map(|(a, b)| a + b);
                        (self.b.ins().iadd(before.0, own.0), both)
                    }
                });
            }
        }
        if !any {
            return Ok(Some(match step {
                None => (LaneAddresses::Uniform(address, far), None),
                Some((bytes, known)) => (LaneAddresses::Strided(address, far, bytes, known), mixed),
            }));
        }
        if mixed.is_some() {
            return Ok(None);
        }
        address = self.b.ins().iadd_imm_s(address, i64::from(far));
        let mut addresses = Vec::new();
        for lane in 0..WIDTH {
            let mut at_lane = address;
            for (index, &stride) in at.iter().zip(&strides) {
                let Some(index @ LaneValue::Varying(_)) = index else { continue };
                let value = self.lane_of(index, DType::I64, lane);
                let far = self.byte_offset(value, stride);
                at_lane = self.b.ins().iadd(at_lane, far);
            }
            if let Some((bytes, _)) = step {
                let far = self.b.ins().imul_imm_s(bytes, lane);
                at_lane = self.b.ins().iadd(at_lane, far);
            }
            addresses.push(at_lane);
        }
        Ok(Some((LaneAddresses::Varying(addresses), None)))
    }

    pub(super) fn wide_store(
        &mut self,
        plan: &Plan,
        stmt: &Stmt,
        array: &Expr,
        indices: &[Expr],
        value: &Expr,
    ) -> Result<()> {
        let d = value.dtype().unwrap_or(DType::I64);
        let part = std::slice::from_ref(stmt);
        let Some((address, mixed)) = self.wide_address(plan, array, indices)? else {
            return self.scalarize(plan, part, |body| body.stmt(&stmt.kind));
        };
        let end = mixed.is_some().then(|| self.b.create_block());
        if let (Some(mixed), Some(end)) = (mixed, end) {
            let (fast, slow) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(mixed, slow, &[], fast, &[]);
            self.b.set_cold_block(slow);
            self.b.switch_to_block(slow);
            self.scalarize(plan, part, |body| body.stmt(&stmt.kind))?;
            self.b.ins().jump(end, &[]);
            self.b.switch_to_block(fast);
        }
        let value = self.wide_expr(plan, value)?;
        match address {
            LaneAddresses::Uniform(at, far) => {
                // The last lane's value remains.
                let last = self.lane_of(&value, d, WIDTH - 1);
                self.b.ins().store(Self::trusted(), last, at, far);
            }
            LaneAddresses::Strided(at, far, _, Some(known)) if known == d.size() as i64 => {
                let chunks = self.chunks(value, d);
                self.store_chunks(d, &chunks, at, far);
            }
            LaneAddresses::Strided(at, far, step, _) => {
                for (lane, address) in (0..).zip(self.lane_addresses(at, step)) {
                    let value = self.lane_of(&value, d, lane);
                    self.b.ins().store(Self::trusted(), value, address, far);
                }
            }
            LaneAddresses::Varying(addresses) => {
                for (lane, at) in (0..).zip(addresses) {
                    let value = self.lane_of(&value, d, lane);
                    self.b.ins().store(Self::trusted(), value, at, 0);
                }
            }
        }
        if let Some(end) = end {
            self.b.ins().jump(end, &[]);
            self.b.switch_to_block(end);
        }
        Ok(())
    }
}
