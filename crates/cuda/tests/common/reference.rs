//! Interprets a kernel one element at a time in float64, as a reference for generated code.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, ReduceOp, Scalar, ScatterOp};
use cuprous_plan::{Access, Inst, Kernel, Level, Val};

/// Returns element `at` of a buffer.
pub fn get(bytes: &[u8], at: i64, d: DType) -> f64 {
    let (from, size) = (at as usize * d.size(), d.size());
    let mut all = [0; 16];
    all[..size].copy_from_slice(&bytes[from..from + size]);
    match Scalar(all).number(d) {
        Number::Bool(b) => f64::from(u8::from(b)),
        Number::Int(i) => i as f64,
        Number::Float(x) => x,
        Number::Complex(..) => panic!("the reference does not support complex numbers"),
    }
}

/// Sets element `at`.
pub fn set(bytes: &mut [u8], at: i64, d: DType, x: f64) {
    let (from, size) = (at as usize * d.size(), d.size());
    let n = if d.is_float() { Number::Float(x) } else { Number::Int(x as i128) };
    bytes[from..from + size].copy_from_slice(&Scalar::new(n, d).0[..size]);
}

fn element(a: &Access, index: &[i64]) -> i64 {
    a.offset + a.strides.iter().zip(index).map(|(s, i)| s * i).sum::<i64>()
}

fn apply(fun: Fun, to: DType, x: &[f64]) -> f64 {
    match fun {
        Fun::Add => x[0] + x[1],
        Fun::Subtract => x[0] - x[1],
        Fun::Multiply => x[0] * x[1],
        Fun::Divide => x[0] / x[1],
        Fun::Exp => x[0].exp(),
        Fun::Rsqrt => 1.0 / x[0].sqrt(),
        Fun::Where => {
            if x[0] != 0.0 {
                x[1]
            } else {
                x[2]
            }
        }
        Fun::Equal => f64::from(u8::from(x[0] == x[1])),
        Fun::Cast if to.is_int() => x[0].trunc(),
        Fun::Cast => x[0],
        _ => panic!("the reference does not support {fun:?}"),
    }
}

fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for &n in shape {
        all = all.iter().flat_map(|i| (0..n).map(move |k| [i.as_slice(), &[k]].concat())).collect();
    }
    all
}

/// Runs a kernel, whose buffer `i` is `buffers[i]`.
pub fn run(kernel: &Kernel, buffers: &mut [Vec<u8>], scalars: &[Scalar]) {
    let inner = indices(&kernel.inner);
    let before: Vec<Vec<u8>> = buffers.to_vec();
    for row in indices(&kernel.outer) {
        let mut reduced: Vec<Option<f64>> = vec![None; kernel.body.len()];
        let count = kernel.body.iter().filter(|t| matches!(t.inst, Inst::Reduce { .. })).count();
        // Each iteration finishes at least one reduction; the last one writes.
        for iteration in 0..=count {
            let mut values: Vec<Vec<f64>> = vec![Vec::new(); kernel.body.len()];
            for column in &inner {
                let index = [row.as_slice(), column].concat();
                let mut v: Vec<f64> = Vec::new();
                for (i, t) in kernel.body.iter().enumerate() {
                    let at = |a: &Access| element(a, if t.level == Level::Row { &row } else { &index });
                    let arg = |a: Val| v[a as usize];
                    let x = match &t.inst {
                        Inst::Load { buf, access } => get(&before[*buf as usize], at(access), t.dtype),
                        Inst::Scalar { slot } => get(&scalars[*slot as usize].0, 0, t.dtype),
                        Inst::Iota { access } => at(access) as f64,
                        Inst::Map { fun, args } => {
                            let x: Vec<f64> = args.iter().map(|&a| arg(a)).collect();
                            apply(*fun, t.dtype, &x)
                        }
                        Inst::Gather { buf, len, index } => {
                            get(&before[*buf as usize], (arg(*index) as i64).rem_euclid(*len), t.dtype)
                        }
                        Inst::Reduce { .. } => reduced[i].unwrap_or(f64::NAN),
                        Inst::Store { buf, access, arg: a } => {
                            if iteration == count {
                                set(&mut buffers[*buf as usize], at(access), t.dtype, arg(*a));
                            }
                            0.0
                        }
                        Inst::Scatter { buf, len, index, arg: a, op } => {
                            let b = &mut buffers[*buf as usize];
                            let to = (arg(*index) as i64).rem_euclid(*len);
                            let (old, x) = (get(b, to, t.dtype), arg(*a));
                            let y = match op {
                                ScatterOp::Set => x,
                                ScatterOp::Add => old + x,
                                ScatterOp::Multiply => old * x,
                                ScatterOp::Maximum => old.max(x),
                                ScatterOp::Minimum => old.min(x),
                            };
                            if iteration == count {
                                set(b, to, t.dtype, y);
                            }
                            0.0
                        }
                    };
                    v.push(x);
                }
                for (i, x) in v.into_iter().enumerate() {
                    values[i].push(x);
                }
            }
            for (i, t) in kernel.body.iter().enumerate() {
                if let Inst::Reduce { op, arg } = t.inst {
                    reduced[i] = Some(reduce(op, &values[arg as usize]));
                }
            }
        }
    }
}

fn reduce(op: ReduceOp, x: &[f64]) -> f64 {
    let first = |better: &dyn Fn(f64, f64) -> bool| {
        let mut best = 0;
        for i in 1..x.len() {
            if better(x[i], x[best]) || x[i].is_nan() && !x[best].is_nan() {
                best = i;
            }
        }
        best
    };
    match op {
        ReduceOp::Sum => x.iter().sum(),
        ReduceOp::Prod => x.iter().product(),
        ReduceOp::Max => x[first(&|a, b| a > b)],
        ReduceOp::Min => x[first(&|a, b| a < b)],
        ReduceOp::ArgMax => first(&|a, b| a > b) as f64,
        ReduceOp::ArgMin => first(&|a, b| a < b) as f64,
        ReduceOp::M2 => {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            x.iter().map(|v| (v - mean) * (v - mean)).sum()
        }
    }
}
