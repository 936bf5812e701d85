//! Convolutions by cuDNN.

use std::fmt;

use cuprous_core::RoutineOp;
use cuprous_core::convolution::Part;
use cuprous_plan::RoutineCall;

use super::{Routine, Run};
use crate::cache::CacheKey;
use crate::compiler;
use crate::cudnn::Convolution;
use crate::driver::{DevPtr, Event, Stream, memset_async};
use crate::error::Result;
use crate::gpu::Gpu;
use crate::modules::compile_options;

/// One product of a convolution; operands as (buffer, byte offset).
pub(super) struct Product {
    problem: Convolution,
    ins: [(u32, u64); 2],
    out: u32,
}

/// Plans a product of a convolution. `None` if cuDNN cannot describe it.
pub(super) fn product(call: &RoutineCall) -> Option<Product> {
    let RoutineOp::Convolve(part, geometry) = &call.op else { return None };
    let [(_, a), (_, b)] = call.ins.as_slice() else { return None };
    if !(a.is_c_contiguous() && b.is_c_contiguous() && Convolution::is_supported(geometry)) {
        return None;
    }
    let problem = Convolution { part: *part, geometry: geometry.clone() };
    let at = |k: usize| {
        let (buffer, layout) = &call.ins[k];
        (*buffer, layout.offset as u64 * layout.dtype.size() as u64)
    };
    Some(Product { problem, ins: [at(0), at(1)], out: call.out.0 })
}

impl Product {
    fn operands(&self, run: Run) -> [DevPtr; 3] {
        let at = |(buffer, offset): (u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        [at(self.ins[0]), at(self.ins[1]), at((self.out, 0))]
    }
}

/// Engines are measured from this many bytes of operands and result on, because the library's own choice can be far
/// off.
const MIN_MEASURED_BYTES: usize = 512 << 10;
/// An engine replaces the best one so far only if it takes less than this share of its time.
const WINNING_RATIO: f32 = 0.9;

impl Product {
    /// Returns the sizes of the operands and the result in bytes.
    fn sizes(&self) -> [usize; 3] {
        let Convolution { part, geometry: g } = &self.problem;
        let bytes = |n: i64, rest: &[i64]| (n * rest.iter().product::<i64>()) as usize * g.dtype.size();
        let x = bytes(g.images * g.inputs, &g.input);
        let y = bytes(g.images * g.outputs, &g.output);
        let w = bytes(g.outputs * (g.inputs / g.groups), &g.kernel);
        match part {
            Part::Output => [x, w, y],
            Part::Input => [y, w, x],
            Part::Weight => [y, x, w],
        }
    }

    /// Selects the fastest engine, measured once for each machine. The choice is kept in the cache of compiled kernels,
    /// so that other processes compute the same bits.
    fn measure(&self, gpu: &Gpu, candidates: usize) -> Result<()> {
        let version = gpu.with_dnn(|dnn| Ok(dnn.version()))?;
        let sms = gpu.arch.sms;
        let name = format!("cuDNN {version}, {candidates} engines for {:?} on {sms} multiprocessors", self.problem);
        let key = CacheKey::new(&name, &compile_options(&gpu.target), &compiler::identity(&gpu.target)?);
        let known = gpu.cache.get(&key).and_then(|bytes| bytes.first().copied());
        let best = match known {
            Some(best) => usize::from(best),
            None => {
                let mut allocated = Vec::new();
                let best = self.benchmark(gpu, candidates, &mut allocated);
                allocated.into_iter().for_each(|address| gpu.free(address));
                // Without memory for the measurement, the library's first choice is used.
                let best = best.unwrap_or(0);
                gpu.cache.put(&key, &[best as u8]);
                best
            }
        };
        gpu.with_dnn(|dnn| {
            dnn.select(&self.problem, best)?;
            dnn.finish_measuring(&self.problem);
            Ok(())
        })
    }

    /// Times each candidate and returns the fastest. `allocated` receives the blocks to free.
    fn benchmark(&self, gpu: &Gpu, candidates: usize, allocated: &mut Vec<DevPtr>) -> Result<usize> {
        for bytes in self.sizes() {
            let block = gpu.alloc(bytes)?;
            allocated.push(block);
            if bytes > 0 {
                // SAFETY: the block was just allocated with that size.
                unsafe { memset_async(block, 0, bytes, &gpu.stream)? };
            }
        }
        let operands = [allocated[0], allocated[1], allocated[2]];
        let mut best = (f32::INFINITY, 0);
        for candidate in 0..candidates {
            let time = || -> Result<f32> {
                let workspace = gpu.alloc(gpu.with_dnn(|dnn| dnn.select(&self.problem, candidate))?)?;
                // SAFETY: the blocks have the sizes of the problem.
                let run = || gpu.with_dnn(|dnn| unsafe { dnn.run(&self.problem, operands, workspace, &gpu.stream) });
                let measured = run().and_then(|()| {
                    let (start, end) = (Event::with_timing(gpu.context)?, Event::with_timing(gpu.context)?);
                    start.record(&gpu.stream)?;
                    run().and_then(|()| run())?;
                    end.record(&gpu.stream)?;
                    end.synchronize()?;
                    end.elapsed_ms(&start)
                });
                gpu.free(workspace);
                measured
            };
            // An engine that fails is not selected.
            let ms = time().unwrap_or(f32::INFINITY);
            if ms < best.0 * WINNING_RATIO {
                best = (ms, candidate);
            }
        }
        Ok(best.1)
    }
}

impl Routine for Product {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        let candidates = gpu.with_dnn(|dnn| dnn.candidates(&self.problem))?;
        if candidates > 1 && self.sizes().iter().sum::<usize>() >= MIN_MEASURED_BYTES {
            self.measure(gpu, candidates)?;
        }
        gpu.with_dnn(|dnn| dnn.workspace(&self.problem))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let operands = self.operands(run);
        // SAFETY: the plan's buffers are live for the run and have the shapes of the problem.
        gpu.with_dnn(|dnn| unsafe { dnn.run(&self.problem, operands, workspace, stream) })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other) && one.scratch == other.scratch
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Convolution { part, geometry: g } = &self.problem;
        write!(f, "cuDNN: {part:?}, {} × {} → {} channels, kernel {:?}", g.images, g.inputs, g.outputs, g.kernel)
    }
}
