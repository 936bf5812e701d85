//! User kernels: what a device makes of one, and how launches are recorded among other work.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuprous_core::profile::{self, Current, Kind, Note};
use cuprous_core::{Array, Buffer, DType, Error, In, Result, Scalar, Src, nvtx};
use cuprous_kernel::exception::Record;
use smallvec::SmallVec;

use crate::engine::{Engine, Replay, note_place, period};

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

/// A kernel with the shape of its launch, as it is recorded.
pub struct UserLaunch {
    /// Its name in programs, never given twice.
    number: u32,
    /// The kernel.
    pub kernel: KernelRef,
    /// The shape, which the kernel's device takes.
    pub launch: Launch,
    /// Where the address of each array stands in the block of arguments.
    pub places: Box<[u32]>,
}

impl fmt::Debug for UserLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {} {:?}, addresses at {:?}", self.number, self.launch, self.places)
    }
}

impl UserLaunch {
    /// A launch of `kernel` whose block of arguments has addresses of arrays at `places`.
    ///
    /// # Errors
    /// The device does not take the shape.
    pub fn new(kernel: KernelRef, launch: Launch, places: &[u32]) -> Result<Arc<UserLaunch>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        kernel.check(&launch)?;
        Ok(Arc::new(UserLaunch { number: NUMBER.fetch_add(1, Relaxed), kernel, launch, places: places.into() }))
    }

    /// That of a number among those that a tape keeps.
    pub(crate) fn numbered(number: u32, kept: &[Arc<dyn Any + Send + Sync>]) -> Arc<UserLaunch> {
        let mut all = kept.iter().filter_map(|any| any.clone().downcast::<UserLaunch>().ok());
        all.find(|launch| launch.number == number).expect("a tape keeps what its nodes name")
    }
}

/// Launches that one program has at most, on a device that works while the host goes on.
pub(crate) const MAX_LAUNCHES: usize = 32;

impl Engine {
    /// Records a launch. `block` is the block of arguments, aligned as [`cuprous_kernel::abi`] says, with zeros where
    /// addresses of `arrays` stand; `writes` says which of those it may change.
    ///
    /// The work of a kernel is not known. So the first launch after a wait is submitted at once, then two, four, up to
    /// [`MAX_LAUNCHES`] together: a loop of them becomes one program, whose repetitions are one graph.
    ///
    /// # Errors
    /// An array is on another device, or what it waits for failed.
    pub fn launch(
        self: &Arc<Engine>,
        launch: &Arc<UserLaunch>,
        block: &[Scalar],
        arrays: &[&Array],
        writes: impl Fn(usize) -> bool,
    ) -> Result<()> {
        for (k, array) in arrays.iter().enumerate() {
            self.check(array)?;
            if writes(k) {
                self.preserve(array)?;
            }
        }
        let (mut state, tape) = self.open(arrays)?;
        for array in arrays {
            self.before_write(&mut state, &array.storage)?;
        }
        let late = state.replay == Replay::Fused;
        let most = if late { MAX_LAUNCHES } else { state.launches_wait };
        let none = state.scalars[DType::U8 as usize].clone();
        let t = &mut state.tapes[tape as usize];
        let block_of = In { src: Src(t.consts.len() as u32), layout: block.len() as u32 };
        t.consts.extend_from_slice(block);
        if !t.launches.last().is_some_and(|last| std::ptr::addr_eq(Arc::as_ptr(last), Arc::as_ptr(launch))) {
            t.launches.push(launch.clone());
        }
        let names = |k: usize| [In { src: Src(launch.number), layout: k as u32 }, block_of];
        let (mut first, mut external) = (true, false);
        for (k, array) in arrays.iter().enumerate().filter(|(_, array)| array.layout.size > 0) {
            external |= array.storage.is_external();
            // SAFETY: the lock is held, foreign tapes are settled.
            unsafe { t.push_launch(Some(array), first, names(k), &none) };
            first = false;
        }
        if first {
            // SAFETY: as above.
            unsafe { t.push_launch(None, true, names(0), &none) };
        }
        t.launched += 1;
        let (launched, asynchronous) = (t.launched, late || self.device.is_asynchronous());
        let mut ends = !asynchronous || launched >= most;
        if ends && asynchronous {
            // At a whole number of repetitions, if there are any, so that the same program comes again and again.
            if most == MAX_LAUNCHES && launched < 2 * MAX_LAUNCHES {
                if launched == most {
                    t.period = period(&t.nodes);
                }
                ends = t.period == 0 || t.nodes.len().is_multiple_of(t.period);
            }
            if ends {
                state.launches_wait = (2 * most).min(MAX_LAUNCHES);
            }
        }
        self.close(&mut state, tape, None, external || ends);
        Ok(())
    }

    /// Runs something that reads and writes the memory of arrays itself, in order with what is recorded: the calling
    /// thread's tape and the tapes on which the arrays are pending run first. `writes` says which arrays it changes;
    /// contents of theirs that somebody wants to see later are kept. `run` gets the addresses of the first elements. A profile
    /// calls it `name`.
    ///
    /// # Errors
    /// What ran first failed, an array is on another device, or `run` failed.
    pub fn with_memory(
        self: &Arc<Engine>,
        name: &str,
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
        let tape = self.tape()?;
        note_place();
        let mut state = self.enter()?;
        self.run_tape(&mut state, tape)?;
        if let Some(watch) = &mut state.watch {
            watch.kernel();
        }
        let mut addresses: SmallVec<[u64; 16]> = SmallVec::new();
        let mut buffers: SmallVec<[Buffer; 16]> = SmallVec::new();
        for array in arrays {
            self.settle(&mut state, array, tape)?;
            self.before_write(&mut state, &array.storage)?;
            // SAFETY: the lock is held.
            let Some(buffer) = (unsafe { array.storage.buffer() }) else {
                return Err(Error::runtime("[kernel] the value of an argument was given up; compute it again"));
            };
            addresses.push(buffer.address() + array.layout.offset as u64 * array.dtype().size() as u64);
            buffers.push(buffer);
        }
        state.programs.forget_early();
        // The lock is held, so that nothing else is submitted between.
        let noted = profile::on().then(|| {
            let note = Note { what: profile::name(name), ..profile::note(self.id) };
            (profile::now(), note, Current::new(note))
        });
        let range = nvtx::range(|| name.to_owned());
        let result = run(&addresses);
        drop(range);
        if let Some((start, note, _current)) = noted {
            profile::since(start, Kind::Launch, note, 0);
        }
        drop(state);
        drop(buffers);
        result
    }
}
