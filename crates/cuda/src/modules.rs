//! Turns CUDA C++ into loaded kernels: from memory, from the disk cache, or compiled by NVRTC in parallel.

use std::collections::HashSet;
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};

use foldhash::fast::RandomState;

use crate::cache::CacheKey;
use crate::codegen::{Options, Stage, Vendor};
use crate::compiler;
use crate::driver::{Function, Module};
use crate::error::Result;
use crate::gpu::{Counters, Gpu, lock};
use crate::nvrtc::{self, CompileOptions};
use crate::templates::Source;

/// NVRTC's options for generated kernels.
pub(crate) fn compile_options(target: &str) -> CompileOptions {
    let mut nvrtc_options = CompileOptions::new(target);
    for flag in Options::default().compiler_flags() {
        match flag.strip_prefix("--fmad=") {
            Some(value) => nvrtc_options.fmad = value == "true",
            None => nvrtc_options.extra.push((*flag).into()),
        }
    }
    nvrtc_options
}

/// Returns the functions of `stages`. Those that are not loaded yet are compiled in parallel. `progress` is called with
/// the number of compiled kernels and the number of all that are compiled.
pub(crate) fn load(gpu: &Gpu, stages: &[&Stage], progress: &mut dyn FnMut(usize, usize)) -> Result<Vec<Function>> {
    let sources: Vec<Source> = stages.iter().map(|stage| Source::of(stage)).collect();
    let mut missing: Vec<usize> = Vec::new();
    {
        let loaded = lock(&gpu.kernels);
        let mut distinct: HashSet<&Source, RandomState> = HashSet::default();
        missing
            .extend((0..sources.len()).filter(|&k| !loaded.contains_key(&sources[k]) && distinct.insert(&sources[k])));
    }
    let compiled = |&k: &usize| {
        let stage = stages[k];
        cubin(gpu, &stage.source(), &stage.name, &compile_options(&stage.target(&gpu.target)))
    };
    let cubins = in_parallel(&missing, compiled, progress);
    let mut loaded = lock(&gpu.kernels);
    for (&k, cubin) in missing.iter().zip(cubins) {
        let module = Module::load(gpu.context, &cubin?)?;
        Counters::add(&gpu.counters.modules_loaded, 1);
        let name = CString::new(&*stages[k].name).unwrap_or_default();
        let function = module.function(&name)?;
        loaded.insert(sources[k].clone(), (function, module));
    }
    stages
        .iter()
        .zip(&sources)
        .map(|(stage, source)| {
            let function = loaded[source].0;
            // More than 48 KiB, static shared memory included, must be requested.
            if stage.shared > 16 << 10 {
                function.set_max_dynamic_shared(stage.shared)?;
            }
            Ok(function)
        })
        .collect()
}

/// Maps `items` by `work` on all processors, keeping their order. `progress` is called with the number of items that
/// are done and the number of all.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<R> {
    if items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let (done, finished) = mpsc::channel();
    let workers = std::thread::available_parallelism().map_or(4, |n| n.get()).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (done, next, work) = (done.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let _receiver_may_be_gone = done.send((at, work(item)));
                }
            });
        }
        drop(done);
        let mut results: Vec<(usize, R)> = Vec::with_capacity(items.len());
        for result in finished {
            results.push(result);
            progress(results.len(), items.len());
        }
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    })
}

/// Returns the cubin of a source, from the cache if it is there, else compiled.
pub(crate) fn cubin(gpu: &Gpu, source: &str, name: &str, options: &CompileOptions) -> Result<Arc<[u8]>> {
    let key = CacheKey::new(source, options, &compiler::identity(&options.arch)?);
    if let Some(cubin) = gpu.cache.get(&key) {
        Counters::add(&gpu.counters.kernels_from_disk, 1);
        return Ok(cubin);
    }
    Counters::add(&gpu.counters.kernels_compiled, 1);
    let cubin = match gpu.arch.vendor {
        Vendor::Amd => compiler::compile(source, name, options)?.cubin,
        Vendor::Nvidia => {
            // A device newer than NVRTC gets code for the newest compatible target that NVRTC supports.
            let best = nvrtc::best_arch((gpu.arch.major, gpu.arch.minor))?;
            let arch = if options.arch.ends_with('a') { best + "a" } else { best };
            compiler::compile(source, name, &CompileOptions { arch, ..options.clone() })?.cubin
        }
    };
    gpu.cache.put(&key, &cubin);
    Ok(cubin.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_results_keep_their_order_and_progress_is_reported() {
        let items: Vec<usize> = (0..100).collect();
        let mut reported = Vec::new();
        let squares = in_parallel(&items, |&k| k * k, &mut |done, all| reported.push((done, all)));
        assert_eq!(squares, items.iter().map(|k| k * k).collect::<Vec<_>>());
        assert_eq!(reported, (1..=100).map(|done| (done, 100)).collect::<Vec<_>>());
        assert!(in_parallel(&items[..0], |&k| k, &mut |_, _| ()).is_empty());
    }
}
