//! Recording launches of user kernels among other work.

use std::sync::Arc;

use cuprous_core::profile::{self, Current, Kind, Origin};
use cuprous_core::{Array, Buffer, DType, Error, In, Result, Scalar, Src, nvtx};
use smallvec::SmallVec;

use super::{Engine, Replay, capture_location, ends};
use crate::program::UserLaunch;

/// Largest number of launches in one program, on a device that works while the host goes on.
pub(crate) const MAX_LAUNCHES: usize = 32;

impl Engine {
    /// Records a launch of a user kernel. `block` is the block of arguments, aligned as [`cuprous_kernel::abi`] says,
    /// with zeros in place of the addresses of `arrays`. `writes` says which arrays the kernel may change.
    ///
    /// The work of a kernel is not known. The first launch after a wait is therefore submitted at once, then two, four,
    /// up to 32 together. A loop of launches becomes one program, whose repetitions are one graph.
    ///
    /// # Errors
    /// An array is on another device, or work that it depends on failed.
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
                self.before_change(array)?;
            }
        }
        let mut recording = self.open(arrays)?;
        for array in arrays {
            self.before_write(&mut recording.state, &array.storage)?;
        }
        let (state, tape) = (&mut *recording.state, recording.tape);
        let late = state.replay == Replay::Fused;
        let most = if late { MAX_LAUNCHES } else { state.launches_per_program };
        let none = state.scalars[DType::U8 as usize].clone();
        let t = &mut state.tapes[tape as usize];
        let block_of = In { src: Src(t.consts.len() as u32), layout: block.len() as u32 };
        t.consts.extend_from_slice(block);
        if !t.launches.last().is_some_and(|last| std::ptr::addr_eq(Arc::as_ptr(last), Arc::as_ptr(launch))) {
            t.launches.push(launch.clone());
        }
        let names = |k: usize| [In { src: Src(launch.number), layout: k as u32 }, block_of];
        let mut first = true;
        for (k, array) in arrays.iter().enumerate().filter(|(_, array)| array.layout.size > 0) {
            // SAFETY: the lock is held, and the arrays are settled.
            unsafe { t.push_launch(Some(array), first, names(k), &none) };
            first = false;
        }
        if first {
            // SAFETY: the lock is held, and there is no array.
            unsafe { t.push_launch(None, true, names(0), &none) };
        }
        t.launch_count += 1;
        let (launched, asynchronous) = (t.launch_count, late || self.device.is_asynchronous());
        let mut ends = !asynchronous || launched >= most;
        if ends && asynchronous {
            // The tape ends at a whole number of repetitions, if there are any, so that the same program comes again.
            if most == MAX_LAUNCHES && launched < 2 * MAX_LAUNCHES {
                if launched == most {
                    ends::search(t);
                }
                ends = t.period == 0 || t.nodes.len() % t.period == t.phase;
            }
            if ends {
                state.launches_per_program = (2 * most).min(MAX_LAUNCHES);
            }
        }
        recording.end_if(ends);
        recording.close(None);
        Ok(())
    }

    /// Runs `run`, which reads and writes the memory of arrays itself, in order with recorded operations: the calling
    /// thread's tape and the tapes on which the arrays are pending run first. `writes` says which arrays it changes;
    /// contents that are still needed are copied before. `run` receives the addresses of the first elements. `name` is
    /// its name in a profile.
    ///
    /// # Errors
    /// Earlier work failed, an array is on another device, or `run` failed.
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
                self.before_change(array)?;
            }
        }
        let tape = self.tape()?;
        capture_location();
        let mut state = self.enter()?;
        self.run_tape(&mut state, tape)?;
        if let Some(recorder) = &mut state.recorder {
            recorder.add_kernel();
        }
        let mut addresses: SmallVec<[u64; 16]> = SmallVec::new();
        let mut buffers: SmallVec<[Buffer; 16]> = SmallVec::new();
        for array in arrays {
            if array.storage.is_external() {
                array.storage.wait_for_writers()?;
            }
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
        // The lock stays held, so that nothing else is submitted in between.
        let span = profile::on().then(|| {
            let origin = Origin { what: profile::name(name), ..profile::origin(self.id) };
            (profile::now(), origin, Current::new(origin))
        });
        let range = nvtx::range(|| name.to_owned());
        let result = run(&addresses);
        drop(range);
        if let Some((start, origin, _current)) = span {
            profile::since(start, Kind::Launch, origin, 0);
        }
        drop(state);
        drop(buffers);
        result
    }
}
