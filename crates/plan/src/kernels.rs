//! User kernels: what a device makes of one, and how the engine runs it in order with recorded work.

use std::sync::Arc;

use cuprous_core::{Array, Buffer, Error, Result};
use cuprous_kernel::fault::Record;
use smallvec::SmallVec;

use crate::engine::Engine;

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Launch {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// All blocks must run at once, because they wait for one another.
    pub cooperative: bool,
}

impl Launch {
    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Refuses a shape that no GPU takes, on every device alike; gives the number of threads of a block.
    ///
    /// # Errors
    /// What is wrong with it, with the kernel's name.
    pub fn check(&self, name: &str) -> Result<u32> {
        let refused = |why: String| Err(Error::value(format!("[{name}] {why}")));
        if self.grid.contains(&0) || self.block.contains(&0) {
            return refused("a grid and a block must have one thread at least".into());
        }
        let threads = self.block.iter().fold(1u32, |n, &k| n.saturating_mul(k));
        if threads > 1024 {
            return refused(format!("{threads} threads a block > 1024 allowed"));
        }
        let limits = [
            ("grid", "blocks", self.grid, [i32::MAX as u32, 65_535, 65_535]),
            ("block", "threads", self.block, [1024, 1024, 64]),
        ];
        for (what, parts, have, most) in limits {
            if let Some(axis) = (0..3).find(|&k| have[k] > most[k]) {
                return refused(format!(
                    "{} {parts} along axis {axis} of a {what} > {} allowed",
                    have[axis], most[axis]
                ));
            }
        }
        Ok(threads)
    }
}

/// A kernel of the user, compiled for a device.
pub trait UserKernel: Send + Sync {
    /// Submits it. `args` lie as [`cuprous_kernel::abi`] says, aligned to 16.
    ///
    /// # Errors
    /// The shape is beyond the device's limits, or the device failed.
    fn launch(&self, launch: &Launch, args: &[u8]) -> Result<()>;

    /// `registers`, `static_shared`, `local`, `max_threads`, `constant`, and what else the device tells.
    ///
    /// # Errors
    /// The device failed.
    fn facts(&self) -> Result<Vec<(&'static str, u64)>>;

    /// How many blocks of so many threads, with so many bytes of dynamic shared memory, may wait for one another.
    ///
    /// # Errors
    /// The device failed.
    fn resident_blocks(&self, threads: u32, shared: u32) -> Result<u64>;

    /// The exception that was raised since this was last asked, where the kernel reports such things. Waits for it.
    ///
    /// # Errors
    /// The device failed.
    fn fault(&self) -> Result<Option<Record>> {
        Ok(None)
    }

    /// The code as people read it.
    fn source(&self) -> String;
}

/// A kernel of a module of the device's own language.
pub trait RawKernel: Send + Sync {
    /// Submits it. Each argument starts in `args` where `starts` says.
    ///
    /// # Errors
    /// The shape is beyond the device's limits, or the device failed.
    fn launch(&self, launch: &Launch, args: &[u8], starts: &[u32]) -> Result<()>;

    /// As [`UserKernel::facts`].
    ///
    /// # Errors
    /// The device failed.
    fn facts(&self) -> Result<Vec<(&'static str, u64)>>;
}

/// A module of the device's own language.
pub trait RawModule: Send + Sync {
    /// A kernel by its name.
    ///
    /// # Errors
    /// There is none.
    fn kernel(&self, name: &str) -> Result<Arc<dyn RawKernel>>;

    /// Address and size of a variable.
    ///
    /// # Errors
    /// There is none.
    fn global(&self, name: &str) -> Result<(u64, usize)>;
}

/// A compiled kernel, shared.
pub type KernelRef = Arc<dyn UserKernel>;

impl Engine {
    /// Runs something that reads and writes the memory of arrays itself, in order with what is recorded: the calling
    /// thread's tape and the tapes on which the arrays are pending run first. `writes` says which arrays it changes;
    /// contents of theirs that somebody wants to see later are kept. `run` gets the addresses of the first elements.
    ///
    /// # Errors
    /// What ran first failed, an array is on another device, or `run` failed.
    pub fn with_memory(
        self: &Arc<Engine>,
        arrays: &[&Array],
        writes: impl Fn(usize) -> bool,
        run: impl FnOnce(&[u64]) -> Result<()>,
    ) -> Result<()> {
        for (k, array) in arrays.iter().enumerate() {
            self.check(array)?;
            if writes(k) {
                self.preserve(array)?;
            }
        }
        let tape = self.tape();
        let mut state = self.lock();
        self.run_tape(&mut state, tape)?;
        if let Some(watch) = &mut state.watch {
            watch.kernel();
        }
        let mut addresses: SmallVec<[u64; 16]> = SmallVec::new();
        let mut buffers: SmallVec<[Buffer; 16]> = SmallVec::new();
        for array in arrays {
            self.settle(&mut state, array, tape)?;
            // SAFETY: the lock is held.
            let Some(buffer) = (unsafe { array.storage.buffer() }) else {
                return Err(Error::runtime("[kernel] the value of an argument was given up; compute it again"));
            };
            addresses.push(buffer.address() + array.layout.offset as u64 * array.dtype().size() as u64);
            buffers.push(buffer);
        }
        // The lock is held, so that nothing else is submitted between.
        let result = run(&addresses);
        drop(state);
        drop(buffers);
        result
    }
}
