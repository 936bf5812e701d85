//! User kernels as native code.
//!
//! Functions that a kernel calls are inlined, and grid-stride loops are unrolled by a few iterations. A kernel becomes
//! one function that loops over a block's threads from one barrier to the next ([`regions`]). It runs several threads
//! at once as vectors where possible ([`wide_stmt`]), and several rows at once where that keeps vector units or memory
//! busy ([`rows`]). If not all threads reach the same barriers, or if threads wait for others of their warp or grid,
//! the kernel becomes the function of one thread, and each thread of a block is a coroutine ([`coroutines`]). Blocks
//! are distributed over the cores. One core runs a complete block, so shared memory and warps belong to that core, and
//! only atomic operations on global memory have to be atomic.

mod address;
mod bounds;
mod calls;
mod chunks;
mod code_memory;
mod coroutines;
mod env;
mod expr;
mod fun;
mod function;
mod jit;
mod libdevice;
mod module;
mod phis;
mod plan;
mod regions;
mod request;
mod rows;
mod runtime;
mod sanitizer;
mod scalarize;
mod schedule;
mod stmt;
mod values;
mod vector;
mod view;
mod wide_expr;
mod wide_fun;
mod wide_memory;
mod wide_stmt;

use std::sync::{Arc, Mutex};

use cuprous_core::interrupt::{self, Token};
use cuprous_core::{Error, Result};
use cuprous_kernel::Module;
use cuprous_kernel::exception::Record;
use cuprous_kernel::ir::{Expr, Kind, Space, any_expr};
use cuprous_plan::{Launch, UserKernel};

use crate::threads::{parallel_for, with_threads};
use env::Env;
use sanitizer::Sanitizer;

/// A compiled kernel.
pub(crate) struct CpuKernel {
    name: String,
    code: jit::MachineCode,
    /// Whether all blocks run at once.
    cooperative: bool,
    /// Bytes of static shared memory, and of each thread's local arrays.
    shared: usize,
    local: usize,
    /// Bytes of shared and constant memory without padding, as reported to the user.
    reported_bytes: [u64; 2],
    /// The fault of the last launch: the first in the first task that had one.
    fault: Mutex<Option<(usize, Record)>>,
    /// Whether it has memory fences.
    has_fences: bool,
    /// The problems of the checked launches since the last call of [`UserKernel::report`].
    report: Mutex<Option<String>>,
}

/// Maximum bytes of a thread's local arrays.
const MAX_LOCAL: usize = 256 << 10;

impl CpuKernel {
    /// Compiles a kernel.
    pub(crate) fn new(module: &Module) -> Result<Arc<CpuKernel>> {
        let bytes = |space: Space| -> usize {
            let arrays = module.functions.iter().flat_map(|f| &f.arrays).filter(|a| a.space == space);
            arrays.map(values::array_bytes).sum()
        };
        let local = bytes(Space::Local);
        if local > MAX_LOCAL {
            return Err(Error::memory(format!(
                "[kernel] the local arrays of a thread take {local} bytes, but at most {MAX_LOCAL} are possible on the CPU"
            )));
        }
        let shared = module.functions.iter().flat_map(|f| &f.arrays).filter(|a| a.space == Space::Shared);
        let reported_bytes = [
            shared.map(|a| a.shape.iter().product::<i64>().unsigned_abs() * a.elem.item_size() as u64).sum(),
            module.constants.iter().map(|array| array.bytes.len() as u64).sum(),
        ];
        let code = jit::compile(module)?;
        Ok(Arc::new(CpuKernel {
            name: module.functions.first().map_or_else(String::new, |f| f.name.clone()),
            code,
            cooperative: module.cooperative,
            shared: bytes(Space::Shared),
            local,
            reported_bytes,
            fault: Mutex::new(None),
            has_fences: module.functions.iter().any(|f| any_expr(&f.body, &mut is_fence)),
            report: Mutex::new(None),
        }))
    }
}

impl CpuKernel {
    /// Returns true for a launch that may take more than milliseconds: one with loops or calls, or with many threads.
    pub(crate) fn is_long(&self, launch: &Launch) -> bool {
        let threads = launch.block.iter().fold(launch.blocks(), |product, &n| product.saturating_mul(n.into()));
        self.code.can_stop || threads >= 1 << 22
    }

    /// Launches the kernel. `args` are laid out as in [`cuprous_kernel::abi`] and aligned to 16 bytes. The caller
    /// guarantees the memory that they name.
    pub(crate) fn launch(&self, launch: &Launch, args: &[u8]) -> Result<()> {
        let [gx, gy, gz] = launch.grid.map(|n| n as usize);
        let blocks = gx * gy * gz;
        let dynamic = launch.shared as usize;
        if let Some(sites) = &self.code.sites {
            let mut sanitizer = Sanitizer::new(sites.clone(), launch, self.has_fences);
            let done = self.launch_checked(launch, args, &mut sanitizer);
            let mut report = self.report.lock().unwrap_or_else(|e| e.into_inner());
            *report = report.take().or_else(|| sanitizer.report(&self.name));
            return done;
        }
        if self.cooperative {
            return self.launch_grid(launch, args, None);
        }
        // Several tasks per core balance blocks of different duration.
        let tasks = blocks.min(8 * rayon::current_num_threads());
        let failed = Mutex::new(None);
        // An interrupt between tasks unwinds and leaves the launch incomplete.
        let done = interrupt::catch(|| {
            with_threads(|| {
                parallel_for(tasks, |task| {
                    let mut memory = shared_memory(self.shared + dynamic + 128);
                    let base = memory.as_mut_ptr() as usize;
                    let shared = base.next_multiple_of(128);
                    let after = (shared + self.shared).next_multiple_of(128);
                    let mut env = Env::new(launch, shared as *mut u8, after as *mut u8, dynamic);
                    let threads = launch.block.iter().map(|&n| n as usize).product::<usize>();
                    let context_bytes =
                        self.code.context_bytes.map_or(0, |(all, each)| all.next_multiple_of(128) + threads * each);
                    let mut context = if context_bytes > 0 { shared_memory(context_bytes + 128) } else { Vec::new() };
                    env.context = (context.as_mut_ptr() as usize).next_multiple_of(128) as *mut u8;
                    let (first, last) = (task * blocks / tasks, (task + 1) * blocks / tasks);
                    let token = Token::current();
                    let mut result = Ok(());
                    let mut blocks = |env: &mut Env| {
                        let mut next = first;
                        while next < last && env.fault[0] == 0 && result.is_ok() {
                            if token.requested() {
                                result = Err(Error::aborted("interrupted between blocks of a kernel"));
                                return;
                            }
                            let block = next;
                            let count =
                                self.code.blocks_per_call.blocks(launch.block).min(gx - block % gx).min(last - block);
                            next += count;
                            env.block = [block % gx, block / gx % gy, block / gx / gy].map(|n| n as i32);
                            if self.code.context_bytes.is_none() {
                                result = coroutines::run_block(&self.code, args, env, self.local);
                            } else {
                                // SAFETY: the code was compiled for a block with such arguments, and the engine keeps
                                // their memory alive.
                                unsafe { self.code.block(args, env, count) };
                            }
                        }
                    };
                    let ran = if self.code.can_stop && self.code.context_bytes.is_some() {
                        coroutines::run_task(&self.code, &mut env, &mut blocks)
                    } else {
                        blocks(&mut env);
                        Ok(())
                    };
                    if env.fault[0] != 0 {
                        let mut known = self.fault.lock().unwrap_or_else(|e| e.into_inner());
                        if known.is_none_or(|(first, _)| task < first) {
                            *known = Some((task, env.fault));
                        }
                    }
                    if let Err(error) = result.and(ran) {
                        *failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                    }
                });
            });
            Ok(())
        });
        if done.is_err() {
            return Err(Error::aborted("interrupted between blocks of a kernel"));
        }
        match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Runs blocks one after the other on one core and reports what they do to the sanitizer.
    fn launch_checked(&self, launch: &Launch, args: &[u8], sanitizer: &mut Sanitizer) -> Result<()> {
        if self.cooperative {
            return self.launch_grid(launch, args, Some(sanitizer));
        }
        let [gx, gy, _] = launch.grid.map(|n| n as usize);
        let dynamic = launch.shared as usize;
        let mut memory = shared_memory(self.shared + dynamic + 128);
        let shared = (memory.as_mut_ptr() as usize).next_multiple_of(128);
        let after = (shared + self.shared).next_multiple_of(128);
        let mut env = Env::new(launch, shared as *mut u8, after as *mut u8, dynamic);
        env.sanitizer = sanitizer;
        let token = Token::current();
        for block in 0..launch.blocks() as usize {
            if token.requested() {
                return Err(Error::aborted("interrupted between blocks of a kernel"));
            }
            env.block = [block % gx, block / gx % gy, block / gx / gy].map(|n| n as i32);
            // SAFETY: the sanitizer outlives the environment, and no thread is running.
            unsafe { (*env.sanitizer).begin_block(shared, after + dynamic - shared) };
            let done = coroutines::run_block(&self.code, args, &mut env, self.local);
            // SAFETY: as above.
            unsafe { (*env.sanitizer).end_block(block) };
            if env.fault[0] != 0 {
                *self.fault.lock().unwrap_or_else(|e| e.into_inner()) = Some((block, env.fault));
                return Ok(());
            }
            done?;
        }
        Ok(())
    }

    /// Runs blocks that wait for each other. Each has its own memory, and one core runs them in turn.
    fn launch_grid(&self, launch: &Launch, args: &[u8], mut sanitizer: Option<&mut Sanitizer>) -> Result<()> {
        let [gx, gy, _] = launch.grid.map(|n| n as usize);
        let dynamic = launch.shared as usize;
        let blocks = launch.blocks() as usize;
        let mut memory: Vec<Vec<u128>> = (0..blocks).map(|_| shared_memory(self.shared + dynamic + 128)).collect();
        let mut envs: Vec<Env> = Vec::new();
        for (block, memory) in memory.iter_mut().enumerate() {
            let shared = (memory.as_mut_ptr() as usize).next_multiple_of(128);
            let after = (shared + self.shared).next_multiple_of(128);
            let mut env = Env::new(launch, shared as *mut u8, after as *mut u8, dynamic);
            env.block = [block % gx, block / gx % gy, block / gx / gy].map(|n| n as i32);
            if let Some(sanitizer) = &mut sanitizer {
                sanitizer.begin_block(shared, after + dynamic - shared);
                env.sanitizer = &raw mut **sanitizer;
            }
            envs.push(env);
        }
        let result = coroutines::run_grid(&self.code, args, &mut envs, self.local);
        if let Some((k, env)) = envs.iter().enumerate().find(|(_, env)| env.fault[0] != 0) {
            *self.fault.lock().unwrap_or_else(|e| e.into_inner()) = Some((k, env.fault));
            return Ok(());
        }
        result
    }
}

fn is_fence(e: &Expr) -> bool {
    matches!(e.kind, Kind::Builtin(row, _) if row.host == "@fence")
}

/// Allocates memory of a block, with space to align it to 128 bytes.
fn shared_memory(bytes: usize) -> Vec<u128> {
    vec![0; bytes.div_ceil(16) + 8]
}

impl UserKernel for CpuKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, launch: &Launch) -> Result<()> {
        let threads = launch.check("kernel")?;
        if self.cooperative { coroutines::check_grid(launch.blocks().saturating_mul(threads.into())) } else { Ok(()) }
    }

    fn attributes(&self) -> Result<Vec<(&'static str, u64)>> {
        Ok(vec![
            ("registers", 0),
            ("static_shared", self.reported_bytes[0]),
            ("local", self.local as u64),
            ("max_threads", 1024),
            ("constant", self.reported_bytes[1]),
            ("code_bytes", self.code.bytes as u64),
        ])
    }

    fn resident_blocks(&self, threads: u32, _shared: u32) -> Result<u64> {
        Ok(coroutines::MAX_GRID as u64 / u64::from(threads.max(1)))
    }

    fn fault(&self) -> Result<Option<Record>> {
        Ok(self.fault.lock().unwrap_or_else(|e| e.into_inner()).take().map(|(_, record)| record))
    }

    fn report(&self) -> Option<String> {
        self.report.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    fn source(&self) -> String {
        self.code.listing.clone()
    }
}
