//! The program cache: recognizes tapes whose program is known, and runs programs. The key is nodes, leaf sizes and
//! alignment, and liveness. Addresses and scalar values are not part of it.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use cuprous_core::error::ErrorKind;
use cuprous_core::node::SrcKind;
use cuprous_core::{Buffer, Error, LayoutRef, Node, Result, RoutineRef, Storage, Tape, nvtx, profile};

use super::journal::Journal;
use super::program_span;
use super::replay::{Replay, Stats};
use crate::device::{Device, Executable, Listing, Mark, Progress};
use crate::planning::{self, Input, Layouts, Times};
use crate::program::{Assignment, Program};

/// Programs kept before the least recently used are dropped.
const MAX_PROGRAMS: usize = 1024;
/// Nodes kept, over all programs.
const MAX_NODES: usize = 1 << 18;

/// What two tapes of the same program have in common.
struct Key {
    nodes: Vec<Node>,
    live: Vec<bool>,
    /// Size and alignment class (log2, up to 4) of each leaf.
    leaves: Vec<(usize, u8)>,
}

impl Key {
    fn is(&self, tape: &Tape, live: &[bool], leaves: &[(usize, u8)]) -> bool {
        self.nodes == tape.nodes && self.live == live && self.leaves == leaves
    }
}

struct Entry {
    /// Identifies the program in the process. Never reused.
    number: u64,
    key: Key,
    program: Arc<Program>,
    executable: Box<dyn Executable>,
    used: u64,
    /// The layouts and routines whose ids stand in the key, kept so that the ids are not reused. The ids of launches
    /// never are.
    _named: (Vec<LayoutRef>, Vec<RoutineRef>),
}

/// The programs of one device.
#[derive(Default)]
pub(crate) struct Programs {
    table: HashMap<u64, Vec<Entry>>,
    count: usize,
    nodes: usize,
    clock: u64,
    live: Vec<bool>,
    leaves: Vec<(usize, u8)>,
    addresses: Vec<u64>,
    /// Reused by the planner from tape to tape.
    layout_positions: Vec<u32>,
    last: Option<Arc<Program>>,
    /// Small values that are complete before their program has ended, with the mark at which they are.
    early: Vec<(Buffer, Arc<dyn Mark>)>,
    suspended: Vec<Suspended>,
}

/// A program that was interrupted between two of its steps, or in a step that can be run again. Its executable
/// continues where it stopped when it is run again with the same memory.
struct Suspended {
    /// The tape that it runs. `None` if it will not continue, but its last step is still running.
    tape: Option<u32>,
    entry: Entry,
    addresses: Vec<u64>,
    outputs: Vec<Buffer>,
    /// Kept because the executable uses their addresses: the arena and the leaves.
    _memory: (Option<Buffer>, Vec<Option<Buffer>>),
}

/// Number of early values that are remembered.
const MAX_EARLY: usize = 8;

impl Programs {
    /// Runs a tape: finds or plans its program, binds memory, submits it, and hands the results to their storages.
    ///
    /// # Errors
    /// Planning, allocation or the run failed. After [`ErrorKind::Interrupted`] the tape continues where it stopped.
    pub(crate) fn run(
        &mut self,
        tape: &mut Tape,
        (id, device): (u8, &dyn Device),
        replay: Replay,
        journal: &mut Journal,
        stats: &mut Stats,
    ) -> Result<()> {
        if let Some(at) = self.suspended.iter().position(|s| s.tape == Some(tape.index)) {
            return self.resume(at, tape);
        }
        // SAFETY: the engine calls this with its lock held.
        unsafe { tape.liveness(&mut self.live) };
        if !self.live.contains(&true) && tape.launches.is_empty() {
            tape.track(false);
            // SAFETY: the engine calls this with its lock held; no value of the tape is visible.
            unsafe { tape.clear() };
            return Ok(());
        }
        self.leaves.clear();
        let mut leaf_buffers: Vec<Option<Buffer>> = Vec::with_capacity(tape.leaves.len());
        for leaf in &tape.leaves {
            // SAFETY: the engine calls this with its lock held.
            let buffer = unsafe { leaf.buffer() };
            if buffer.is_none() && leaf.bytes > 0 {
                return Err(lost_value());
            }
            let align = buffer.as_ref().map_or(4, |b| b.address().trailing_zeros().min(4) as u8);
            self.leaves.push((leaf.bytes, align));
            leaf_buffers.push(buffer);
        }
        let start = profile::on().then(profile::now);
        let hash = self.hash(&tape.nodes);
        self.clock += 1;
        let clock = self.clock;
        let found = self.table.get(&hash).and_then(|entries| {
            stats.keys_seen += entries.len() as u64;
            entries.iter().position(|e| e.key.is(tape, &self.live, &self.leaves) && e.program.admits(&tape.consts))
        });
        let at = match found {
            Some(at) => {
                stats.replayed += 1;
                journal.replayed(hash);
                tape.track(false);
                at
            }
            None => {
                self.make_room(stats);
                let entry = self.plan(tape, device, stats)?;
                journal.planned(hash, tape, &entry.program);
                // If the next program is new as well, the journal can name the line that made it so.
                tape.track(journal.wants_locations());
                stats.planned += 1;
                self.count += 1;
                self.nodes += tape.nodes.len();
                let entries = self.table.entry(hash).or_default();
                entries.push(entry);
                entries.len() - 1
            }
        };
        let Entry { program, number, .. } = &self.table[&hash][at];
        let (program, number) = (program.clone(), *number);
        let span = start.map(|start| program_span::begin(start, (number, hash, &program), tape, id, journal));
        let (arena, outputs) = match allocate(&program, tape, device) {
            Err(e) if e.kind == ErrorKind::Memory => {
                self.drop_others(hash, at);
                device.trim();
                allocate(&program, tape, device)?
            }
            got => got?,
        };
        let at = at.min(self.table[&hash].len() - 1);
        if let Some(span) = &span {
            span.memory(device);
        }
        let entry = &mut self.table.get_mut(&hash).expect("found or planned above")[at];
        entry.used = clock;
        stats.steps += program.steps.len() as u64;
        self.addresses.clear();
        self.addresses.extend(program.buffers.iter().map(|b| match b.assignment {
            Assignment::Leaf(slot) => leaf_buffers[slot as usize].as_ref().map_or(0, |b| b.address()),
            Assignment::Output(k) => outputs[k as usize].address(),
            Assignment::Arena(offset) => arena.as_ref().map_or(0, |a| a.address() + offset as u64),
        }));
        let _range = nvtx::range(|| program_span::range(hash, tape));
        let result = entry.executable.run(&self.addresses, &tape.consts, replay == Replay::Auto);
        if let Some(span) = span {
            // The time was spent even if the run failed or was interrupted.
            span.end();
        }
        if let Err(error) = result {
            // Memory that is shared with code outside may change before the program continues, so such a program never
            // does.
            let interrupted = error.kind == ErrorKind::Interrupted;
            let continues = interrupted && !tape.leaves.iter().any(|leaf| leaf.is_external());
            let progress = entry.executable.progress();
            if !continues && (interrupted || error.kind == ErrorKind::Aborted) {
                keep_finished(&program, &outputs, tape, progress.ended);
            } else if error.kind == ErrorKind::Memory {
                give_up_if_written(&program, &outputs, tape, progress);
            }
            if interrupted {
                // Its executable is in the middle of a run, so no other tape may use it.
                let entry = self.take(hash, at);
                if continues || entry.executable.is_busy() {
                    let addresses = std::mem::take(&mut self.addresses);
                    let tape = continues.then_some(tape.index);
                    self.suspended.push(Suspended { tape, entry, addresses, outputs, _memory: (arena, leaf_buffers) });
                }
            }
            let kind = if interrupted && !continues { ErrorKind::Aborted } else { error.kind };
            return Err(Error { kind, ..error });
        }
        self.remember_early(hash, at, &program, &leaf_buffers, &outputs);
        hand_over(&program, outputs, tape);
        self.last = Some(program);
        Ok(())
    }

    /// Runs the rest of a suspended program.
    #[cold]
    fn resume(&mut self, at: usize, tape: &mut Tape) -> Result<()> {
        let mut suspended = self.suspended.swap_remove(at);
        let result = suspended.entry.executable.run(&suspended.addresses, &tape.consts, false);
        let (program, progress) = (suspended.entry.program.clone(), suspended.entry.executable.progress());
        match result.as_ref().map_err(|error| error.kind) {
            Ok(()) => hand_over(&program, suspended.outputs, tape),
            Err(ErrorKind::Interrupted) => self.suspended.push(suspended),
            Err(ErrorKind::Memory) => give_up_if_written(&program, &suspended.outputs, tape, progress),
            Err(_) => keep_finished(&program, &suspended.outputs, tape, progress.ended),
        }
        result
    }

    /// Returns true if an interrupted program has not ended.
    #[inline]
    pub(crate) fn has_suspended(&self) -> bool {
        !self.suspended.is_empty()
    }

    /// Returns the tapes of suspended programs.
    pub(crate) fn suspended(&self) -> Vec<u32> {
        self.suspended.iter().filter_map(|s| s.tape).collect()
    }

    /// Returns the tapes of suspended programs without a running step. Drops programs that will not continue and whose
    /// last step has ended.
    pub(crate) fn idle_suspended(&mut self) -> Vec<u32> {
        self.suspended.retain(|s| s.tape.is_some() || s.entry.executable.is_busy());
        self.suspended.iter().filter(|s| !s.entry.executable.is_busy()).filter_map(|s| s.tape).collect()
    }

    /// Drops the suspended program of a tape.
    pub(crate) fn forget_suspended(&mut self, tape: u32) {
        self.suspended.retain(|s| s.tape != Some(tape));
    }

    /// Renumbers the tape of a suspended program.
    pub(crate) fn renumber_suspended(&mut self, tape: u32, to: u32) {
        self.suspended.iter_mut().filter(|s| s.tape == Some(tape)).for_each(|s| s.tape = Some(to));
    }

    /// Takes a program out of the table.
    fn take(&mut self, hash: u64, at: usize) -> Entry {
        let entries = self.table.get_mut(&hash).expect("the caller has looked it up");
        let entry = entries.swap_remove(at);
        if entries.is_empty() {
            self.table.remove(&hash);
        }
        self.count -= 1;
        self.nodes -= entry.key.nodes.len();
        entry
    }

    /// Remembers which of a program's outputs are complete early. Forgets those that the program wrote again, and those
    /// that only the cache still holds.
    fn remember_early(
        &mut self,
        hash: u64,
        at: usize,
        program: &Program,
        leaves: &[Option<Buffer>],
        outputs: &[Buffer],
    ) {
        if !self.early.is_empty() {
            let written = |buffer: &Buffer| {
                let mut those = program.written.iter().filter_map(|&slot| leaves[slot as usize].as_ref());
                those.any(|leaf| leaf.address() == buffer.address())
            };
            self.early.retain(|(buffer, _)| Arc::strong_count(buffer) > 1 && !written(buffer));
        }
        for (index, &(buffer, _)) in program.early.iter().enumerate() {
            let Assignment::Output(k) = program.buffers[buffer as usize].assignment else { continue };
            if let Some(mark) = self.table[&hash][at].executable.early(index) {
                if self.early.len() == MAX_EARLY {
                    self.early.remove(0);
                }
                self.early.push((outputs[k as usize].clone(), mark));
            }
        }
    }

    /// Returns the mark at which a buffer holds its value, if that is before all submitted work.
    pub(crate) fn early(&self, buffer: &Buffer) -> Option<Arc<dyn Mark>> {
        self.early.iter().rev().find(|(known, _)| Arc::ptr_eq(known, buffer)).map(|(_, mark)| mark.clone())
    }

    /// Forgets early values, because code outside may write memory from now on.
    pub(crate) fn forget_early(&mut self) {
        self.early.clear();
    }

    /// Drops every program but one, with the memory that their graphs and states hold.
    fn drop_others(&mut self, hash: u64, at: usize) {
        let entries = self.table.remove(&hash).expect("the caller has looked it up");
        let kept = entries.into_iter().nth(at).expect("the caller has looked it up");
        self.clear();
        (self.count, self.nodes) = (1, kept.key.nodes.len());
        self.table.insert(hash, vec![kept]);
    }

    fn hash(&self, nodes: &[Node]) -> u64 {
        let mut h = MixHasher(0x243f_6a88_85a3_08d3);
        for node in nodes {
            h.write_u64(
                u64::from(node.kind as u8)
                    | u64::from(node.fun) << 8
                    | u64::from(node.nin) << 16
                    | u64::from(node.out) << 32,
            );
            for i in node.ins {
                h.write_u64(u64::from(i.src.0) | u64::from(i.layout) << 32);
            }
        }
        for (k, &live) in self.live.iter().enumerate() {
            if live {
                h.write_u64(k as u64);
            }
        }
        for &(bytes, align) in &self.leaves {
            h.write_u64(bytes as u64 ^ u64::from(align) << 60);
        }
        h.finish()
    }

    fn plan(&mut self, tape: &Tape, device: &dyn Device, stats: &mut Stats) -> Result<Entry> {
        let mut times = Times::default();
        let program = Arc::new(self.plan_tape(tape, &mut times));
        stats.fusion_ns += times.fusion;
        stats.emission_ns += times.emission;
        #[cfg(debug_assertions)]
        if let Err(fault) = crate::program::verify::check(&program) {
            panic!("the planner broke its own rules: {fault}");
        }
        let start = Instant::now();
        let executable = device.compile(&program)?;
        stats.compile_ns += start.elapsed().as_nanos() as u64;
        let key = Key { nodes: tape.nodes.clone(), live: self.live.clone(), leaves: self.leaves.clone() };
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Ok(Entry {
            number: NUMBERS.fetch_add(1, Relaxed),
            key,
            program,
            executable,
            used: self.clock,
            _named: (tape.layouts.clone(), tape.routines.clone()),
        })
    }

    /// Plans a tape whose liveness has been taken.
    fn plan_tape(&mut self, tape: &Tape, times: &mut Times) -> Program {
        let layouts = Layouts::new(&tape.layouts, &mut self.layout_positions);
        let mut storage_bytes: Vec<usize> = Vec::with_capacity(tape.leaves.len() + tape.nodes.len());
        storage_bytes.extend(tape.leaves.iter().map(|s| s.bytes));
        let mut storage_of: Vec<u32> = Vec::with_capacity(tape.nodes.len());
        for (owner, node) in tape.owners.iter().zip(&tape.nodes) {
            // A write's first operand is the version before it.
            let storage = match node.ins[0].src.kind() {
                SrcKind::Node(before) if node.is_write() => {
                    let same = |one: &Arc<Storage>| owner.as_ref().is_some_and(|owner| Arc::ptr_eq(one, owner));
                    debug_assert!(tape.owners[before as usize].as_ref().is_some_and(same));
                    storage_of[before as usize]
                }
                SrcKind::Leaf(slot) if node.is_write() => {
                    debug_assert!(owner.as_ref().is_some_and(|owner| Arc::ptr_eq(&tape.leaves[slot as usize], owner)));
                    slot
                }
                _ => {
                    let out = layouts.get(node.out);
                    storage_bytes.push(owner.as_ref().map_or(out.size as usize * out.dtype.size(), |s| s.bytes));
                    storage_bytes.len() as u32 - 1
                }
            };
            storage_of.push(storage);
        }
        let input = Input {
            nodes: &tape.nodes,
            live: &self.live,
            storage_of: &storage_of,
            storage_bytes: &storage_bytes,
            leaves: tape.leaves.len(),
            layouts,
            consts: &tape.consts,
            launches: &tape.launches,
        };
        let mut program = planning::plan(input, times);
        program.scalars = tape.consts.len();
        program.aligned = self.leaves.iter().all(|&(_, align)| align == 4);
        program
    }

    /// Returns the program that ran last.
    pub(crate) fn last(&self) -> Option<Arc<Program>> {
        self.last.clone()
    }

    /// Returns the program that a tape would become now, or `None` if no value of it is visible.
    pub(crate) fn preview(&mut self, tape: &Tape) -> Option<Program> {
        // SAFETY: the engine calls this with its lock held.
        unsafe { tape.liveness(&mut self.live) };
        self.leaves.clear();
        (self.live.contains(&true) || !tape.launches.is_empty()).then(|| self.plan_tape(tape, &mut Times::default()))
    }

    /// Returns the generated code of the tape's program if something is recorded, or else of the program that ran last.
    pub(crate) fn source(&mut self, tape: &mut Tape, show: Listing) -> Result<String> {
        if !tape.nodes.is_empty() {
            // SAFETY: the engine calls this with its lock held.
            unsafe { tape.liveness(&mut self.live) };
            self.leaves.clear();
            let program = self.plan_tape(tape, &mut Times::default());
            if !program.steps.is_empty() {
                return show(&program);
            }
        }
        match &self.last {
            Some(program) => show(program),
            None => Ok("nothing has been recorded yet\n".into()),
        }
    }

    /// Drops the least recently used quarter of the programs if there are too many: looking for the oldest one each time
    /// would cost a program of a new shape a look at all others.
    fn make_room(&mut self, stats: &mut Stats) {
        while self.count >= MAX_PROGRAMS || (self.nodes >= MAX_NODES && self.count > 0) {
            let mut used: Vec<u64> = self.table.values().flatten().map(|e| e.used).collect();
            stats.keys_seen += used.len() as u64;
            let quarter = used.len() / 4;
            let (_, &mut newest, _) = used.select_nth_unstable(quarter);
            self.table.retain(|_, entries| {
                entries.retain(|e| e.used > newest);
                !entries.is_empty()
            });
            self.count = self.table.values().map(Vec::len).sum();
            self.nodes = self.table.values().flatten().map(|e| e.key.nodes.len()).sum();
        }
    }

    /// Returns the number of programs that are kept.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Drops every program.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.early.clear();
        (self.count, self.nodes, self.last) = (0, 0, None);
    }
}

/// Hands the results of a program that has run to their storages.
fn hand_over(program: &Program, outputs: Vec<Buffer>, tape: &mut Tape) {
    for (buffer, &node) in outputs.into_iter().zip(&program.outputs) {
        if let Some(owner) = &tape.owners[node as usize] {
            // SAFETY: the engine's lock is held.
            unsafe { owner.set_buffer(buffer) };
        }
    }
    // SAFETY: the engine's lock is held, and the live values have their memory.
    unsafe { tape.clear() };
}

/// Called when a program ended in step `ended` and will not continue. Hands over the results that only earlier steps
/// have written. Gives up the leaves that this step or a later one writes, because their contents are partly written.
fn keep_finished(program: &Program, outputs: &[Buffer], tape: &Tape, ended: usize) {
    let mut late = vec![false; program.buffers.len()];
    program.steps[ended..].iter().for_each(|step| step.touches(|buffer, writes| late[buffer as usize] |= writes));
    for (info, late) in program.buffers.iter().zip(late) {
        match info.assignment {
            Assignment::Leaf(slot) if late => {
                // SAFETY: the engine's lock is held, and the program does not go on.
                unsafe { tape.leaves[slot as usize].discard() }
            }
            Assignment::Output(k) if !late => {
                if let Some(owner) = &tape.owners[program.outputs[k as usize] as usize] {
                    // SAFETY: the engine's lock is held.
                    unsafe { owner.set_buffer(outputs[k as usize].clone()) };
                }
            }
            _ => {}
        }
    }
}

/// Called when a program ran out of memory. If a step that was started has written a leaf, gives up what is not computed
/// yet: running the program again would write the leaf twice.
fn give_up_if_written(program: &Program, outputs: &[Buffer], tape: &mut Tape, progress: Progress) {
    let mut written = false;
    let is_leaf = |buffer: u32| matches!(program.buffers[buffer as usize].assignment, Assignment::Leaf(_));
    let started = &program.steps[..progress.started];
    started.iter().for_each(|step| step.touches(|buffer, writes| written |= writes && is_leaf(buffer)));
    if written {
        keep_finished(program, outputs, tape, progress.ended);
        // SAFETY: the engine's lock is held, and the values that were computed have their memory.
        unsafe { tape.clear() };
    }
}

#[cold]
pub(super) fn lost_value() -> Error {
    Error::runtime(
        "the value of this array was given up when the program that computes it failed, was interrupted in a kernel or \
         did not fit into the device's memory; compute it again",
    )
}

/// A program's arena and outputs.
type Allocations = (Option<Buffer>, Vec<Buffer>);

fn allocate(program: &Program, tape: &Tape, device: &dyn Device) -> Result<Allocations> {
    let arena = if program.arena_bytes > 0 { Some(device.alloc(program.arena_bytes)?) } else { None };
    let outputs = program
        .outputs
        .iter()
        .map(|&node| device.alloc(tape.owners[node as usize].as_ref().map_or(0, |owner| owner.bytes)))
        .collect::<Result<_>>()?;
    Ok((arena, outputs))
}

/// A multiply-xor hash. Keys are compared in full, so it only needs to be fast and even.
struct MixHasher(u64);

impl Hasher for MixHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b.into()));
    }

    #[inline]
    fn write_u64(&mut self, x: u64) {
        let product = u128::from(self.0 ^ x) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64 ^ self.0.rotate_left(23);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
