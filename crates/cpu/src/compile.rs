//! Lowers a fused kernel to bytecode: lists of block operations over a register file of tile buffers.
//!
//! The order of iteration depends on the kernel's shape ([`Mode`]). In *rows* mode a tile holds complete rows and one
//! list has all operations. Where rows are longer than a tile, or where the outer axis is the contiguous one, each
//! reduction ends a *pass* over the inner space, and later passes recompute the values that they need.

use cuprous_core::{DType, Error, Fun, Result, ScatterOp};
use cuprous_plan::{Inst, Kernel, Level};
use smallvec::SmallVec;

use crate::affine::AffineAccess;
use crate::blocks::reduce::{ReduceFns, reduce};
use crate::blocks::scatter::{ScatterArgs, scatter};
use crate::blocks::{CHUNK, MapFn, map};
use crate::isa::Entry;

/// Bytes of registers that a tile may use: most of the L1 cache, with space for streamed operands.
const TILE_BYTES: usize = 48 << 10;
const MIN_TILE: usize = 512;
const MAX_TILE: usize = 4096;
/// Elements of a run from which on a tile may be a single one.
const MIN_RUN: usize = 512;
/// Outer indices of a tile in columns mode.
const COLUMN_TILE: usize = 1024;

/// The order in which a kernel iterates over its space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// A tile is `rows` complete rows. Maps are rows of one element.
    Rows,
    /// A tile is a part of one row.
    Long,
    /// A tile is `tile / rows` inner indices of `rows` neighboring outer indices. The outer indices are contiguous.
    Columns,
}

/// How often a value is computed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rate {
    /// Once per task. The value is stored as one chunk of equal elements.
    Once,
    /// Once for each outer index.
    Row,
    /// Once for each element.
    Full,
}

/// The kind of a block operation, with its operands.
#[derive(Clone, Debug)]
pub(crate) enum BlockOpKind {
    /// A constant of the kernel, by its number.
    Scalar { number: usize },
    /// Reads memory, in place if it is contiguous and `copy` is not set.
    Load { buf: u16, access: AffineAccess, copy: bool },
    /// Generates indices.
    Iota { access: AffineAccess },
    /// Applies a block function. The result is written to memory directly if `direct` is set.
    Map { fun: Fun, f: MapFn, args: SmallVec<[u16; 3]>, direct: Option<(u16, AffineAccess)>, can_pad: bool },
    /// Reads elements by index.
    Gather { buf: u16, len: i64, index: u16 },
    /// Repeats a row value for each element of its row.
    Expand { arg: u16 },
    /// A reduction, as an index into [`Bytecode::reductions`].
    Reduce { reduction: usize, arg: u16 },
    /// Writes to memory.
    Store { buf: u16, access: AffineAccess, arg: u16 },
    /// Writes to memory by index.
    Scatter { buf: u16, len: i64, index: u16, arg: u16, f: Entry<ScatterArgs>, name: &'static str },
}

/// A block operation and its result.
#[derive(Clone, Debug)]
pub(crate) struct BlockOp {
    pub(crate) kind: BlockOpKind,
    /// Number of the resulting value.
    pub(crate) val: u16,
    pub(crate) dtype: DType,
    pub(crate) rate: Rate,
    /// Byte offset of the result's register in the scratch memory.
    pub(crate) reg: usize,
}

/// A reduction of the kernel.
#[derive(Clone)]
pub(crate) struct KernelReduction {
    pub(crate) fns: ReduceFns,
    pub(crate) name: &'static str,
    /// dtype of the elements.
    pub(crate) dtype: DType,
    /// The row value that holds the result.
    pub(crate) val: u16,
    /// dtype of the result.
    pub(crate) out: DType,
    /// The pass after which the result is complete.
    pub(crate) pass: usize,
    /// Byte offset and size of its state within the states.
    pub(crate) state: usize,
    pub(crate) state_bytes: usize,
    /// Byte offset of the row value's register.
    pub(crate) reg: usize,
    /// Byte offset of a tile for an operand that is a single chunk and has to be repeated.
    pub(crate) broadcast: usize,
}

/// One pass over the inner space, and the row operations that follow it.
#[derive(Clone, Default)]
pub(crate) struct Pass {
    pub(crate) full: Vec<BlockOp>,
    pub(crate) rows: Vec<BlockOp>,
}

/// A lowered kernel.
#[derive(Clone)]
pub(crate) struct Bytecode {
    pub(crate) mode: Mode,
    pub(crate) outer: i64,
    pub(crate) inner: i64,
    /// Outer indices of a tile.
    pub(crate) rows: usize,
    /// Elements of a tile.
    pub(crate) tile: usize,
    /// Operations at the start of every task.
    pub(crate) once: Vec<BlockOp>,
    /// Row operations that do not depend on a reduction (not in rows mode).
    pub(crate) early: Vec<BlockOp>,
    pub(crate) passes: Vec<Pass>,
    /// Row operations that write memory, after all passes (not in rows mode).
    pub(crate) late: Vec<BlockOp>,
    pub(crate) reductions: Vec<KernelReduction>,
    /// Number of values.
    pub(crate) vals: usize,
    /// Bytes of registers.
    pub(crate) scratch: usize,
    /// Byte offset and size of the states of reductions.
    pub(crate) states: usize,
    pub(crate) state_bytes: usize,
    /// Cost of one element, in simple operations.
    pub(crate) weight: u64,
    /// Tiles have to run in order, because the kernel has scatters.
    pub(crate) in_order: bool,
}

/// The state of the lowering.
struct Lowering<'k> {
    kernel: &'k Kernel,
    mode: Mode,
    rate: Vec<Rate>,
    /// The first pass in which each value is complete.
    stage: Vec<usize>,
    vals: u16,
    reductions: Vec<KernelReduction>,
    /// The number of constants so far. All are in the list of operations that run once.
    constants: usize,
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::runtime(format!("[cpu] internal error: the plan has a kernel that the CPU cannot run: {what}"))
}

/// Lowers a kernel.
pub(crate) fn lower(kernel: &Kernel) -> Result<Bytecode> {
    let (outer, inner) = (kernel.outer_size(), kernel.inner_size());
    let n = kernel.body.len();
    if n > 20_000 {
        return Err(unsupported(format!("{n} instructions")));
    }
    let mut l = Lowering {
        kernel,
        mode: Mode::Rows,
        rate: vec![Rate::Full; n],
        stage: vec![0; n],
        vals: n as u16,
        reductions: Vec::new(),
        constants: 0,
    };
    l.check()?;
    l.classify();
    let reduces = kernel.reduces();
    l.mode = match reduces {
        true if inner > 0 && l.prefers_columns() => Mode::Columns,
        true if inner > MAX_TILE as i64 => Mode::Long,
        _ => Mode::Rows,
    };
    let in_order = kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }));
    let mut code = Bytecode {
        mode: l.mode,
        outer,
        inner,
        rows: 1,
        tile: 0,
        once: Vec::new(),
        early: Vec::new(),
        passes: Vec::new(),
        late: Vec::new(),
        reductions: Vec::new(),
        vals: 0,
        scratch: 0,
        states: 0,
        state_bytes: 0,
        weight: kernel.body.iter().map(|t| weight(&t.inst, t.dtype)).sum::<u64>().max(1),
        in_order,
    };
    l.build_passes(&mut code)?;
    code.vals = usize::from(l.vals);
    code.reductions = std::mem::take(&mut l.reductions);
    assign_registers(&mut code);
    Ok(code)
}

/// Returns the approximate cost of an instruction per element.
fn weight(inst: &Inst, d: DType) -> u64 {
    match inst {
        Inst::Map { fun, .. } if !fun.vectorizes(d) => 24,
        Inst::Map { fun, .. } => match fun.op().cost {
            400.0.. => 100,
            20.0.. => 8,
            _ => 1,
        },
        Inst::Gather { .. } | Inst::Scatter { .. } => 4,
        Inst::Load { .. } | Inst::Store { .. } | Inst::Reduce { .. } => 1,
        _ => 0,
    }
}

impl Lowering<'_> {
    /// Checks the assumptions of the executor.
    fn check(&self) -> Result<()> {
        let k = self.kernel;
        let axes = |level: Level| k.outer.len() + if level == Level::Full { k.inner.len() } else { 0 };
        for (at, t) in k.body.iter().enumerate() {
            let operand = |&v: &u16| usize::from(v) < at;
            let buffer = |b: u16| usize::from(b) < k.buffers.len();
            let fits = match &t.inst {
                Inst::Load { buf, access } => buffer(*buf) && access.strides.len() == axes(t.level),
                Inst::Iota { access } => t.dtype == DType::I64 && access.strides.len() == axes(t.level),
                Inst::Scalar { .. } => true,
                Inst::Map { args, .. } => !args.is_empty() && args.len() <= 3 && args.iter().all(operand),
                Inst::Gather { buf, len, index } => buffer(*buf) && *len > 0 && operand(index),
                Inst::Reduce { arg, .. } => operand(arg),
                Inst::Store { buf, access, arg } => {
                    buffer(*buf)
                        && operand(arg)
                        && access.strides.len() == axes(t.level)
                        && k.body[usize::from(*arg)].dtype == t.dtype
                }
                Inst::Scatter { buf, len, index, arg, .. } => {
                    buffer(*buf)
                        && *len > 0
                        && operand(index)
                        && operand(arg)
                        && k.body[usize::from(*index)].dtype == DType::I64
                        && k.body[usize::from(*arg)].dtype == t.dtype
                }
            };
            if !fits {
                return Err(unsupported(format!("instruction {at}, {:?}", t.inst)));
            }
        }
        if k.outer.iter().any(|&e| e < 1) || k.inner.iter().any(|&e| e < 0) {
            return Err(unsupported(format!("extents {:?} × {:?}", k.outer, k.inner)));
        }
        Ok(())
    }

    fn classify(&mut self) {
        for (at, t) in self.kernel.body.iter().enumerate() {
            let of = |v: &u16| (self.rate[usize::from(*v)], self.stage[usize::from(*v)]);
            let is_constant = |strides: &[i64]| strides.iter().all(|&s| s == 0);
            let level = if t.level == Level::Row { Rate::Row } else { Rate::Full };
            (self.rate[at], self.stage[at]) = match &t.inst {
                Inst::Scalar { .. } => (Rate::Once, 0),
                Inst::Load { access, .. } | Inst::Iota { access } => {
                    (if is_constant(&access.strides) { Rate::Once } else { level }, 0)
                }
                Inst::Map { args, .. } => {
                    args.iter().map(of).fold((Rate::Once, 0), |(r, s), (r2, s2)| (r.max(r2), s.max(s2)))
                }
                Inst::Gather { index, .. } => of(index),
                Inst::Reduce { arg, .. } => (Rate::Row, of(arg).1 + 1),
                Inst::Store { arg, .. } => (level, of(arg).1),
                Inst::Scatter { index, arg, .. } => (level, of(arg).1.max(of(index).1)),
            };
        }
    }

    /// Returns true if more loads are contiguous along the outer axes than along the inner ones.
    fn prefers_columns(&self) -> bool {
        let k = self.kernel;
        let nearest = |extents: &[i64], strides: &[i64]| {
            extents.iter().zip(strides).filter(|(n, s)| **n > 1 && **s != 0).map(|(_, s)| s.abs()).min()
        };
        let mut votes = 0;
        for t in &k.body {
            if let (Inst::Load { access, .. }, Level::Full) = (&t.inst, t.level) {
                let (o, i) = access.strides.split_at(k.outer.len());
                votes += match (nearest(&k.outer, o), nearest(&k.inner, i)) {
                    (Some(o), Some(i)) => {
                        if o < i {
                            1
                        } else {
                            -1
                        }
                    }
                    _ => 0,
                };
            }
        }
        votes > 0
    }

    fn affine(&self, access: &cuprous_plan::Access, level: Level) -> AffineAccess {
        let k = self.kernel;
        let (o, i) = access.strides.split_at(k.outer.len());
        let outer = k.outer.iter().copied().zip(o.iter().copied());
        let inner = k.inner.iter().copied().zip(i.iter().copied());
        match (level, self.mode) {
            (Level::Row, _) => AffineAccess::new(access.offset, outer),
            // In columns mode the outer axes run fastest.
            (_, Mode::Columns) => AffineAccess::new(access.offset, inner.chain(outer)),
            _ => AffineAccess::new(access.offset, outer.chain(inner)),
        }
    }

    /// Returns the operation of an instruction. Operands are provided at the rate that it needs: row values are
    /// expanded in `list`.
    fn op(&mut self, at: usize, list: &mut Vec<BlockOp>, expanded: &mut Vec<(u16, u16)>) -> Result<BlockOp> {
        let t = &self.kernel.body[at];
        let rate = self.rate[at];
        let mut operand = |l: &mut Self, v: u16, rate: Rate| -> u16 {
            if rate != Rate::Full || l.rate[usize::from(v)] != Rate::Row || l.rows_have_one_element() {
                return v;
            }
            if let Some(&(_, e)) = expanded.iter().find(|(from, _)| *from == v) {
                return e;
            }
            let e = l.vals;
            l.vals += 1;
            expanded.push((v, e));
            let dtype = l.kernel.body[usize::from(v)].dtype;
            list.push(BlockOp { kind: BlockOpKind::Expand { arg: v }, val: e, dtype, rate: Rate::Full, reg: 0 });
            e
        };
        let kind = match &t.inst {
            Inst::Scalar { .. } => {
                self.constants += 1;
                BlockOpKind::Scalar { number: self.constants - 1 }
            }
            Inst::Load { buf, access } => {
                BlockOpKind::Load { buf: *buf, access: self.affine(access, t.level), copy: false }
            }
            Inst::Iota { access } => BlockOpKind::Iota { access: self.affine(access, t.level) },
            Inst::Map { fun, args } => {
                let dtypes: SmallVec<[DType; 3]> =
                    args.iter().map(|&v| self.kernel.body[usize::from(v)].dtype).collect();
                let f = map(*fun, &dtypes, t.dtype).ok_or_else(|| {
                    let names: Vec<_> = dtypes.iter().map(|d| d.name()).collect();
                    Error::type_(format!(
                        "[{}] no loop for ({}) -> {}",
                        fun.op().name,
                        names.join(", "),
                        t.dtype.name()
                    ))
                })?;
                let args = args.iter().map(|&v| operand(self, v, rate)).collect();
                BlockOpKind::Map { fun: *fun, f, args, direct: None, can_pad: fun.may_pad(dtypes[0]) }
            }
            Inst::Gather { buf, len, index } => {
                BlockOpKind::Gather { buf: *buf, len: *len, index: operand(self, *index, rate) }
            }
            Inst::Reduce { op, arg } => {
                let dtype = self.kernel.body[usize::from(*arg)].dtype;
                let (fns, out) = reduce(*op, dtype)
                    .filter(|(_, out)| *out == t.dtype)
                    .ok_or_else(|| unsupported(format!("{op:?} of {} into {}", dtype.name(), t.dtype.name())))?;
                let arg = operand(self, *arg, Rate::Full);
                let number = self.reductions.len();
                self.reductions.push(KernelReduction {
                    fns,
                    name: op.name(),
                    dtype,
                    val: at as u16,
                    out,
                    pass: self.stage[at] - 1,
                    state: 0,
                    state_bytes: 0,
                    reg: 0,
                    broadcast: 0,
                });
                BlockOpKind::Reduce { reduction: number, arg }
            }
            Inst::Store { buf, access, arg } => {
                BlockOpKind::Store { buf: *buf, access: self.affine(access, t.level), arg: operand(self, *arg, rate) }
            }
            Inst::Scatter { buf, len, index, arg, op } => {
                let f = scatter(*op, t.dtype);
                let (index, arg) = (operand(self, *index, rate), operand(self, *arg, rate));
                let name = match op {
                    ScatterOp::Set => "set",
                    ScatterOp::Add => "add",
                    ScatterOp::Multiply => "multiply",
                    ScatterOp::Maximum => "maximum",
                    ScatterOp::Minimum => "minimum",
                };
                BlockOpKind::Scatter { buf: *buf, len: *len, index, arg, f, name }
            }
        };
        Ok(BlockOp { kind, val: at as u16, dtype: t.dtype, rate, reg: 0 })
    }

    /// Returns true if row values need no expansion because rows have one element.
    fn rows_have_one_element(&self) -> bool {
        !self.kernel.reduces()
    }

    fn build_passes(&mut self, code: &mut Bytecode) -> Result<()> {
        let n = self.kernel.body.len();
        let writes = |l: &Self, at: usize| matches!(l.kernel.body[at].inst, Inst::Store { .. } | Inst::Scatter { .. });
        let mut none = Vec::new();
        code.once.reserve_exact(self.rate.iter().filter(|&&rate| rate == Rate::Once).count());
        for at in 0..n {
            if self.rate[at] == Rate::Once && !writes(self, at) {
                let op = self.op(at, &mut Vec::new(), &mut none)?;
                code.once.push(op);
            }
        }
        if self.mode == Mode::Rows {
            let (mut list, mut expanded) = (Vec::with_capacity(n - code.once.len()), Vec::new());
            for at in 0..n {
                if self.rate[at] == Rate::Once && !writes(self, at) {
                    continue;
                }
                let op = self.op(at, &mut list, &mut expanded)?;
                list.push(op);
            }
            finish_pass(&mut list, usize::from(self.vals), self.kernel.buffers.len());
            code.passes.push(Pass { full: list, rows: Vec::new() });
            return Ok(());
        }
        let is_reduce = |l: &Self, at: usize| matches!(l.kernel.body[at].inst, Inst::Reduce { .. });
        let last = (0..n).filter(|&at| is_reduce(self, at)).map(|at| self.stage[at]).max().unwrap_or(0);
        for stage in 0..=last {
            // The roots of this pass: reductions of this stage, and in the last pass the values that are written.
            let mut wanted = vec![false; n];
            for at in (0..n).rev() {
                let t = &self.kernel.body[at];
                let root = match &t.inst {
                    Inst::Reduce { .. } => self.stage[at] == stage + 1,
                    Inst::Store { .. } | Inst::Scatter { .. } => stage == last && self.rate[at] == Rate::Full,
                    _ => wanted[at],
                };
                if root {
                    wanted[at] = true;
                    for &v in operands(&t.inst).iter() {
                        wanted[usize::from(v)] |= self.rate[usize::from(v)] == Rate::Full;
                    }
                }
            }
            let (mut full, mut expanded) = (Vec::new(), Vec::new());
            for at in (0..n).filter(|&at| wanted[at]) {
                let op = self.op(at, &mut full, &mut expanded)?;
                full.push(op);
            }
            finish_pass(&mut full, usize::from(self.vals), self.kernel.buffers.len());
            let mut rows = Vec::new();
            for at in 0..n {
                if self.rate[at] != Rate::Row || is_reduce(self, at) {
                    continue;
                }
                let op = |l: &mut Self| l.op(at, &mut Vec::new(), &mut Vec::new());
                if writes(self, at) {
                    if stage == last {
                        code.late.push(op(self)?);
                    }
                } else if self.stage[at] == stage + 1 {
                    rows.push(op(self)?);
                } else if self.stage[at] == 0 && stage == 0 {
                    code.early.push(op(self)?);
                }
            }
            code.passes.push(Pass { full, rows });
        }
        // Loads of rows are copied, because the passes may overwrite the memory.
        for op in &mut code.early {
            if let BlockOpKind::Load { copy, .. } = &mut op.kind {
                *copy = true;
            }
        }
        Ok(())
    }
}

/// Returns the operands of an instruction.
fn operands(inst: &Inst) -> SmallVec<[u16; 3]> {
    match inst {
        Inst::Map { args, .. } => args.clone(),
        Inst::Gather { index, .. } => SmallVec::from_slice(&[*index]),
        Inst::Reduce { arg, .. } | Inst::Store { arg, .. } => SmallVec::from_slice(&[*arg]),
        Inst::Scatter { index, arg, .. } => SmallVec::from_slice(&[*index, *arg]),
        _ => SmallVec::new(),
    }
}

/// Returns the operands of an operation.
pub(crate) fn operands_of(kind: &BlockOpKind) -> SmallVec<[u16; 3]> {
    match kind {
        BlockOpKind::Map { args, .. } => args.clone(),
        BlockOpKind::Gather { index, .. } => SmallVec::from_slice(&[*index]),
        BlockOpKind::Expand { arg } | BlockOpKind::Reduce { arg, .. } | BlockOpKind::Store { arg, .. } => {
            SmallVec::from_slice(&[*arg])
        }
        BlockOpKind::Scatter { index, arg, .. } => SmallVec::from_slice(&[*index, *arg]),
        _ => SmallVec::new(),
    }
}

/// Decides which loads must be copied, and lets block functions write results to memory directly. `vals` and `buffers`
/// are the numbers of values and buffers.
fn finish_pass(list: &mut Vec<BlockOp>, vals: usize, buffers: usize) {
    // The last reader of each value, and for each buffer its first store, the number of its stores, and whether it is
    // read.
    let mut last_reader: Vec<Option<usize>> = vec![None; vals];
    let mut usage: SmallVec<[(Option<usize>, usize, bool); 8]> = SmallVec::from_elem((None, 0, false), buffers);
    for (i, op) in list.iter().enumerate() {
        operands_of(&op.kind).into_iter().for_each(|v| last_reader[usize::from(v)] = Some(i));
        match op.kind {
            BlockOpKind::Store { buf, .. } => {
                let (first, stores, _) = &mut usage[usize::from(buf)];
                first.get_or_insert(i);
                *stores += 1;
            }
            BlockOpKind::Load { buf, .. } | BlockOpKind::Gather { buf, .. } => usage[usize::from(buf)].2 = true,
            _ => {}
        }
    }
    for op in list.iter_mut() {
        if let BlockOpKind::Load { buf, copy, .. } = &mut op.kind {
            let first_store = usage[usize::from(*buf)].0;
            *copy = first_store.is_some_and(|s| last_reader[usize::from(op.val)].is_some_and(|l| l > s));
        }
    }
    let mut i = 0;
    while i < list.len() {
        let BlockOp { kind: BlockOpKind::Store { buf, access, arg }, rate, dtype, .. } = &list[i] else {
            i += 1;
            continue;
        };
        let (buf, arg, rate, dtype) = (*buf, *arg, *rate, *dtype);
        let (_, stores, read) = usage[usize::from(buf)];
        let contiguous = access.has_contiguous_runs() && stores == 1 && !read;
        let access = access.clone();
        let producer = list.iter_mut().find(|op| op.val == arg && op.rate == rate && op.dtype == dtype);
        match producer.map(|op| &mut op.kind) {
            Some(BlockOpKind::Map { direct: direct @ None, .. }) if contiguous => {
                *direct = Some((buf, access));
                list.remove(i);
            }
            _ => i += 1,
        }
    }
}

fn has_expansions(code: &Bytecode) -> bool {
    code.passes.iter().flat_map(|pass| &pass.full).any(|op| matches!(op.kind, BlockOpKind::Expand { .. }))
}

/// Returns the length of the runs of all loads and stores that have runs of the same length, if there are any.
fn common_run(code: &Bytecode) -> Option<usize> {
    let full = code.passes.iter().flat_map(|pass| &pass.full).filter(|op| op.rate == Rate::Full);
    let mut runs = full.filter_map(|op| match &op.kind {
        BlockOpKind::Load { access, .. } | BlockOpKind::Store { access, .. } => access.run(),
        BlockOpKind::Map { direct: Some((_, access)), .. } => access.run(),
        _ => None,
    });
    let first = runs.next()?;
    runs.all(|run| run == first).then_some(first as usize)
}

/// Assigns a register to every value and chooses the kernel's tile.
fn assign_registers(code: &mut Bytecode) {
    // Registers of full values, in bytes per element of a tile. A register is reused after its last reader.
    let mut width = 0; // bytes per element of all registers
    let mut touched = 0; // the part of it that is written
    let mut lists = Vec::new();
    for pass in &code.passes {
        let (regs, w, t) = allocate_registers(&pass.full, code.vals);
        width = width.max(w);
        touched = touched.max(t);
        lists.push(regs);
    }
    let tile = (TILE_BYTES / touched.max(1)).clamp(MIN_TILE, MAX_TILE) / CHUNK * CHUNK;
    let inner = code.inner as usize;
    let run = common_run(code).filter(|&n| n >= MIN_RUN);
    // Ends tiles where runs end, so that loads and stores need no copies.
    let whole_runs = |tile: usize| match run {
        Some(n) if n <= tile => n,
        Some(n) if n % n.div_ceil(tile) == 0 => n / n.div_ceil(tile),
        _ => tile,
    };
    (code.rows, code.tile) = match code.mode {
        Mode::Rows if inner == 0 => (MIN_TILE, CHUNK),
        Mode::Rows if code.reductions.is_empty() => {
            let rows = whole_runs(tile / inner).min(code.outer as usize);
            (rows, rows * inner)
        }
        // Long rows one by one: what is one value for a row is then the same for a tile.
        Mode::Rows if inner >= MIN_RUN && has_expansions(code) => (1, inner),
        Mode::Rows => {
            let rows = (tile / inner).max(1).min(code.outer as usize);
            (rows, rows * inner)
        }
        Mode::Long => (1, whole_runs(tile)),
        Mode::Columns => {
            let rows = COLUMN_TILE.min(code.outer as usize);
            // A tile has several inner indices only where they are adjacent in the flattened space.
            let depth = if rows == code.outer as usize { (tile / rows).max(1) } else { 1 };
            (rows, rows * depth.min(inner))
        }
    };
    let tile_room = code.tile.next_multiple_of(CHUNK);
    let rows_room = code.rows.next_multiple_of(CHUNK);
    let mut end = 0;
    let mut take = |bytes: usize| {
        let at = end;
        end += bytes.next_multiple_of(64);
        at
    };
    for op in &mut code.once {
        op.reg = take(CHUNK * op.dtype.size());
    }
    let row_lists = code.passes.iter_mut().map(|p| &mut p.rows).chain([&mut code.early]);
    for op in row_lists.flatten() {
        op.reg = take(rows_room * op.dtype.size());
    }
    // Row values also have registers of their own in rows mode, and for reductions in all modes.
    for pass in &mut code.passes {
        for op in pass.full.iter_mut().filter(|op| op.rate == Rate::Row) {
            op.reg = take(rows_room * op.dtype.size());
            if let BlockOpKind::Reduce { reduction, .. } = op.kind {
                code.reductions[reduction].reg = op.reg;
            }
        }
    }
    for f in &mut code.reductions {
        f.broadcast = take(tile_room * f.dtype.size());
    }
    let base = take(width * tile_room);
    for (pass, regs) in code.passes.iter_mut().zip(lists) {
        for (op, reg) in pass.full.iter_mut().zip(regs) {
            if op.rate == Rate::Full {
                op.reg = base + reg * tile_room;
            }
        }
    }
    let mut state = 0;
    if code.mode != Mode::Rows {
        for f in &mut code.reductions {
            f.state = state;
            f.state_bytes = match code.mode {
                Mode::Columns => f.fns.columns.bytes(code.tile),
                _ => f.fns.state_bytes,
            };
            state += f.state_bytes.next_multiple_of(64);
        }
    }
    code.state_bytes = state;
    code.states = take(state);
    code.scratch = end;
}

/// Returns the register offsets (bytes per element) of a list's full values, their total size, and the part of it that
/// is written. `vals` is the number of values.
fn allocate_registers(list: &[BlockOp], vals: usize) -> (Vec<usize>, usize, usize) {
    let mut free: Vec<(usize, usize)> = Vec::new(); // (size, offset)
    let (mut total, mut touched) = (0, 0);
    let mut regs = vec![0; list.len()];
    // The register that each value holds, and its last reader.
    let mut holder: Vec<Option<(usize, usize)>> = vec![None; vals];
    let mut last: Vec<Option<usize>> = vec![None; vals];
    for (i, op) in list.iter().enumerate() {
        for v in operands_of(&op.kind) {
            last[usize::from(v)] = Some(i);
        }
    }
    let mut written: SmallVec<[usize; 16]> = SmallVec::new();
    for (i, op) in list.iter().enumerate() {
        let defines =
            !matches!(op.kind, BlockOpKind::Store { .. } | BlockOpKind::Scatter { .. } | BlockOpKind::Reduce { .. });
        if op.rate == Rate::Full && defines {
            let size = op.dtype.size();
            let found = free.iter().rposition(|(s, _)| *s == size).map(|k| free.remove(k).1);
            let at = found.unwrap_or_else(|| {
                total += size;
                total - size
            });
            regs[i] = at;
            holder[usize::from(op.val)] = Some((size, at));
            let in_place = match &op.kind {
                BlockOpKind::Load { access, copy, .. } => access.has_contiguous_runs() && !copy,
                BlockOpKind::Map { direct, .. } => direct.is_some(),
                _ => false,
            };
            if !in_place && !written.contains(&at) {
                written.push(at);
                touched += size;
            }
            if last[usize::from(op.val)].is_none() {
                free.push((size, at));
                holder[usize::from(op.val)] = None;
            }
        }
        for v in operands_of(&op.kind) {
            if last[usize::from(v)] == Some(i)
                && let Some(reg) = holder[usize::from(v)].take()
            {
                free.push(reg);
            }
        }
    }
    (regs, total, touched)
}
