//! Rates of reductions, scatters, random numbers and routines on whole arrays.

use cuprous_advisor::Group;
use cuprous_advisor::rates::Rates;
use cuprous_core::routine::{Edge, FftKind, FftScale, LinalgOp, Vectors};
use cuprous_core::{DType, Fun, ReduceOp, Result, RoutineOp, ScanOp, ScatterOp};

use super::{Bench, if_supported};
use crate::cost;

impl Bench<'_> {
    /// Measures reductions.
    pub(super) fn reductions(&self, rates: &mut Rates) -> Result<()> {
        if self.gpu {
            return self.large_reductions(rates);
        }
        let n = 1 << 18;
        for group in Group::ALL {
            let a = self.random(group.dtype(), &[n], 100.0)?;
            for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::ArgMax, ReduceOp::M2] {
                if op == ReduceOp::M2 && !group.dtype().is_float() {
                    continue;
                }
                let seconds = self.time_beyond(rates, &[], 0.0, || Ok(vec![self.engine.reduce(op, &a, 1)?]))?;
                rates.work.entry(op.name().into()).or_default()[group as usize] = n as f64 / seconds;
            }
            let columns = self.random(group.dtype(), &[512, 512], 100.0)?;
            for (what, op) in [("reduce across", ReduceOp::Sum), ("m2 across", ReduceOp::M2)] {
                if op == ReduceOp::M2 && !group.dtype().is_float() {
                    continue;
                }
                let reduce = || Ok(vec![self.engine.reduce(op, &columns, 1)?]);
                self.record(rates, what, group, columns.layout.size as f64, 0.0, reduce)?;
            }
        }
        Ok(())
    }

    /// On a GPU memory bounds most reductions. Those of columns, and those with more than one number of state, may be
    /// slower.
    fn large_reductions(&self, rates: &mut Rates) -> Result<()> {
        let side: i64 = if self.quick { 512 } else { 4096 };
        for group in [Group::F32, Group::F64] {
            let square = self.random(group.dtype(), &[side, side], 100.0)?;
            let (area, bytes) =
                (square.layout.size as f64, (square.layout.size as usize * group.dtype().size()) as f64);
            for (what, op, axis) in
                [("m2", ReduceOp::M2, 2), ("reduce across", ReduceOp::Sum, 1), ("m2 across", ReduceOp::M2, 1)]
            {
                self.record(rates, what, group, area, bytes, || Ok(vec![self.engine.reduce(op, &square, axis)?]))?;
            }
        }
        Ok(())
    }

    /// Measures everything that is not an elementwise function. Routines without code on the device are left out.
    pub(super) fn routines(&self, rates: &mut Rates) -> Result<()> {
        let k = i64::from(self.gpu);
        let n: i64 = 1 << (20 + 4 * k - if self.quick { 6 } else { 0 });
        for group in [Group::F32, Group::F64, Group::I32, Group::I64] {
            let dtype = group.dtype();
            let size = dtype.size() as f64 * n as f64;
            let a = self.random(dtype, &[n], 1e6)?;
            let log = (n as f64).log2();
            let call = |op: RoutineOp, out: DType, shape: Vec<i64>| {
                let a = a.clone();
                move || Ok(vec![self.engine.record_routine(op.clone(), &[&a], out, &shape)?])
            };
            self.record(rates, "sort", group, n as f64 * log, 0.0, call(RoutineOp::Sort, dtype, vec![n]))?;
            self.record(rates, "select", group, n as f64, 0.0, call(RoutineOp::Select { rank: n / 2 }, dtype, vec![]))?;
            let running = || Ok(vec![self.engine.scan(ScanOp::Sum, &a, 0)?]);
            self.record(rates, "scan", group, n as f64, 2.0 * size, running)?;
            let index = self.engine.cast(&self.random(DType::F64, &[n], n as f64 - 1.0)?, DType::I64)?;
            let gather = || Ok(vec![self.engine.gather(&a, &index)?]);
            self.record(rates, "gather", group, n as f64, 0.0, gather)?;
            let target = self.random(dtype, &[n], 1.0)?;
            let scatter = || self.engine.scatter(&target, &index, &a, ScatterOp::Set).map(|()| vec![]);
            self.record(rates, "scatter", group, n as f64, 0.0, scatter)?;
            let few = self.engine.cast(&self.random(DType::F64, &[n], cost::CONTENDED_ELEMENTS)?, DType::I64)?;
            let crowd = self.random(dtype, &[cost::CONTENDED_ELEMENTS as i64], 1.0)?;
            let crowded = || self.engine.scatter(&crowd, &few, &a, ScatterOp::Add).map(|()| vec![]);
            self.record(rates, "crowded scatter", group, n as f64, 0.0, crowded)?;
            for (what, side) in
                [("strided", if self.gpu { 1024 } else { 768 }), ("strided far", if self.gpu { 8192 } else { 2048 })]
            {
                let square = self.random(dtype, &[side, side], 1.0)?;
                let transposed = square.view(square.layout.permute(&[1, 0]));
                let area = (side * side) as f64;
                let copy = || Ok(vec![self.engine.cast(&transposed, dtype)?]);
                self.record(rates, what, group, area, 2.0 * area * dtype.size() as f64, copy)?;
            }
            let sorted = self.engine.record_routine(RoutineOp::Sort, &[&a], dtype, &[n])?;
            let search = || {
                Ok(vec![self.engine.record_routine(
                    RoutineOp::SearchSorted { right: false },
                    &[&sorted, &a],
                    DType::I64,
                    &[n],
                )?])
            };
            self.record(rates, "search", group, n as f64 * log, 0.0, search)?;
        }
        for group in [Group::F16, Group::F32, Group::F64] {
            let dtype = group.dtype();
            let m = if self.gpu {
                4096
            } else if group == Group::F16 || self.quick {
                256
            } else {
                1024
            };
            let (a, b) = (self.random(dtype, &[m, m], 1.0)?, self.random(dtype, &[m, m], 1.0)?);
            self.record(rates, "dot", group, 2.0 * (m * m * m) as f64, 0.0, || Ok(vec![self.engine.dot(&a, &b)?]))?;
            if group == Group::F16 {
                continue;
            }
            let rows: i64 = 1 << (16 + 4 * k - if self.quick { 6 } else { 0 });
            let (tall, few) = (self.random(dtype, &[rows, 32], 1.0)?, self.random(dtype, &[32, 1], 1.0)?);
            let (flat, side) = (tall.view(tall.layout.permute(&[1, 0])), self.random(dtype, &[rows, 1], 1.0)?);
            let products = || Ok(vec![self.engine.dot(&tall, &few)?, self.engine.dot(&flat, &side)?]);
            self.record(rates, "thin dot", group, 128.0 * rows as f64, 0.0, products)?;
            self.float_routines(rates, group, dtype)?;
        }
        Ok(())
    }

    fn float_routines(&self, rates: &mut Rates, group: Group, dtype: DType) -> Result<()> {
        let k = i64::from(self.gpu);
        for (fun, of) in [
            (Fun::RandomBits32, Group::F32),
            (Fun::RandomUnit32, Group::F32),
            (Fun::RandomNormal32, Group::F32),
            (Fun::RandomBits64, Group::F64),
            (Fun::RandomUnit64, Group::F64),
            (Fun::RandomNormal64, Group::F64),
        ] {
            if of != group {
                continue;
            }
            let n = self.chain();
            // A reduction keeps the numbers from being written to memory. A GPU writes them faster than it draws them,
            // and reductions of random numbers have other costs there.
            let draw = || {
                let array = self.engine.random(fun, &[n], 1, 7, None)?;
                if self.gpu { Ok(vec![array]) } else { Ok(vec![self.engine.reduce(ReduceOp::Max, &array, 1)?]) }
            };
            let bits = matches!(fun, Fun::RandomBits32 | Fun::RandomBits64);
            let own = if bits { if of == Group::F32 { Group::I32 } else { Group::I64 } } else { of };
            let reduced = [("max", own, n as f64)];
            let bytes = if self.gpu { (n as usize * of.dtype().size()) as f64 } else { 0.0 };
            let seconds = self.time_beyond(rates, if self.gpu { &[] } else { &reduced }, bytes, draw)?;
            rates.work.entry(fun.op().name.into()).or_default()[own as usize] = n as f64 / seconds;
        }
        let points: i64 = 1 << (18 + 4 * k);
        let complex = if group == Group::F32 { DType::C64 } else { DType::C128 };
        let signal = self.engine.cast(&self.random(dtype, &[points], 1.0)?, complex)?;
        self.engine.synchronize()?;
        let op = RoutineOp::Fft { kind: FftKind::Forward, axis: 0, rank: 1, scale: FftScale::One };
        let fft = || Ok(vec![self.engine.record_routine(op.clone(), &[&signal], complex, &[points])?]);
        self.record(rates, "fft", group, 5.0 * points as f64 * (points as f64).log2(), 0.0, fft)?;
        self.factorizations(rates, group)?;
        let s: i64 = if self.gpu { 1024 } else { 256 };
        let small = self.random(dtype, &[s, s], 1.0)?;
        let op = RoutineOp::Linalg(LinalgOp::Svd(Vectors::Thin));
        let svd = || Ok(vec![self.engine.record_routine(op.clone(), &[&small], dtype, &[s + 2 * s * s + 1])?]);
        self.record(rates, "spectrum", group, 17.0 * (s * s * s) as f64, 0.0, svd)?;
        let picture = self.random(dtype, &[512 << k, 512 << k], 1.0)?;
        let weights = self.random(dtype, &[5, 5], 1.0)?;
        let op = RoutineOp::Correlate { edge: Edge::Reflect, constant: 0, origin: [2, 2].as_slice().into() };
        let filter =
            || Ok(vec![self.engine.record_routine(op.clone(), &[&picture, &weights], dtype, picture.shape())?]);
        self.record(rates, "correlate", group, 50.0 * picture.layout.size as f64, 0.0, filter)
    }

    /// Solving a system has a cost for each column and one for each operation.
    fn factorizations(&self, rates: &mut Rates, group: Group) -> Result<()> {
        let dtype = group.dtype();
        let solving = |m: i64| -> Result<f64> {
            let (matrix, side) = (self.random(dtype, &[m, m], 1.0)?, self.random(dtype, &[m, 1], 1.0)?);
            let op = RoutineOp::Linalg(LinalgOp::Solve);
            self.time_beyond(rates, &[], 0.0, || {
                Ok(vec![self.engine.record_routine(op.clone(), &[&matrix, &side], dtype, &[m + 1])?])
            })
        };
        let flops = |m: i64| 2.0 / 3.0 * (m * m * m) as f64;
        let Some(few) = if_supported(solving(512))? else { return Ok(()) };
        let mut found = vec![("factor", flops(512) / few)];
        if self.gpu {
            // Four times the columns, 64 times the operations.
            let Some(many) = if_supported(solving(2048))? else { return Ok(()) };
            let (columns, operations) = ((64.0 * few - many) / 60.0, (many - 4.0 * few) / 60.0);
            found = vec![
                ("column", 512.0 / columns.max(few / 100.0)),
                ("factor", flops(512) / operations.max(many / 1000.0)),
            ];
        }
        for (what, rate) in found {
            rates.work.entry(what.into()).or_default()[group as usize] = rate;
        }
        Ok(())
    }
}
