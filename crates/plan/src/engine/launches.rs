//! Recording launches of user kernels among other work.

use std::sync::Arc;

use cuprous_core::profile::{self, Current, Kind, Note};
use cuprous_core::{Array, Buffer, DType, Error, In, Result, Scalar, Src, nvtx};
use smallvec::SmallVec;

use super::{Engine, Replay, note_place, period};
use crate::program::UserLaunch;

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
        let mut recording = self.open(arrays)?;
        for array in arrays {
            self.before_write(&mut recording.state, &array.storage)?;
        }
        let (state, tape) = (&mut *recording.state, recording.tape);
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
        recording.end_if(ends);
        recording.close(None);
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
