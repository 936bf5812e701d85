//! Convolutions by cuDNN.

use std::fmt;

use cuprous_core::RoutineOp;
use cuprous_core::convolution::Part;
use cuprous_plan::RoutineCall;

use super::{Routine, Run};
use crate::cache::CacheKey;
use crate::cudnn::Convolution;
use crate::driver::{DevPtr, Event, Stream, memset_async};
use crate::error::Result;
use crate::gpu::Gpu;
use crate::modules::compile_options;
use crate::nvrtc;

/// One product; operands as (buffer, byte offset).
pub(super) struct Product {
    problem: Convolution,
    ins: [(u32, u64); 2],
    out: u32,
}

/// A product of a convolution.
pub(super) fn product(call: &RoutineCall) -> Option<Product> {
    let RoutineOp::Convolve(part, geometry) = &call.op else { return None };
    let [(_, a), (_, b)] = call.ins.as_slice() else { return None };
    if !(a.is_c_contiguous() && b.is_c_contiguous() && Convolution::known(geometry)) {
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

/// Bytes of operands and result from which on engines are measured: the library's own guess can be off by far.
const MEASURED: usize = 512 << 10;
/// Share of the favourite's time that another must stay below.
const CLEARLY: f32 = 0.9;

impl Product {
    /// Bytes of the operands and of the result.
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

    /// Takes the fastest engine, measured once for each machine: what was found is kept with the compiled kernels, so
    /// that other processes compute the same bits.
    fn measure(&self, gpu: &Gpu, rivals: usize) -> Result<()> {
        let version = gpu.with_dnn(|dnn| Ok(dnn.version()))?;
        let sms = gpu.arch.sms;
        let name = format!("cuDNN {version}, {rivals} engines for {:?} on {sms} multiprocessors", self.problem);
        let key = CacheKey::new(&name, &compile_options(&gpu.target), &nvrtc::identity()?);
        let known = gpu.cache.get(&key).and_then(|bytes| bytes.first().copied());
        let best = match known {
            Some(best) => usize::from(best),
            None => {
                let mut held = Vec::new();
                let best = self.race(gpu, rivals, &mut held);
                held.into_iter().for_each(|address| gpu.free(address));
                // Without the memory for it, the library's favourite stays.
                let best = best.unwrap_or(0);
                gpu.cache.put(&key, &[best as u8]);
                best
            }
        };
        gpu.with_dnn(|dnn| {
            dnn.take(&self.problem, best)?;
            dnn.settle(&self.problem);
            Ok(())
        })
    }

    fn race(&self, gpu: &Gpu, rivals: usize, held: &mut Vec<DevPtr>) -> Result<usize> {
        for bytes in self.sizes() {
            let block = gpu.alloc(bytes)?;
            held.push(block);
            if bytes > 0 {
                // SAFETY: the block was just allocated with that size.
                unsafe { memset_async(block, 0, bytes, &gpu.stream)? };
            }
        }
        let operands = [held[0], held[1], held[2]];
        let mut best = (f32::INFINITY, 0);
        for rival in 0..rivals {
            let time = || -> Result<f32> {
                let workspace = gpu.alloc(gpu.with_dnn(|dnn| dnn.take(&self.problem, rival))?)?;
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
            // One that fails is not taken.
            let ms = time().unwrap_or(f32::INFINITY);
            if ms < best.0 * CLEARLY {
                best = (ms, rival);
            }
        }
        Ok(best.1)
    }
}

impl Routine for Product {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        let rivals = gpu.with_dnn(|dnn| dnn.rivals(&self.problem))?;
        if rivals > 1 && self.sizes().iter().sum::<usize>() >= MEASURED {
            self.measure(gpu, rivals)?;
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
