//! User kernels: what a device makes of one, and a launch as data.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuprous_core::{Error, Result};
use cuprous_kernel::fault::Record;

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

/// A kernel of the user, compiled for a device, which finds its own in a program's steps by their class.
pub trait UserKernel: Any + Send + Sync {
    /// Its name.
    fn name(&self) -> &str {
        "kernel of the user"
    }

    /// Refuses shapes that the device does not take.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, launch: &Launch) -> Result<()>;

    /// `registers`, `static_shared`, `local`, `max_threads`, `constant`, and what else the device tells.
    ///
    /// # Errors
    /// The device failed.
    fn attributes(&self) -> Result<Vec<(&'static str, u64)>>;

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

    /// The driver's handle of the module that it is in, where there is one.
    fn module(&self) -> Option<u64> {
        None
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

    /// As [`UserKernel::attributes`].
    ///
    /// # Errors
    /// The device failed.
    fn attributes(&self) -> Result<Vec<(&'static str, u64)>>;
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

/// A kernel with the shape of its launch, as it is recorded.
pub struct UserLaunch {
    /// Its name in programs, never given twice.
    pub(crate) number: u32,
    /// The kernel.
    pub kernel: KernelRef,
    /// The shape, which the kernel's device takes.
    pub config: Launch,
    /// Where the address of each array stands in the block of arguments.
    pub address_offsets: Box<[u32]>,
}

impl fmt::Debug for UserLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {} {:?}, addresses at {:?}", self.number, self.config, self.address_offsets)
    }
}

impl UserLaunch {
    /// A launch of `kernel` whose block of arguments has addresses of arrays at `places`.
    ///
    /// # Errors
    /// The device does not take the shape.
    pub fn new(kernel: KernelRef, config: Launch, address_offsets: &[u32]) -> Result<Arc<UserLaunch>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        kernel.check(&config)?;
        Ok(Arc::new(UserLaunch {
            number: NUMBER.fetch_add(1, Relaxed),
            kernel,
            config,
            address_offsets: address_offsets.into(),
        }))
    }

    /// That of a number among those that a tape keeps.
    pub(crate) fn by_number(number: u32, kept: &[Arc<dyn Any + Send + Sync>]) -> Arc<UserLaunch> {
        let mut all = kept.iter().filter_map(|any| any.clone().downcast::<UserLaunch>().ok());
        all.find(|launch| launch.number == number).expect("a tape keeps what its nodes name")
    }
}
