//! Runs lowered kernels: tiles of the iteration space, distributed over threads where the work is large enough.

use cuprous_core::interrupt::Token;
use cuprous_core::{Error, Result, Scalar};

use crate::affine::{copy_rect, copy_strided};
use crate::alloc::Block;
use crate::blocks::columns::ColumnArgs;
use crate::blocks::reduce::{MergeArgs, PushArgs, RowsArgs};
use crate::blocks::scatter::{ScatterArgs, wrap};
use crate::blocks::{CHUNK, MapArgs};
use crate::compile::{BlockOp, BlockOpKind, Bytecode, KernelReduction, Mode, Rate};
use crate::frame::{Frame, Slot};
use crate::lowered::BoundKernel;
use crate::threads::{SharedPtr, parallel_for};

/// Work (in simple operations) below which waking other threads costs more than it gains.
const PARALLEL_WORK: u64 = 1 << 16;
/// Minimum work of a task.
const TASK_WORK: u64 = 1 << 15;
/// Maximum number of pieces of a row, used when there are too few rows for all threads. It does not depend on the
/// machine, because the pieces determine how sums are rounded.
const MAX_PIECES: i64 = 64;
/// Kernels with at least so many units of rows are not split.
const MAX_SPLIT_UNITS: i64 = 16;
/// Minimum number of tiles in a piece.
const MIN_PIECE_TILES: i64 = 8;

/// The buffers and scalars of a program's run.
#[derive(Clone, Copy)]
pub(crate) struct Bindings<'a> {
    /// Addresses of the program's buffers.
    pub(crate) buffers: &'a [u64],
    pub(crate) scalars: &'a [Scalar],
}

/// One thread's view of a running kernel.
struct Task<'a> {
    kernel: &'a BoundKernel,
    code: &'a Bytecode,
    bindings: Bindings<'a>,
    frame: Frame,
    token: Token,
    /// Flattened start and length of the tile, in elements and in rows.
    full: (i64, usize),
    row: (i64, usize),
}

/// Runs `f(from, to)` in parallel over ranges of `grain` elements that cover `0..n`.
fn parallel_ranges(n: i64, grain: i64, f: impl Fn(i64, i64) + Sync) {
    let tasks = (n + grain - 1) / grain;
    parallel_for(tasks as usize, |t| f(t as i64 * grain, ((t as i64 + 1) * grain).min(n)));
}

impl Bytecode {
    /// Returns true for a kernel that takes tens of milliseconds or more.
    pub(crate) fn is_long(&self) -> bool {
        let elements = self.outer.max(1) as u64 * self.inner.max(1) as u64;
        elements.saturating_mul(self.weight) >= 1 << 28
    }

    /// Returns the number of tiles in a unit of rows.
    fn tiles(&self) -> i64 {
        let depth = match self.mode {
            Mode::Rows => return 1,
            Mode::Long => self.tile as i64,
            Mode::Columns => (self.tile / self.rows) as i64,
        };
        (self.inner + depth - 1) / depth
    }
}

impl BoundKernel {
    /// Checks once per run that the buffers and scalars exist.
    fn check_bindings(&self, bindings: Bindings) -> Result<()> {
        let buffers = self.buffers.iter().all(|&b| (b as usize) < bindings.buffers.len());
        let scalars = self.scalars.iter().all(|&slot| (slot as usize) < bindings.scalars.len());
        if buffers && scalars {
            return Ok(());
        }
        Err(Error::runtime("[cpu] internal error: a program was run with too few buffers or scalars"))
    }

    /// Runs the kernel.
    ///
    /// # Safety
    /// Every buffer holds all the elements that the kernel accesses, and nothing else writes them.
    pub(crate) unsafe fn run(&self, bindings: Bindings) -> Result<()> {
        self.check_bindings(bindings)?;
        let code = &*self.code;
        let units = (code.outer + code.rows as i64 - 1) / code.rows as i64;
        let elements = code.outer as u64 * (code.inner as u64).max(1);
        let parallel =
            !code.in_order && elements.saturating_mul(code.weight) >= PARALLEL_WORK && rayon::current_num_threads() > 1;
        let tiles = code.tiles();
        if code.mode != Mode::Rows && !code.in_order && units < MAX_SPLIT_UNITS && tiles >= 2 * MIN_PIECE_TILES {
            return self.run_split(bindings, units, tiles, parallel);
        }
        let run = |from: i64, to: i64| {
            let mut task = Task::new(self, bindings);
            for unit in from..to {
                task.token.check();
                task.run_unit(unit);
            }
            task.frame.release();
        };
        if !parallel {
            run(0, units);
            return Ok(());
        }
        let cost = (elements * code.weight / units as u64).max(1);
        // Large enough that the overhead of tasks is small, and small enough that threads finish at about the same
        // time.
        let min_grain = (units / (8 * rayon::current_num_threads() as i64)).max(1);
        parallel_ranges(units, ((TASK_WORK / cost) as i64).clamp(1, units).max(min_grain), run);
        Ok(())
    }

    /// Runs a kernel of few but long rows: threads share the pieces of each pass, whose reductions are merged in order.
    fn run_split(&self, bindings: Bindings, units: i64, tiles: i64, parallel: bool) -> Result<()> {
        let grain = ((tiles + MAX_PIECES - 1) / MAX_PIECES).max(MIN_PIECE_TILES);
        let pieces = (tiles + grain - 1) / grain;
        let code = &*self.code;
        let states = Block::new(code.state_bytes.max(1) * pieces as usize)?;
        let results: usize = code.reductions.iter().map(|_| code.rows * 16).sum();
        let results = Block::new(results.max(1))?;
        let (states, results) = (SharedPtr(states.as_ptr()), SharedPtr(results.as_ptr()));
        for unit in 0..units {
            for pass in 0..code.passes.len() {
                let piece = |p: i64| {
                    let mut task = Task::new(self, bindings);
                    task.start_unit(unit);
                    task.load_results(pass, &results);
                    // SAFETY: each piece has its own states.
                    let state = unsafe { states.at(0).add(p as usize * code.state_bytes) };
                    task.start_reductions(pass, state);
                    for tile in p * grain..((p + 1) * grain).min(tiles) {
                        task.token.check();
                        task.run_tile(pass, tile, state);
                    }
                    task.frame.release();
                };
                if parallel {
                    parallel_for(pieces as usize, |p| piece(p as i64));
                } else {
                    (0..pieces).for_each(piece);
                }
                let mut task = Task::new(self, bindings);
                task.start_unit(unit);
                for p in 1..pieces as usize {
                    // SAFETY: the pieces are complete, and nothing else uses their states.
                    task.merge_reductions(pass, states.at(0), unsafe { states.at(0).add(p * code.state_bytes) });
                }
                task.finish_reductions(pass, states.at(0));
                task.save_results(pass, &results);
                task.frame.release();
            }
            let mut task = Task::new(self, bindings);
            task.start_unit(unit);
            task.load_results(code.passes.len(), &results);
            task.run_ops(&code.late);
            task.frame.release();
        }
        Ok(())
    }
}

impl<'a> Task<'a> {
    fn new(kernel: &'a BoundKernel, bindings: Bindings<'a>) -> Task<'a> {
        let code = &*kernel.code;
        let frame = Frame::take(code.scratch, code.vals);
        let mut task = Task { kernel, code, bindings, frame, token: Token::current(), full: (0, 1), row: (0, 1) };
        task.run_ops(&code.once);
        task
    }

    fn reg(&mut self, at: usize) -> *mut u8 {
        debug_assert!(at <= self.code.scratch);
        // SAFETY: `assign_registers` places every register within the scratch memory.
        unsafe { self.frame.memory().add(at) }
    }

    fn buffer(&self, buf: u16) -> *mut u8 {
        self.bindings.buffers[self.kernel.buffers[usize::from(buf)] as usize] as *mut u8
    }

    /// Runs a unit of rows.
    fn run_unit(&mut self, unit: i64) {
        let code = self.code;
        if code.mode == Mode::Rows {
            let from = unit * code.rows as i64;
            let rows = (code.rows as i64).min(code.outer - from);
            self.row = (from, rows as usize);
            self.full =
                if code.reductions.is_empty() { self.row } else { (from * code.inner, (rows * code.inner) as usize) };
            self.run_ops(&code.passes[0].full);
            return;
        }
        self.start_unit(unit);
        let state = self.reg(code.states);
        for pass in 0..code.passes.len() {
            self.start_reductions(pass, state);
            for tile in 0..code.tiles() {
                self.token.check();
                self.run_tile(pass, tile, state);
            }
            self.finish_reductions(pass, state);
            self.run_ops(&code.passes[pass].rows);
        }
        self.run_ops(&code.late);
    }

    /// Starts a unit of rows with the operations that do not depend on a reduction.
    fn start_unit(&mut self, unit: i64) {
        let from = unit * self.code.rows as i64;
        self.row = (from, (self.code.rows as i64).min(self.code.outer - from) as usize);
        self.run_ops(&self.code.early);
    }

    /// Runs one tile of a pass.
    fn run_tile(&mut self, pass: usize, tile: i64, state: *mut u8) {
        let code = self.code;
        self.full = match code.mode {
            Mode::Columns => {
                let depth = (code.tile / code.rows) as i64;
                let from = tile * depth;
                let depth = depth.min(code.inner - from);
                (from * code.outer + self.row.0, depth as usize * self.row.1)
            }
            _ => {
                let from = tile * code.tile as i64;
                (self.row.0 * code.inner + from, (code.tile as i64).min(code.inner - from) as usize)
            }
        };
        for op in &code.passes[pass].full {
            match op.kind {
                BlockOpKind::Reduce { reduction, arg } => self.push_tile(&code.reductions[reduction], arg, tile, state),
                _ => self.run_op(op),
            }
        }
    }

    /// Returns the number of accumulators that this unit's rows use in columns mode.
    fn accumulators(&self) -> usize {
        self.code.tile / self.code.rows * self.row.1
    }

    fn column_args(&self, f: &KernelReduction, state: *mut u8) -> ColumnArgs {
        ColumnArgs {
            // SAFETY: `assign_registers` places each reduction's state within the states.
            state: unsafe { state.add(f.state) },
            accumulators: self.accumulators(),
            src: std::ptr::null(),
            n: 0,
            tile: 0,
            out: std::ptr::null_mut(),
            width: self.row.1,
        }
    }

    fn reductions_of(&self, pass: usize) -> impl Iterator<Item = &'a KernelReduction> + use<'a> {
        self.code.reductions.iter().filter(move |f| f.pass == pass)
    }

    fn start_reductions(&mut self, pass: usize, state: *mut u8) {
        for f in self.reductions_of(pass) {
            let args = self.column_args(f, state);
            // SAFETY: the state has the size that the reduction needs.
            unsafe {
                match self.code.mode {
                    Mode::Columns => (f.fns.columns.start)(&args),
                    _ => (f.fns.start)(&MergeArgs { state: args.state, other: std::ptr::null_mut() }),
                }
            }
        }
    }

    /// Returns a tile of the values at `slot`. A single chunk is repeated into the register `to`.
    fn broadcast(&mut self, slot: Slot, to: usize, size: usize) -> *const u8 {
        if slot.step != 0 {
            return slot.ptr;
        }
        let to = self.reg(to);
        // SAFETY: the register holds a tile.
        unsafe { copy_strided(to, 1, slot.ptr, 0, self.full.1, size) };
        to
    }

    fn push_tile(&mut self, f: &KernelReduction, arg: u16, tile: i64, state: *mut u8) {
        let slot = self.frame.slot(arg);
        let src = self.broadcast(slot, f.broadcast, f.dtype.size());
        let n = self.full.1;
        // SAFETY: a tile of elements is at `src`; the state was started.
        unsafe {
            match self.code.mode {
                Mode::Columns => (f.fns.columns.push)(&ColumnArgs { src, n, tile, ..self.column_args(f, state) }),
                _ => (f.fns.push)(&PushArgs { state: state.add(f.state), src, n, base: tile * self.code.tile as i64 }),
            }
        }
    }

    fn merge_reductions(&mut self, pass: usize, state: *mut u8, other: *mut u8) {
        for f in self.reductions_of(pass) {
            let args = self.column_args(f, state);
            // SAFETY: both are states of this reduction.
            unsafe {
                let other = other.add(f.state);
                match self.code.mode {
                    Mode::Columns => (f.fns.columns.merge)(&ColumnArgs { src: other, ..args }),
                    _ => (f.fns.merge)(&MergeArgs { state: args.state, other }),
                }
            }
        }
    }

    /// Stores the results of the pass's reductions as row values.
    fn finish_reductions(&mut self, pass: usize, state: *mut u8) {
        for f in self.reductions_of(pass) {
            let args = self.column_args(f, state);
            let out = self.reg(f.reg);
            // SAFETY: the register has space for a row value.
            unsafe {
                match self.code.mode {
                    Mode::Columns => (f.fns.columns.finish)(&ColumnArgs { out, ..args }),
                    _ => (f.fns.finish)(&MergeArgs { state: args.state, other: out }),
                }
            }
            self.frame.set(f.val, Slot { ptr: out, step: 1, padded: true });
        }
    }

    /// Saves the pass's row values for other tasks.
    fn save_results(&mut self, pass: usize, results: &SharedPtr) {
        for (k, f) in self.code.reductions.iter().enumerate().filter(|(_, f)| f.pass == pass) {
            let from = self.reg(f.reg);
            // SAFETY: each reduction has space for 16 bytes per row.
            unsafe {
                let to = results.at(0).add(k * self.code.rows * 16);
                std::ptr::copy_nonoverlapping(from, to, self.row.1 * f.out.size());
            }
        }
    }

    /// Loads the row values of the passes before `pass` into this task.
    fn load_results(&mut self, pass: usize, results: &SharedPtr) {
        for before in 0..pass {
            for (k, f) in self.code.reductions.iter().enumerate().filter(|(_, f)| f.pass == before) {
                let to = self.reg(f.reg);
                // SAFETY: `save_results` wrote this part; each reduction has space for 16 bytes per row.
                unsafe {
                    let from = results.at(0).add(k * self.code.rows * 16);
                    std::ptr::copy_nonoverlapping(from, to, self.row.1 * f.out.size());
                }
                self.frame.set(f.val, Slot { ptr: to, step: 1, padded: true });
            }
            self.run_ops(&self.code.passes[before].rows);
        }
    }

    fn run_ops(&mut self, ops: &[BlockOp]) {
        for op in ops {
            self.run_op(op);
        }
    }

    /// Returns the flattened start and the length of an operation's elements.
    #[inline]
    fn extent(&self, rate: Rate) -> (i64, usize) {
        match rate {
            Rate::Once => (0, CHUNK),
            Rate::Row => self.row,
            Rate::Full => self.full,
        }
    }

    #[inline]
    fn run_op(&mut self, op: &BlockOp) {
        let (start, n) = self.extent(op.rate);
        let size = op.dtype.size();
        match &op.kind {
            BlockOpKind::Map { f, args, direct, can_pad, .. } => {
                self.run_map(op, *f, args, direct.as_ref(), *can_pad, start, n)
            }
            BlockOpKind::Load { buf, access, copy: must_copy } => {
                let base = self.buffer(*buf);
                let to = self.reg(op.reg);
                // SAFETY: the access stays within the buffer, and the register holds a tile.
                let slot = unsafe {
                    if let Some((offset, stride)) = access.single_stride(start, n) {
                        let at = base.offset((offset * size as i64) as isize);
                        let aligned = (at as usize).is_multiple_of(size.min(8));
                        if op.rate == Rate::Once || stride == 0 {
                            copy_strided(to, 1, at, 0, CHUNK, size);
                            Slot { ptr: to, step: 0, padded: true }
                        } else if stride == 1 && aligned && !must_copy {
                            Slot { ptr: at, step: 1, padded: false }
                        } else {
                            copy_strided(to, 1, at, stride, n, size);
                            Slot { ptr: to, step: 1, padded: true }
                        }
                    } else {
                        access.rects(start, n, |r| {
                            let at = base.offset((r.offset * size as i64) as isize);
                            copy_rect(to.add(r.at * size), [r.len as i64, 1], at, r.strides, r.rows, r.len, size);
                        });
                        Slot { ptr: to, step: 1, padded: true }
                    }
                };
                self.frame.set(op.val, slot);
            }
            BlockOpKind::Scalar { number } => {
                let to = self.reg(op.reg);
                let from = self.bindings.scalars[self.kernel.scalars[*number] as usize].0.as_ptr();
                // SAFETY: the register holds a chunk.
                unsafe { copy_strided(to, 1, from, 0, CHUNK, size) };
                self.frame.set(op.val, Slot { ptr: to, step: 0, padded: true });
            }
            BlockOpKind::Iota { access } => {
                let to = self.reg(op.reg) as *mut i64;
                let once = op.rate == Rate::Once;
                access.runs(start, if once { 1 } else { n }, |r| {
                    // SAFETY: the register holds a tile, in which runs do not overlap.
                    let run = unsafe { std::slice::from_raw_parts_mut(to.add(r.at), r.len) };
                    let mut index = r.offset;
                    for element in run {
                        *element = index;
                        index = index.wrapping_add(r.stride);
                    }
                });
                if once {
                    // SAFETY: the register holds a chunk.
                    unsafe { copy_strided(to.add(1) as *mut u8, 1, to as *const u8, 0, CHUNK - 1, 8) };
                }
                self.frame.set(op.val, Slot { ptr: to as *mut u8, step: usize::from(!once), padded: true });
            }
            BlockOpKind::Gather { buf, len, index } => {
                let (base, to) = (self.buffer(*buf), self.reg(op.reg));
                let index = self.frame.slot(*index);
                // SAFETY: the index is wrapped into the buffer, and the register holds a tile.
                unsafe {
                    match size {
                        1 => gather::<u8>(base, *len, index, to, n),
                        2 => gather::<u16>(base, *len, index, to, n),
                        4 => gather::<u32>(base, *len, index, to, n),
                        8 => gather::<u64>(base, *len, index, to, n),
                        _ => gather::<[u64; 2]>(base, *len, index, to, n),
                    }
                }
                self.frame.set(op.val, Slot { ptr: to, step: usize::from(op.rate != Rate::Once), padded: true });
            }
            BlockOpKind::Expand { arg } => self.expand(op, *arg, size),
            BlockOpKind::Reduce { reduction, arg } => {
                let f = &self.code.reductions[*reduction];
                let src = self.broadcast(self.frame.slot(*arg), f.broadcast, f.dtype.size());
                let out = self.reg(f.reg);
                let args = RowsArgs { src, n: self.code.inner as usize, rows: self.row.1, out };
                // SAFETY: the tile holds these rows.
                unsafe { (f.fns.rows)(&args) };
                self.frame.set(op.val, Slot { ptr: out, step: 1, padded: true });
            }
            BlockOpKind::Store { buf, access, arg } => {
                let (base, slot) = (self.buffer(*buf), self.frame.slot(*arg));
                let step = slot.step as i64;
                access.rects(start, if op.rate == Rate::Once { 1 } else { n }, |r| {
                    // SAFETY: the access stays within the buffer, and the slot holds a tile.
                    unsafe {
                        let at = base.offset((r.offset * size as i64) as isize);
                        let from = slot.ptr.add(r.at * size * slot.step);
                        copy_rect(at, r.strides, from, [r.len as i64 * step, step], r.rows, r.len, size);
                    }
                });
            }
            BlockOpKind::Scatter { buf, len, index, arg, f, .. } => {
                let (index, value) = (self.frame.slot(*index), self.frame.slot(*arg));
                let args = ScatterArgs {
                    n,
                    index: index.ptr as *const i64,
                    index_step: index.step,
                    value: value.ptr,
                    value_step: value.step,
                    to: self.buffer(*buf),
                    len: *len,
                };
                // SAFETY: the buffer has `len` elements.
                unsafe { f(&args) };
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one operation, destructured by `run_op`")]
    #[inline]
    fn run_map(
        &mut self,
        op: &BlockOp,
        f: crate::blocks::MapFn,
        args: &[u16],
        direct: Option<&(u16, crate::affine::AffineAccess)>,
        can_pad: bool,
        start: i64,
        mut n: usize,
    ) {
        let mut m = MapArgs { n, out: std::ptr::null_mut(), args: [std::ptr::null(); 3], step: [0; 3] };
        let mut padded = can_pad;
        for (k, &v) in args.iter().enumerate() {
            let slot = self.frame.slot(v);
            m.args[k] = slot.ptr;
            m.step[k] = slot.step;
            padded &= slot.padded;
        }
        let mut slot = Slot { ptr: self.reg(op.reg), step: usize::from(op.rate != Rate::Once), padded: true };
        let mut written = None;
        if let Some((buf, access)) = direct {
            let size = op.dtype.size();
            let base = self.buffer(*buf);
            let at =
                access.single_stride(start, n).map(|(offset, _)| base.wrapping_offset((offset * size as i64) as isize));
            match at {
                Some(at) if (at as usize).is_multiple_of(size.min(8)) => {
                    slot = Slot { ptr: at, step: 1, padded: false };
                    padded = false;
                }
                _ => written = Some((base, access)),
            }
        }
        let elements = n;
        if padded {
            n = n.next_multiple_of(CHUNK);
        }
        m.n = n;
        m.out = slot.ptr;
        // SAFETY: operands and result hold `n` elements: registers have complete chunks, and memory has what the access
        // covers.
        unsafe {
            f(&m);
            if let Some((base, access)) = written {
                let size = op.dtype.size();
                access.rects(start, elements, |r| {
                    let at = base.offset((r.offset * size as i64) as isize);
                    copy_rect(at, r.strides, slot.ptr.add(r.at * size), [r.len as i64, 1], r.rows, r.len, size);
                });
            }
        }
        self.frame.set(op.val, slot);
    }

    /// Repeats row values for every element of their rows.
    fn expand(&mut self, op: &BlockOp, arg: u16, size: usize) {
        let slot = self.frame.slot(arg);
        let to = self.reg(op.reg);
        let (rows, n) = (self.row.1, self.full.1);
        let slot = if slot.step == 0 || self.code.mode == Mode::Columns && n == rows {
            slot
        } else if rows == 1 {
            // SAFETY: the register holds at least a chunk.
            unsafe { copy_strided(to, 1, slot.ptr, 0, CHUNK, size) };
            Slot { ptr: to, step: 0, padded: true }
        } else if self.code.mode == Mode::Columns {
            for at in (0..n).step_by(rows) {
                // SAFETY: the register holds a tile, which consists of complete runs of rows.
                unsafe { copy_strided(to.add(at * size), 1, slot.ptr, 1, rows, size) };
            }
            Slot { ptr: to, step: 1, padded: true }
        } else {
            let inner = n / rows;
            for r in 0..rows {
                // SAFETY: the register holds `rows` rows of `inner` elements, and the operand one element per row.
                unsafe { copy_strided(to.add(r * inner * size), 1, slot.ptr.add(r * size), 0, inner, size) };
            }
            Slot { ptr: to, step: 1, padded: true }
        };
        self.frame.set(op.val, slot);
    }
}

#[inline(always)]
unsafe fn gather<T: Copy>(base: *const u8, len: i64, index: Slot, to: *mut u8, n: usize) {
    let (base, to, at) = (base as *const T, to as *mut T, index.ptr as *const i64);
    for i in 0..n {
        // SAFETY: the index is wrapped; there are `n` indices and space for `n` results.
        unsafe { *to.add(i) = base.add(wrap(*at.add(i * index.step), len)).read_unaligned() };
    }
}
