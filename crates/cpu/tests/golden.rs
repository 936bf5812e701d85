//! Compares every scalar function with values of NumPy and SciPy (golden.txt, written by golden.py).

mod common;
use common::*;
use cuprous_core::{DType, Fun, Kind};

fn hex(s: &str) -> Vec<u8> {
    (0..s.len() / 2).map(|i| u8::from_str_radix(&s[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// Returns the components of an element as float64, and one ulp of each in the element's type.
fn parts(bytes: &[u8], d: DType) -> Vec<(f64, f64)> {
    let ulp = |v: f64, digits: i32, least: i32| {
        let e = if v == 0.0 || !v.is_finite() { least } else { (v.abs().log2().floor() as i32 - digits).max(least) };
        f64::from(e).exp2()
    };
    match d {
        DType::F16 => {
            let v = half_to_f64(u16::from_le_bytes([bytes[0], bytes[1]]));
            vec![(v, ulp(v, 10, -24))]
        }
        DType::F32 | DType::C64 => {
            f32::read(bytes).iter().map(|&v| (f64::from(v), ulp(f64::from(v), 23, -149))).collect()
        }
        _ => f64::read(bytes).iter().map(|&v| (v, ulp(v, 52, -1074))).collect(),
    }
}

fn half_to_f64(b: u16) -> f64 {
    let (e, m) = (i32::from(b >> 10 & 31), f64::from(b & 0x3ff));
    let v = match e {
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
    if b >> 15 == 1 { -v } else { v }
}

/// Returns the allowed error in ulps. Functions that are not listed must be exact.
fn allowed(fun: Fun, d: DType) -> f64 {
    use Fun::*;
    let f64ish = d == DType::F64;
    match fun {
        _ if d.is_complex() => match fun {
            Equal | Less | LessEqual | Maximum | Minimum | Fmax | Fmin | Negative | Conjugate => 0.0,
            _ => f64::INFINITY, // by norm, see `complex_fits`
        },
        Exp | Exp2 | Log | Sin | Cos => 1.6,
        Sqrt | Add | Subtract | Multiply | Divide | Reciprocal | Square | Fmod | Remainder | FloorDivide => 0.0,
        Expm1 | Log1p | Log2 | Log10 | Cbrt | Hypot | Arctan2 => 2.5,
        Tan | Arcsin | Arccos | Arctan | Sinh | Cosh | Tanh | Arcsinh | Arccosh | Arctanh | Expit => 4.0,
        Power | Logaddexp | Logaddexp2 | Degrees | Radians => 2.5,
        Erf => 4.0,
        // This includes SciPy's own errors.
        Erfc | Ndtr | Erfinv | Sinc if f64ish => 400.0,
        Gamma | Gammaln | Digamma | I0 => 200.0,
        _ => 0.0,
    }
}

fn complex_fits(got: &[(f64, f64)], want: &[(f64, f64)], fun: Fun) -> bool {
    let same = |g: f64, w: f64| g == w || g.is_nan() && w.is_nan();
    if got.iter().chain(want).any(|(v, _)| !v.is_finite()) {
        return got.iter().zip(want).all(|(g, w)| {
            same(g.0, w.0) || (g.0.is_finite() && w.0.is_finite() && (g.0 - w.0).abs() < 1e-12 * w.0.abs().max(1e-300))
        });
    }
    let norm = want.iter().map(|(v, _)| v * v).sum::<f64>().sqrt();
    let bound = match fun {
        Fun::Power => 1e-12,
        Fun::Log1p => 1e-9, // NumPy's own error near 0
        _ => 2e-14,
    };
    // Signs matter only where a part is large enough to have one.
    got.iter().zip(want).all(|(g, w)| (g.0 - w.0).abs() <= bound * norm.max(1e-300))
}

#[test]
fn scalar_functions_agree_with_numpy() {
    let text = include_str!("golden.txt");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap();
        let (name, from, to) = (word(), word(), word());
        let fun = Fun::from_name(name).unwrap_or_else(|| panic!("{name}"));
        let (d, out) = (DType::from_name(from).unwrap(), DType::from_name(to).unwrap());
        let cases: Vec<Vec<Vec<u8>>> = words.map(|c| c.split(';').map(hex).collect()).collect();
        if cases.is_empty() {
            continue;
        }
        let (n, arity) = (cases.len(), cases[0].len() - 1);
        let mut data: Vec<Vec<u8>> = (0..arity).map(|k| cases.iter().flat_map(|c| c[k].clone()).collect()).collect();
        data.push(vec![0xee; n * out.size()]);
        let mut b = KernelBuilder::new(&[n as i64], &[]);
        let args: Vec<u16> = (0..arity).map(|k| b.load(k as u32, d, &[1])).collect();
        let v = b.map(fun, out, &args);
        b.store(arity as u32, out, &[1], v);
        run(vec![b.step()], &mut data, &[]).unwrap_or_else(|e| panic!("{name} {from} {to}: {e}"));
        let got = data.last().unwrap();
        let mut worst: f64 = 0.0;
        for (i, case) in cases.iter().enumerate() {
            let g = &got[i * out.size()..][..out.size()];
            let w = &case[arity];
            if g == w {
                continue;
            }
            let floating = matches!(out.kind(), Kind::Float | Kind::Complex);
            let fits = floating && {
                let (gp, wp) = (parts(g, out), parts(w, out));
                let limit = allowed(fun, d);
                if d.is_complex() && limit.is_infinite() {
                    complex_fits(&gp, &wp, fun)
                } else {
                    gp.iter().zip(&wp).all(|(&(g, _), &(w, ulp))| {
                        worst = worst.max(if g.is_finite() && w.is_finite() { (g - w).abs() / ulp } else { 0.0 });
                        g.is_nan() && w.is_nan()
                            || g == w && g.is_sign_negative() == w.is_sign_negative()
                            || g == w && fun == Fun::Maximum
                            || g == w && fun == Fun::Minimum
                            || g == w && matches!(fun, Fun::Fmax | Fun::Fmin)
                            || (g - w).abs() <= limit * ulp
                    })
                }
            };
            if !fits {
                let show = |b: &[u8], d: DType| match d.kind() {
                    Kind::Float | Kind::Complex => format!("{:?}", parts(b, d).iter().map(|p| p.0).collect::<Vec<_>>()),
                    _ => format!("{b:?}"),
                };
                let ins: Vec<_> = case[..arity].iter().map(|b| show(b, d)).collect();
                wrong.push(format!(
                    "{name} {from}->{to}({}): {} but NumPy {}",
                    ins.join(", "),
                    show(g, out),
                    show(w, out)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(400)].join("\n"));
}
