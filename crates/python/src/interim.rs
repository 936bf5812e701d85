//! Interim interpreter device (uncommitted).
#![allow(missing_docs, clippy::all, unused)]
use cuprous_core::{scalar::Number, *};
use cuprous_plan::*;
use std::sync::Arc;
pub struct CpuDevice;
impl CpuDevice { pub fn new() -> Self { CpuDevice } }
struct B(Vec<u128>, usize);
impl Memory for B { fn address(&self) -> u64 { if self.1 == 0 { 0 } else { self.0.as_ptr() as u64 } } fn bytes(&self) -> usize { self.1 } }
struct X(Arc<Program>);
fn ld(a: u64, i: i64, d: DType) -> Number { let mut s = Scalar::default(); unsafe { std::ptr::copy_nonoverlapping((a as i64 + i * d.size() as i64) as *const u8, s.0.as_mut_ptr(), d.size()) }; s.number(d) }
fn st(a: u64, i: i64, d: DType, n: Number) { let s = Scalar::new(n, d); unsafe { std::ptr::copy_nonoverlapping(s.0.as_ptr(), (a as i64 + i * d.size() as i64) as *mut u8, d.size()) } }
fn f(n: Number) -> f64 { match n { Number::Bool(b) => b as u8 as f64, Number::Int(i) => i as f64, Number::Float(x) => x, Number::Complex(r, _) => r } }
fn i(n: Number) -> i128 { match n { Number::Bool(b) => b as i128, Number::Int(i) => i, Number::Float(x) => x as i128, Number::Complex(r, _) => r as i128 } }
fn round(n: Number, d: DType) -> Number { Scalar::new(n, d).number(d) }
fn map(fun: Fun, a: &[Number], cd: DType, out: DType) -> Number {
    let isint = cd.is_int() || cd == DType::Bool;
    let b2 = |x: bool| Number::Bool(x);
    let r = match fun {
        Fun::Cast | Fun::Positive => a[0],
        Fun::Where => if f(a[0]) != 0.0 { a[1] } else { a[2] },
        Fun::Add => if isint { Number::Int(i(a[0]).wrapping_add(i(a[1]))) } else { Number::Float(f(a[0]) + f(a[1])) },
        Fun::Subtract => if isint { Number::Int(i(a[0]) - i(a[1])) } else { Number::Float(f(a[0]) - f(a[1])) },
        Fun::Multiply => if isint { Number::Int(i(a[0]).wrapping_mul(i(a[1]))) } else { Number::Float(f(a[0]) * f(a[1])) },
        Fun::Square => if isint { Number::Int(i(a[0]).wrapping_mul(i(a[0]))) } else { Number::Float(f(a[0]) * f(a[0])) },
        Fun::Divide => Number::Float(f(a[0]) / f(a[1])),
        Fun::FloorDivide => if isint { if i(a[1]) == 0 { Number::Int(0) } else { Number::Int(i(a[0]).div_euclid(i(a[1]))) } } else { Number::Float((f(a[0]) / f(a[1])).floor()) },
        Fun::Remainder => if isint { if i(a[1]) == 0 { Number::Int(0) } else { Number::Int(i(a[0]).rem_euclid(i(a[1]))) } } else { Number::Float(f(a[0]) - (f(a[0]) / f(a[1])).floor() * f(a[1])) },
        Fun::Power => if isint { Number::Int(i(a[0]).wrapping_pow(i(a[1]) as u32)) } else { Number::Float(f(a[0]).powf(f(a[1]))) },
        Fun::Maximum => if isint { Number::Int(i(a[0]).max(i(a[1]))) } else if f(a[0]).is_nan() { a[0] } else if f(a[1]).is_nan() { a[1] } else { Number::Float(f(a[0]).max(f(a[1]))) },
        Fun::Minimum => if isint { Number::Int(i(a[0]).min(i(a[1]))) } else if f(a[0]).is_nan() { a[0] } else if f(a[1]).is_nan() { a[1] } else { Number::Float(f(a[0]).min(f(a[1]))) },
        Fun::Negative => if isint { Number::Int(-i(a[0])) } else { Number::Float(-f(a[0])) },
        Fun::Absolute => if isint { Number::Int(i(a[0]).abs()) } else { Number::Float(f(a[0]).abs()) },
        Fun::Sqrt => Number::Float(f(a[0]).sqrt()), Fun::Exp => Number::Float(f(a[0]).exp()), Fun::Log => Number::Float(f(a[0]).ln()),
        Fun::Sin => Number::Float(f(a[0]).sin()), Fun::Cos => Number::Float(f(a[0]).cos()), Fun::Tanh => Number::Float(f(a[0]).tanh()),
        Fun::Floor => Number::Float(f(a[0]).floor()), Fun::Rint => Number::Float(f(a[0]).round_ties_even()),
        Fun::Equal => b2(if isint { i(a[0]) == i(a[1]) } else { f(a[0]) == f(a[1]) }), Fun::NotEqual => b2(if isint { i(a[0]) != i(a[1]) } else { f(a[0]) != f(a[1]) }),
        Fun::Less => b2(if isint { i(a[0]) < i(a[1]) } else { f(a[0]) < f(a[1]) }), Fun::LessEqual => b2(if isint { i(a[0]) <= i(a[1]) } else { f(a[0]) <= f(a[1]) }),
        Fun::Greater => b2(if isint { i(a[0]) > i(a[1]) } else { f(a[0]) > f(a[1]) }), Fun::GreaterEqual => b2(if isint { i(a[0]) >= i(a[1]) } else { f(a[0]) >= f(a[1]) }),
        Fun::LogicalAnd => b2(f(a[0]) != 0.0 && f(a[1]) != 0.0), Fun::LogicalOr => b2(f(a[0]) != 0.0 || f(a[1]) != 0.0),
        Fun::LogicalXor => b2((f(a[0]) != 0.0) != (f(a[1]) != 0.0)), Fun::LogicalNot => b2(f(a[0]) == 0.0),
        Fun::BitwiseAnd => Number::Int(i(a[0]) & i(a[1])), Fun::BitwiseOr => Number::Int(i(a[0]) | i(a[1])), Fun::BitwiseXor => Number::Int(i(a[0]) ^ i(a[1])), Fun::Invert => Number::Int(!i(a[0])),
        Fun::Isnan => b2(f(a[0]).is_nan()), Fun::Isfinite => b2(f(a[0]).is_finite()), Fun::Isinf => b2(f(a[0]).is_infinite()),
        _ => Number::Float(f64::NAN),
    };
    round(r, out)
}
fn at(a: &Access, idx: &[i64]) -> i64 { a.offset + a.strides.iter().zip(idx).map(|(s, i)| s * i).sum::<i64>() }
impl X {
    fn kernel(&self, k: &Kernel, bufs: &[u64], sc: &[Scalar]) {
        let dims: Vec<i64> = k.outer.iter().chain(&k.inner).copied().collect();
        let no = k.outer.len();
        let (on, inn) = (k.outer_size(), k.inner_size());
        let unr = |mut n: i64, d: &[i64]| { let mut v = vec![0; d.len()]; for q in (0..d.len()).rev() { v[q] = n % d[q].max(1); n /= d[q].max(1); } v };
        for o in 0..on {
            let oi = unr(o, &k.outer);
            let n = k.body.len();
            let mut row: Vec<Number> = vec![Number::Int(0); n];
            let mut full: Vec<Vec<Number>> = vec![Vec::new(); n];
            for (p, t) in k.body.iter().enumerate() {
                let dt = t.dtype;
                let mut ev = |idx: &[i64], get: &dyn Fn(Val) -> Number| -> Number {
                    match &t.inst {
                        Inst::Load { buf, access } => ld(bufs[k.buffers[*buf as usize] as usize], at(access, idx), dt),
                        Inst::Scalar { slot } => sc[*slot as usize].number(dt),
                        Inst::Iota { access } => Number::Int(at(access, idx) as i128),
                        Inst::Map { fun, args } => { let a: Vec<Number> = args.iter().map(|v| get(*v)).collect(); let cd = k.body[args[if *fun == Fun::Where { 1 } else { 0 }] as usize].dtype; map(*fun, &a, cd, dt) }
                        Inst::Gather { buf, len, index } => ld(bufs[k.buffers[*buf as usize] as usize], (i(get(*index)) as i64).rem_euclid(*len), dt),
                        Inst::Store { buf, access, arg } => { let v = get(*arg); st(bufs[k.buffers[*buf as usize] as usize], at(access, idx), dt, v); v }
                        Inst::Scatter { buf, len, index, arg, op } => { let a = bufs[k.buffers[*buf as usize] as usize]; let j = (i(get(*index)) as i64).rem_euclid(*len); let v = get(*arg);
                            let w = match op { ScatterOp::Set => v, ScatterOp::Add => map(Fun::Add, &[ld(a, j, dt), v], dt, dt), ScatterOp::Multiply => map(Fun::Multiply, &[ld(a, j, dt), v], dt, dt), ScatterOp::Maximum => map(Fun::Maximum, &[ld(a, j, dt), v], dt, dt), ScatterOp::Minimum => map(Fun::Minimum, &[ld(a, j, dt), v], dt, dt) }; st(a, j, dt, w); v }
                        Inst::Reduce { .. } => unreachable!(),
                    }
                };
                if let Inst::Reduce { op, arg } = &t.inst {
                    let ad = k.body[*arg as usize].dtype;
                    let vals: Vec<Number> = (0..inn).map(|q| if k.body[*arg as usize].level == Level::Row { row[*arg as usize] } else { full[*arg as usize][q as usize] }).collect();
                    row[p] = match op {
                        ReduceOp::Sum => if ad.is_int() { round(Number::Int(vals.iter().fold(0i128, |s, v| s.wrapping_add(i(*v)))), dt) } else { round(Number::Float(vals.iter().map(|v| f(*v)).sum()), dt) },
                        ReduceOp::Prod => if ad.is_int() { vals.iter().fold(Number::Int(1), |s, v| round(Number::Int(i(s).wrapping_mul(i(*v))), dt)) } else { round(Number::Float(vals.iter().map(|v| f(*v)).product()), dt) },
                        ReduceOp::Max => vals.iter().copied().reduce(|x, y| map(Fun::Maximum, &[x, y], ad, dt)).unwrap_or(Number::Int(0)),
                        ReduceOp::Min => vals.iter().copied().reduce(|x, y| map(Fun::Minimum, &[x, y], ad, dt)).unwrap_or(Number::Int(0)),
                        ReduceOp::ArgMax => { let mut b = 0; for q in 1..vals.len() { if f(vals[q]) > f(vals[b]) || (f(vals[q]).is_nan() && !f(vals[b]).is_nan()) { b = q } } Number::Int(b as i128) }
                        ReduceOp::ArgMin => { let mut b = 0; for q in 1..vals.len() { if f(vals[q]) < f(vals[b]) || (f(vals[q]).is_nan() && !f(vals[b]).is_nan()) { b = q } } Number::Int(b as i128) }
                        ReduceOp::M2 => { let m = vals.iter().map(|v| f(*v)).sum::<f64>() / vals.len() as f64; Number::Float(vals.iter().map(|v| (f(*v) - m).powi(2)).sum()) }
                    };
                } else if t.level == Level::Row { let r = row.clone(); row[p] = ev(&oi, &|v| r[v as usize]); }
                else {
                    let mut out = Vec::with_capacity(inn as usize);
                    for q in 0..inn { let mut idx = oi.clone(); idx.extend(unr(q, &k.inner)); let v = ev(&idx, &|v| if k.body[v as usize].level == Level::Row { row[v as usize] } else { full[v as usize][q as usize] }); out.push(v); }
                    full[p] = out;
                }
            }
        }
    }
}
impl Executable for X {
    fn run(&mut self, bufs: &[u64], sc: &[Scalar], _: bool) -> Result<()> {
        for s in &self.0.steps { match s { Step::Kernel(k) => self.kernel(k, bufs, sc), Step::Call(c) => call(c, bufs)? } }
        Ok(())
    }
}
fn call(c: &Call, bufs: &[u64]) -> Result<()> {
    let idx = |l: &Layout, mut n: i64| { let mut o = l.offset; for q in (0..l.ndim()).rev() { o += n % l.shape[q] * l.strides[q]; n /= l.shape[q]; } o };
    let get = |k: usize, n: i64| ld(bufs[c.ins[k].0 as usize], idx(&c.ins[k].1, n), c.ins[k].1.dtype);
    let o = bufs[c.out.0 as usize]; let d = c.out.1.dtype; let sh = &c.out.1.shape;
    match &c.op {
        CallOp::Dot => { let n = sh.len(); let (m, nn) = (sh[n-2], sh[n-1]); let k = c.ins[0].1.shape[n-1]; let b: i64 = sh[..n-2].iter().product();
            for q in 0..b { for r in 0..m { for s in 0..nn { let mut acc = Number::Int(0); for t in 0..k { let p = map(Fun::Multiply, &[get(0, (q*m+r)*k+t), get(1, (q*k+t)*nn+s)], d, d); acc = map(Fun::Add, &[acc, p], d, d); } st(o, (q*m+r)*nn+s, d, acc); } } } }
        CallOp::Scan { op, axis } => { let a = *axis as usize; let inner: i64 = sh[a+1..].iter().product(); let n = sh[a]; let outer: i64 = sh[..a].iter().product(); let fun = [Fun::Add, Fun::Multiply, Fun::Maximum, Fun::Minimum][*op as usize];
            for x in 0..outer { for z in 0..inner { let mut acc = None; for y in 0..n { let p = (x*n+y)*inner+z; let v = get(0, p); let w = match acc { None => v, Some(q) => map(fun, &[q, v], d, d) }; st(o, p, d, w); acc = Some(w); } } } }
        CallOp::Sort | CallOp::ArgSort => { let n = *sh.last().unwrap(); for r in 0..c.out.1.size / n { let mut v: Vec<(Number, i64)> = (0..n).map(|q| (get(0, r*n+q), q)).collect(); v.sort_by(|x, y| { let (x, y) = (f(x.0), f(y.0)); x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan())) }); for q in 0..n { st(o, r*n+q, d, if c.op == CallOp::Sort { v[q as usize].0 } else { Number::Int(v[q as usize].1 as i128) }) } } }
        CallOp::SearchSorted { right } => { let n = c.ins[0].1.size; for q in 0..c.out.1.size { let v = f(get(1, q)); let p = (0..n).filter(|&t| if *right { f(get(0, t)) <= v } else { f(get(0, t)) < v }).count(); st(o, q, d, Number::Int(p as i128)); } }
        _ => return Err(Error::not_implemented("interim")),
    }
    Ok(())
}
impl Device for CpuDevice {
    fn name(&self) -> &'static str { "cpu" }
    fn alloc(&self, bytes: usize) -> Result<Buffer> { if bytes > 8 << 30 { return Err(Error::memory("too big")); } Ok(Arc::new(B(vec![0; bytes.div_ceil(16)], bytes))) }
    fn upload(&self, from: &[u8], to: u64) -> Result<()> { unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u8, from.len()) }; Ok(()) }
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> { unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) }; Ok(()) }
    fn synchronize(&self) -> Result<()> { Ok(()) }
    fn compile(&self, p: &Arc<Program>) -> Result<Box<dyn Executable>> { Ok(Box::new(X(p.clone()))) }
    fn source(&self, p: &Program) -> Result<String> { Ok(format!("{p:#?}")) }
    fn memory(&self) -> Vec<(&'static str, u64)> { Vec::new() }
    fn set_memory_limit(&self, _: u64) -> Result<()> { Ok(()) }
}
