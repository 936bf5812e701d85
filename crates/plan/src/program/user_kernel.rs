//! User kernels: the traits of compiled kernels, and a launch as data.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuprous_core::{Error, Result};
use cuprous_kernel::exception::Record;

/// The configuration of a kernel launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Launch {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
    /// All blocks must run at once, because they wait for one another.
    pub cooperative: bool,
}

impl Launch {
    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Checks the configuration against the limits of all GPUs, whatever the device, and returns the number of threads
    /// of a block.
    ///
    /// # Errors
    /// The limit that is exceeded, with the kernel's name.
    pub fn check(&self, name: &str) -> Result<u32> {
        let error = |why: String| Err(Error::value(format!("[{name}] {why}")));
        if self.grid.contains(&0) || self.block.contains(&0) {
            return error("grid and block must have at least one thread".into());
        }
        let threads = self.block.iter().fold(1u32, |n, &k| n.saturating_mul(k));
        if threads > 1024 {
            return error(format!("{threads} threads a block > 1024 allowed"));
        }
        let limits = [
            ("grid", "blocks", self.grid, [i32::MAX as u32, 65_535, 65_535]),
            ("block", "threads", self.block, [1024, 1024, 64]),
        ];
        for (what, parts, have, most) in limits {
            if let Some(axis) = (0..3).find(|&k| have[k] > most[k]) {
                return error(format!("{} {parts} along axis {axis} of a {what} > {} allowed", have[axis], most[axis]));
            }
        }
        Ok(threads)
    }
}

/// A user kernel that is compiled for a device. The device recognizes its own kernels in a program's steps by their
/// type.
pub trait UserKernel: Any + Send + Sync {
    /// Returns the kernel's name.
    fn name(&self) -> &str {
        "kernel of the user"
    }

    /// Checks a launch's configuration.
    ///
    /// # Errors
    /// The device does not take the configuration.
    fn check(&self, launch: &Launch) -> Result<()>;

    /// Returns `registers`, `static_shared`, `local`, `max_threads`, `constant`, and whatever else the device reports.
    ///
    /// # Errors
    /// The device failed.
    fn attributes(&self) -> Result<Vec<(&'static str, u64)>>;

    /// Returns how many blocks of `threads` threads, with `shared` bytes of dynamic shared memory each, can be resident
    /// at once and so wait for one another.
    ///
    /// # Errors
    /// The device failed.
    fn resident_blocks(&self, threads: u32, shared: u32) -> Result<u64>;

    /// Waits for the kernel and returns the exception that was raised since the last call, if the kernel reports
    /// exceptions.
    ///
    /// # Errors
    /// The device failed.
    fn fault(&self) -> Result<Option<Record>> {
        Ok(None)
    }

    /// Returns the problems that checks of memory accesses and barriers found since the last call, if the kernel was
    /// compiled with them.
    fn report(&self) -> Option<String> {
        None
    }

    /// Returns the driver's handle of the kernel's module, if it has one.
    fn module(&self) -> Option<u64> {
        None
    }

    /// Returns the generated code.
    fn source(&self) -> String;
}

/// A kernel of a module of the device's own language.
pub trait RawKernel: Send + Sync {
    /// Submits a launch. Argument `k` begins at byte `starts[k]` of `args`.
    ///
    /// # Errors
    /// The configuration exceeds the device's limits, or the device failed.
    fn launch(&self, launch: &Launch, args: &[u8], starts: &[u32]) -> Result<()>;

    /// Returns the same as [`UserKernel::attributes`].
    ///
    /// # Errors
    /// The device failed.
    fn attributes(&self) -> Result<Vec<(&'static str, u64)>>;
}

/// A module of the device's own language.
pub trait RawModule: Send + Sync {
    /// Returns a kernel by name.
    ///
    /// # Errors
    /// The module has no such kernel.
    fn kernel(&self, name: &str) -> Result<Arc<dyn RawKernel>>;

    /// Returns address and size of a variable.
    ///
    /// # Errors
    /// The module has no such variable.
    fn global(&self, name: &str) -> Result<(u64, usize)>;
}

/// A shared compiled kernel.
pub type KernelRef = Arc<dyn UserKernel>;

/// A kernel with the configuration of its launch, as it is recorded.
pub struct UserLaunch {
    /// Identifies the launch in programs. Never reused.
    pub(crate) number: u32,
    /// The kernel.
    pub kernel: KernelRef,
    /// The configuration, which the kernel's device has accepted.
    pub config: Launch,
    /// The offset of each array's address in the block of arguments.
    pub address_offsets: Box<[u32]>,
}

impl fmt::Debug for UserLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {} {:?}, addresses at {:?}", self.number, self.config, self.address_offsets)
    }
}

impl UserLaunch {
    /// Returns a launch of `kernel` whose block of arguments has addresses of arrays at `address_offsets`.
    ///
    /// # Errors
    /// The device does not take the configuration.
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

    /// Returns the launch with a number among those that a tape keeps.
    pub(crate) fn by_number(number: u32, kept: &[Arc<dyn Any + Send + Sync>]) -> Arc<UserLaunch> {
        let mut all = kept.iter().filter_map(|any| any.clone().downcast::<UserLaunch>().ok());
        all.find(|launch| launch.number == number).expect("a tape keeps what its nodes name")
    }
}
