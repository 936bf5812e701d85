//! Random operands, and a plain reference of each routine.

use std::cmp::Ordering;

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Kind, LayoutRef, RoutineOp, ScanOp};
use cuprous_plan::RoutineCall;

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a random float of a format, as bits, with `m` bits of mantissa. Some are special values.
    fn float(&mut self, m: u32, width: u32, op: &RoutineOp) -> u64 {
        let sign = 1u64 << (width - 1);
        let e = width - 1 - m;
        let bias = (1u64 << (e - 1)) - 1;
        let inf = ((1u64 << e) - 1) << m;
        let noise = self.next() & ((1 << m) - 1);
        let finite_only = match op {
            RoutineOp::Scan { op, .. } => matches!(op, ScanOp::Sum | ScanOp::Prod),
            RoutineOp::Correlate { .. } => true,
            _ => false,
        };
        if let RoutineOp::Scan { op: ScanOp::Prod, .. } = op {
            // 1 plus a small number.
            let small = noise >> (m / 2 + m / 4);
            return bias << m | if self.next().is_multiple_of(2) { small } else { 0 };
        }
        let rare = if matches!(op, RoutineOp::Scan { .. }) { 100_000 } else { 24 };
        match self.next() % rare {
            0 if !finite_only => inf | noise | 1 | (self.next() & sign),
            1 if !finite_only => inf | (self.next() & sign),
            2 => sign,
            3 => 0,
            4 => bias << m,
            _ => (bias - 3 + self.next() % 7) << m | noise | (self.next() & sign),
        }
    }

    fn element(&mut self, d: DType, op: &RoutineOp, to: &mut Vec<u8>) {
        match d {
            DType::Bool => to.push(self.next().is_multiple_of(3).into()),
            DType::F16 => to.extend(&(self.float(10, 16, op) as u16).to_le_bytes()),
            DType::BF16 => to.extend(&(self.float(7, 16, op) as u16).to_le_bytes()),
            DType::F32 => to.extend(&(self.float(23, 32, op) as u32).to_le_bytes()),
            DType::F64 => to.extend(&self.float(52, 64, op).to_le_bytes()),
            DType::C64 | DType::C128 => {
                self.element(d.component(), op, to);
                let zero = matches!(op, RoutineOp::Scan { op: ScanOp::Prod, .. });
                if zero { to.extend(vec![0; d.component().size()]) } else { self.element(d.component(), op, to) }
            }
            _ => {
                let x = if self.next().is_multiple_of(4) { self.next() % 5 } else { self.next() };
                to.extend(&x.to_le_bytes()[..d.size()]);
            }
        }
    }

    /// Returns bytes for all elements that a layout reaches, and some more. The table of a search is sorted.
    pub fn array(&mut self, op: &RoutineOp, layout: &LayoutRef) -> Vec<u8> {
        let (_, top) = layout.span().expect("not empty");
        let mut bytes = Vec::new();
        (0..top + 40).for_each(|_| self.element(layout.dtype, op, &mut bytes));
        if matches!(op, RoutineOp::SearchSorted { .. }) && layout.ndim() == 1 {
            let view = View { layout, bytes: &bytes };
            let mut order: Vec<usize> = (0..layout.size as usize).collect();
            order.sort_by(|&a, &b| compare(view.value(a), view.value(b)));
            let sorted: Vec<Vec<u8>> = order.iter().map(|&i| view.raw(i).to_vec()).collect();
            let indices: Vec<usize> = (0..layout.size as usize).map(|i| view.index(i)).collect();
            let size = layout.dtype.size();
            for (e, at) in sorted.iter().zip(indices) {
                bytes[at * size..][..size].copy_from_slice(e);
            }
        }
        bytes
    }
}

/// A number, wide enough for every dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i128),
    Number(f64, f64),
}

pub struct View<'a> {
    pub layout: &'a LayoutRef,
    pub bytes: &'a [u8],
}

impl View<'_> {
    pub fn index(&self, mut i: usize) -> usize {
        let mut at = self.layout.offset;
        for (&n, &s) in self.layout.shape.iter().zip(&self.layout.strides).rev() {
            at += (i as i64 % n) * s;
            i /= n as usize;
        }
        at as usize
    }

    pub fn raw(&self, i: usize) -> &[u8] {
        let size = self.layout.dtype.size();
        &self.bytes[self.index(i) * size..][..size]
    }

    pub fn value(&self, i: usize) -> Value {
        value(self.layout.dtype, self.raw(i))
    }
}

fn float(d: DType, b: &[u8]) -> f64 {
    let bits = u16::from_le_bytes([b[0], b[1]]);
    match d {
        DType::F16 => {
            let (e, m) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
            let x = match e {
                0 => m * 2f64.powi(-24),
                31 => {
                    if m == 0.0 {
                        f64::INFINITY
                    } else {
                        f64::NAN
                    }
                }
                _ => (1.0 + m / 1024.0) * 2f64.powi(e - 15),
            };
            if bits >> 15 == 1 { -x } else { x }
        }
        DType::BF16 => f64::from(f32::from_bits(u32::from(bits) << 16)),
        DType::F32 => f64::from(f32::from_le_bytes(b[..4].try_into().expect("4 bytes"))),
        _ => f64::from_le_bytes(b[..8].try_into().expect("8 bytes")),
    }
}

pub fn value(d: DType, b: &[u8]) -> Value {
    let mut wide = [0; 8];
    match d.kind() {
        Kind::Float => Value::Number(float(d, b), 0.0),
        Kind::Complex => Value::Number(float(d.component(), b), float(d.component(), &b[d.size() / 2..])),
        kind => {
            wide[..b.len()].copy_from_slice(b);
            let x = u64::from_le_bytes(wide);
            let unused = 64 - 8 * b.len();
            Value::Int(if kind == Kind::Int { i128::from((x << unused) as i64 >> unused) } else { i128::from(x) })
        }
    }
}

/// Compares in NumPy's order for sorting.
pub fn compare(a: Value, b: Value) -> Ordering {
    match (a, b) {
        (Value::Number(x, p), Value::Number(y, q)) => {
            let class = |re: f64, im: f64| u8::from(im.is_nan()) + 2 * u8::from(re.is_nan());
            let by = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or(Ordering::Equal);
            class(x, p).cmp(&class(y, q)).then(by(x, y)).then(by(p, q))
        }
        (Value::Int(x), Value::Int(y)) => x.cmp(&y),
        _ => unreachable!("one dtype"),
    }
}

pub fn at_edge(edge: Edge, i: i64, n: i64) -> Option<i64> {
    if (0..n).contains(&i) {
        return Some(i);
    }
    Some(match edge {
        Edge::Constant => return None,
        Edge::Nearest => i.clamp(0, n - 1),
        Edge::Wrap => i.rem_euclid(n),
        Edge::Reflect => {
            let k = i.rem_euclid(2 * n);
            k.min(2 * n - 1 - k)
        }
        Edge::Mirror => {
            let k = i.rem_euclid((2 * n - 2).max(1));
            if n == 1 { 0 } else { k.min(2 * n - 2 - k) }
        }
    })
}

fn unravel(mut i: i64, shape: &[i64]) -> Vec<i64> {
    let mut at = vec![0; shape.len()];
    for k in (0..shape.len()).rev() {
        at[k] = i % shape[k];
        i /= shape[k];
    }
    at
}

fn ravel(at: &[i64], shape: &[i64]) -> usize {
    at.iter().zip(shape).fold(0, |i, (a, n)| i * n + a) as usize
}

type Verdict = Result<(), String>;

fn same(i: usize, got: &[u8], want: &[u8]) -> Verdict {
    if got == want { Ok(()) } else { Err(format!("element {i}: {got:x?} instead of {want:x?}")) }
}

fn is_nan(x: Value) -> bool {
    matches!(x, Value::Number(p, q) if p.is_nan() || q.is_nan())
}

/// Returns a packed mask: counts up to the end of each tile of 4096, then bits.
pub fn packed(mask: &[bool]) -> Vec<u64> {
    let tiles = mask.len().div_ceil(4096);
    let mut words = vec![0u64; tiles * 65];
    for (i, _) in mask.iter().enumerate().filter(|(_, holds)| **holds) {
        words[tiles + i / 64] |= 1 << (i % 64);
        (i / 4096..tiles).for_each(|k| words[k] += 1);
    }
    words
}

pub fn verify(call: &RoutineCall, ins: &[View], got: &[u8]) -> Verdict {
    let out = &call.out.1;
    let (d, size) = (out.dtype, out.dtype.size());
    let result = |i: usize| &got[i * size..][..size];
    let total = out.size as usize;
    match &call.op {
        RoutineOp::Scan { op, axis } => scan(*op, *axis as usize, out, &ins[0], &result),
        RoutineOp::Sort | RoutineOp::ArgSort => {
            let n = out.shape.last().copied().unwrap_or(1) as usize;
            for row in 0..total / n {
                let values: Vec<Value> = (0..n).map(|j| ins[0].value(row * n + j)).collect();
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by(|&a, &b| compare(values[a], values[b]));
                for (j, &from) in order.iter().enumerate() {
                    let i = row * n + j;
                    if call.op == RoutineOp::Sort {
                        // The bits of NaN may differ.
                        if d.is_complex() || !(is_nan(values[from]) && is_nan(value(d, result(i)))) {
                            same(i, result(i), ins[0].raw(row * n + from))?;
                        }
                    } else {
                        same(i, result(i), &(from as i64).to_le_bytes())?;
                    }
                }
            }
            Ok(())
        }
        RoutineOp::TopK { .. } | RoutineOp::Select { .. } => {
            let n = ins[0].layout.shape.last().copied().unwrap_or(1) as usize;
            let largest = call.op == RoutineOp::TopK { largest: true };
            let each = total / (ins[0].layout.size as usize / n);
            for row in 0..total / each {
                let values: Vec<Value> = (0..n).map(|j| ins[0].value(row * n + j)).collect();
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by(
                    |&a, &b| {
                        if largest { compare(values[b], values[a]) } else { compare(values[a], values[b]) }
                    },
                );
                if let RoutineOp::Select { rank } = call.op {
                    let (got, want) = (value(d, result(row)), values[order[rank as usize]]);
                    if compare(got, want) != Ordering::Equal {
                        return Err(format!("row {row}: {got:?} instead of {want:?}"));
                    }
                } else {
                    for (j, &from) in order[..each].iter().enumerate() {
                        same(row * each + j, result(row * each + j), &(from as i64).to_le_bytes())?;
                    }
                }
            }
            Ok(())
        }
        RoutineOp::PackMask => {
            let mask: Vec<bool> = (0..ins[0].layout.size as usize).map(|i| ins[0].value(i) != Value::Int(0)).collect();
            packed(&mask).iter().enumerate().try_for_each(|(i, word)| same(i, result(i), &word.to_le_bytes()))
        }
        RoutineOp::Compact => {
            let words: Vec<u64> =
                ins[0].bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8"))).collect();
            let tiles = ins[0].layout.size as usize / 65;
            let holds = (0..tiles * 4096).filter(|i| words[tiles + i / 64] >> (i % 64) & 1 == 1);
            for (j, i) in holds.enumerate() {
                match ins.get(1) {
                    Some(values) => same(j, result(j), values.raw(i))?,
                    None => same(j, result(j), &(i as i64).to_le_bytes())?,
                }
            }
            Ok(())
        }
        RoutineOp::Partition { .. } => Err("checked as a sort".into()),
        RoutineOp::Components { .. } => Err("checked by the suite".into()),
        RoutineOp::SearchSorted { right } => {
            let table: Vec<Value> = (0..ins[0].layout.size as usize).map(|i| ins[0].value(i)).collect();
            for i in 0..total {
                let v = ins[1].value(i);
                let want = table.partition_point(|&t| match compare(t, v) {
                    Ordering::Less => true,
                    Ordering::Equal => *right,
                    Ordering::Greater => false,
                });
                same(i, result(i), &(want as i64).to_le_bytes())?;
            }
            Ok(())
        }
        RoutineOp::Pad { edge, before, .. } => {
            for i in 0..total {
                let at = unravel(i as i64, &out.shape);
                let from: Option<Vec<i64>> =
                    (0..at.len()).map(|k| at_edge(*edge, at[k] - before[k], ins[0].layout.shape[k])).collect();
                match from {
                    Some(from) => same(i, result(i), ins[0].raw(ravel(&from, &ins[0].layout.shape)))?,
                    None => {
                        let want = if d.is_float() || d.is_complex() { Value::Number(1.5, 0.0) } else { Value::Int(1) };
                        if value(d, result(i)) != want {
                            return Err(format!("element {i}: {:?} instead of the constant", value(d, result(i))));
                        }
                    }
                }
            }
            Ok(())
        }
        RoutineOp::Dot => {
            let (a, b) = (&ins[0], &ins[1]);
            let n = out.ndim();
            let (rows, columns, depth) = (out.shape[n - 2], out.shape[n - 1], a.layout.shape[n - 1]);
            for i in 0..out.size {
                let (batch, r, c) = (i / (rows * columns), i / columns % rows, i % columns);
                let mut sum = 0i128;
                for k in 0..depth {
                    let (x, y) = (
                        a.value(((batch * rows + r) * depth + k) as usize),
                        b.value(((batch * depth + k) * columns + c) as usize),
                    );
                    let (Value::Int(x), Value::Int(y)) = (x, y) else { unreachable!("integers") };
                    sum = if d == DType::Bool { sum | (x & y) } else { sum.wrapping_add(x.wrapping_mul(y)) };
                }
                same(i as usize, result(i as usize), &sum.to_le_bytes()[..size])?;
            }
            Ok(())
        }
        RoutineOp::Linalg(_) => Err("no reference for decompositions".into()),
        RoutineOp::SparseDot { .. } => Err("no reference for sparse products".into()),
        RoutineOp::Convolve(..) => Err("convolutions are recorded as products".into()),
        RoutineOp::Recur(_) | RoutineOp::RecurBackward(_) => Err("checked by the suite".into()),
        RoutineOp::Attend(_) | RoutineOp::AttendBackward(_) => Err("checked by the suite".into()),
        RoutineOp::AttendRows(_) | RoutineOp::Normalize(_) => Err("checked by the suite".into()),
        RoutineOp::Steps(_) | RoutineOp::StepsBackward(_) => Err("the CPU's own".into()),
        RoutineOp::NormalizeBackward(_) => Err("the CPU's own".into()),
        RoutineOp::ChannelStatistics(_) | RoutineOp::ChannelBackward(_) => Err("the CPU's own".into()),
        RoutineOp::GroupIds { .. } | RoutineOp::GroupAggregate { .. } => Err("the CPU's own".into()),
        RoutineOp::JoinMatch { .. } | RoutineOp::JoinPairs { .. } => Err("the CPU's own".into()),
        RoutineOp::Correlate { edge, constant, origin } => {
            let number = |v: Value| if let Value::Number(x, _) = v { x } else { 0.0 };
            let w: Vec<(Vec<i64>, f64)> = (0..ins[1].layout.size as usize)
                .map(|j| (unravel(j as i64, &ins[1].layout.shape), number(ins[1].value(j))))
                .collect();
            let from = &ins[0].layout.shape;
            let x: Vec<f64> = (0..ins[0].layout.size as usize).map(|i| number(ins[0].value(i))).collect();
            let epsilon = if d == DType::F32 { 1.2e-7 } else { 2.3e-16 };
            for i in 0..total {
                let at = unravel(i as i64, &out.shape);
                let (mut sum, mut large) = (0.0, 0.0);
                for (j, weight) in &w {
                    let mut flat = Some(0);
                    for k in 0..at.len() {
                        let e = at_edge(*edge, at[k] + j[k] - origin[k], from[k]);
                        flat = flat.and_then(|f| e.map(|e| f * from[k] + e));
                    }
                    let e = flat.map_or(f64::from_bits(*constant), |f| x[f as usize]);
                    sum += weight * e;
                    large += (weight * e).abs();
                }
                let got = number(value(d, result(i)));
                if !((got - sum).abs() <= epsilon * large * (w.len() as f64).sqrt() + 1e-300) {
                    return Err(format!("element {i}: {got} instead of {sum}"));
                }
            }
            Ok(())
        }
        RoutineOp::Fft { .. } => Err("no reference".into()),
    }
}

fn scan<'a>(op: ScanOp, axis: usize, out: &LayoutRef, x: &View, result: &dyn Fn(usize) -> &'a [u8]) -> Verdict {
    let (d, size) = (out.dtype, out.dtype.size());
    let (n, inner) = (out.shape[axis] as usize, out.shape[axis + 1..].iter().product::<i64>() as usize);
    let epsilon = match d.component() {
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        DType::F32 => 1.2e-7,
        _ => 2.3e-16,
    };
    for line in 0..out.size as usize / n {
        let mut sum: Option<Value> = None;
        let (mut large, mut steps) = (0.0, 0.0);
        for k in 0..n {
            let i = (line / inner * n + k) * inner + line % inner;
            let e = x.value(i);
            steps += 1.0;
            let extreme = |a: Value, b: Value, greater: bool| {
                let nan = |v: Value| matches!(v, Value::Number(p, q) if p.is_nan() || q.is_nan());
                let order = compare(a, b);
                if nan(a) || (!nan(b) && order != if greater { Ordering::Less } else { Ordering::Greater }) {
                    a
                } else {
                    b
                }
            };
            sum = Some(match (sum, e, op) {
                (None, ..) => e,
                (Some(a), b, ScanOp::Max) => extreme(a, b, true),
                (Some(a), b, ScanOp::Min) => extreme(a, b, false),
                (Some(Value::Int(a)), Value::Int(b), _) if d == DType::Bool => {
                    Value::Int(if op == ScanOp::Sum { a | b } else { a & b })
                }
                (Some(Value::Int(a)), Value::Int(b), ScanOp::Sum) => {
                    Value::Int(i128::from((a as u64).wrapping_add(b as u64)))
                }
                (Some(Value::Int(a)), Value::Int(b), _) => Value::Int(i128::from((a as u64).wrapping_mul(b as u64))),
                (Some(Value::Number(a, p)), Value::Number(b, q), ScanOp::Sum) => Value::Number(a + b, p + q),
                (Some(Value::Number(a, p)), Value::Number(b, q), _) => Value::Number(a * b - p * q, a * q + p * b),
                _ => unreachable!("one dtype"),
            });
            match sum {
                Some(Value::Int(want)) => same(i, result(i), &want.to_le_bytes()[..size])?,
                Some(Value::Number(re, im)) => {
                    let Value::Number(p, q) = value(d, result(i)) else { unreachable!("a float") };
                    let exact = matches!(op, ScanOp::Max | ScanOp::Min);
                    if let Value::Number(a, b) = e {
                        large += a.abs() + b.abs();
                    }
                    // Products overflow in the narrow types.
                    let most = if d.component() == DType::F16 { 65504.0 } else { 3e38 };
                    let near = |got: f64, want: f64| {
                        let scale =
                            if op == ScanOp::Prod { want.abs() * (steps * 1e-7 / epsilon + 4.0) * 2.0 } else { large };
                        got == want
                            || (got.is_nan() && want.is_nan())
                            || (!exact
                                && ((got - want).abs() <= epsilon * scale * 4.0 + 1e-300 || want.abs() * 1.01 > most))
                    };
                    let lost = op == ScanOp::Prod && steps * epsilon > 0.1;
                    if !(lost || near(p, re) && near(q, im)) {
                        return Err(format!("element {i}: {p}, {q} instead of {re}, {im}"));
                    }
                }
                None => {}
            }
        }
    }
    Ok(())
}
