//! Rates of the machine: launches, memory, threads and copies.

use std::time::Instant;

use cuprous_advisor::rates::{Copies, Rates};
use cuprous_advisor::{Group, Load};
use cuprous_core::{Array, DType, Fun, ReduceOp, Result};

use super::Bench;

impl Bench<'_> {
    /// Measures the seconds of a program without its kernels, and those of each kernel's launch.
    pub(super) fn launches(&self) -> Result<(f64, f64)> {
        let a = self.random(DType::F32, &[4, 4], 1.0)?;
        let run = |iterations: usize| -> Result<(f64, f64)> {
            let steps = self.kernels_of(&a, iterations)?;
            Ok((self.time(|| self.dependent(&a, iterations))?, steps as f64))
        };
        let ((short, few), (long, many)) = (run(2)?, run(22)?);
        let launch = ((long - short) / (many - few).max(1.0)).max(1e-8);
        Ok(((short - few * launch).max(1e-7), launch))
    }

    /// Records small kernels, each of which needs all of the result before: reductions of rows and of columns alternate.
    fn dependent(&self, a: &Array, iterations: usize) -> Result<Vec<Array>> {
        let mut y = a.clone();
        for k in 0..iterations {
            let most = self.engine.reduce(ReduceOp::Max, &y, 1 << (k % 2))?;
            let column = if k % 2 == 1 { most.layout.reshape(&[4, 1]) } else { None };
            let most = column.map_or(most.clone(), |layout| most.view(layout));
            y = self.both(Fun::Subtract, &y, &most)?;
        }
        Ok(vec![y])
    }

    /// Returns the number of kernels of such a program. Its first results are given up before they are computed.
    fn kernels_of(&self, a: &Array, iterations: usize) -> Result<usize> {
        let before = self.engine.stats().steps;
        drop(self.dependent(a, iterations)?);
        let kept = self.dependent(a, iterations)?;
        self.engine.synchronize()?;
        drop(kept);
        Ok((self.engine.stats().steps - before) as usize)
    }

    /// Measures the number of kernels from which a program is faster as a graph, and sets it. It is larger than any
    /// program if graphs of up to 200 kernels are slower.
    pub(super) fn graph_threshold(&self) -> Result<usize> {
        let (device, a) = (&self.engine.device, self.random(DType::F32, &[4, 4], 1.0)?);
        let mut found = usize::MAX;
        for iterations in [1, 2, 3, 5, 8, 12, 20, 40, 100] {
            let kernels = self.kernels_of(&a, iterations)?;
            let time = |threshold: usize| {
                device.set_graph_threshold(threshold);
                self.time(|| self.dependent(&a, iterations))
            };
            if time(0)? < time(usize::MAX)? {
                found = kernels;
                break;
            }
        }
        device.set_graph_threshold(found);
        Ok(found)
    }

    /// Measures bytes per second, read plus written, of arrays that fill half of a cache; of memory if `bytes` is zero.
    pub(super) fn bandwidth(&self, bytes: f64) -> Result<f64> {
        let copy = |n: i64| -> Result<f64> {
            let a = self.random(DType::F32, &[n.max(64)], 1.0)?;
            let several = if self.gpu { 8 } else { 1 };
            let run = || {
                (0..several)
                    .map(|_| self.with(Fun::Add, &a, 1.0).and_then(|y| self.engine.flush().map(|()| y)))
                    .collect()
            };
            Ok(self.time(run)? / f64::from(several))
        };
        if bytes == 0.0 {
            let n = if self.quick {
                1 << 18
            } else if self.gpu {
                1 << 28
            } else {
                1 << 25
            };
            return Ok(8.0 * n as f64 / copy(n)?);
        }
        let n = (bytes / 2.0 / 8.0) as i64;
        let (small, large) = (copy(n / 4)?, copy(n)?);
        Ok(6.0 * n as f64 / (large - small).max(1e-9))
    }

    /// Measures the fixed seconds that it takes to share work among threads.
    pub(super) fn parallel_overhead(&self, rates: &Rates) -> Result<f64> {
        let n = 1 << 17;
        let a = self.random(DType::F32, &[n], 1.0)?;
        let taken = self.time(|| Ok(vec![self.with(Fun::Add, &a, 1.0)?]))?;
        let bytes = 8.0 * n as f64;
        let known = Load {
            demands: vec![cuprous_advisor::Demand { what: "add", group: Group::F32, amount: n as f64 }],
            read: bytes / 2.0,
            written: bytes / 2.0,
            footprint: bytes,
            loops: 1.0,
            ..Load::default()
        };
        Ok((taken - rates.program - rates.span(&known).total()).max(0.0))
    }

    /// Measures the speedup of all threads over one, with the same chain on arrays too short to be shared.
    pub(super) fn parallel_speedup(&self, rates: &Rates) -> Result<f64> {
        let lengths = [2, 14];
        let slope = |n: i64| -> Result<f64> {
            let x = self.random(DType::F32, &[n], 2.0)?;
            let chain = |length: usize| {
                self.time(|| {
                    let mut y = x.clone();
                    for _ in 0..length {
                        y = self.with(Fun::Add, &self.both(Fun::Multiply, &y, &x)?, 1.0)?;
                    }
                    Ok(vec![y])
                })
            };
            Ok(chain(lengths[1])? - chain(lengths[0])?)
        };
        // Recording takes longer than computing here. A chain on a few elements measures it.
        let [few, many] = [16, 1 << 11];
        let seconds = (slope(many)? - slope(few)?) / (2 * (lengths[1] - lengths[0])) as f64 / (many - few) as f64;
        let ratio = seconds * rates.rate("add", Group::F32);
        Ok(ratio.clamp(1.0, rates.threads))
    }

    /// Measures copies between host and device.
    pub(super) fn copies(&self, pinned: Option<[f64; 2]>) -> Result<Copies> {
        let rate = |bytes: usize| -> Result<[f64; 2]> {
            let mut host = vec![1u8; bytes];
            let there = self.engine.upload(&host, DType::U8, &[bytes as i64])?;
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            };
            let (mut up, mut down) = (Vec::new(), Vec::new());
            for _ in 0..7 {
                let start = Instant::now();
                let copy = self.engine.upload(&host, DType::U8, &[bytes as i64])?;
                self.engine.synchronize()?;
                up.push(start.elapsed().as_secs_f64());
                drop(copy);
                let start = Instant::now();
                self.engine.download(&there, &mut host)?;
                down.push(start.elapsed().as_secs_f64());
            }
            Ok([median(&mut up), median(&mut down)])
        };
        const LARGE: usize = 64 << 20;
        let (tiny, large) = (rate(4)?, rate(LARGE)?);
        let latency = tiny[0].max(tiny[1]);
        let [up, down] = large.map(|t| LARGE as f64 / (t - latency).max(1e-9));
        let [up_pinned, down_pinned] = pinned.unwrap_or([up, down]);
        Ok(Copies { up, down, up_pinned, down_pinned, latency })
    }
}
