//! From groups to steps: each group becomes a kernel or a routine on the program's buffers.

use std::time::Instant;

use cuprous_core::layout::contiguous_strides;
use cuprous_core::node::SrcKind;
use cuprous_core::{DType, Dims, Fun, In, Layout, NodeKind, RoutineOp};
use smallvec::SmallVec;

use super::epilogue::FusedMatmul;
use super::fusion::{Fusion, Group, is_reduced};
use super::input::Input;
use super::memory::Memory;
use super::{NONE, Times, arena, pack};
use crate::program::{
    Access, Addend, Assignment, BufferInfo, Epilogue, Inst, Kernel, LaunchStep, Level, Program, RoutineCall, Step,
    Typed, UserLaunch, Val,
};

/// Plans a tape. Adds to `times` how long the stages took.
pub(crate) fn plan(input: Input, times: &mut Times) -> Program {
    let start = Instant::now();
    let fusion = Fusion::new(input);
    let fused = Instant::now();
    let memory = fusion.memory();
    let mut emitter = Emitter {
        buffers: Buffers { by_storage: vec![NONE; fusion.input.storage_bytes.len()], infos: Vec::new() },
        body: Body {
            typed: Vec::new(),
            buffers: Vec::new(),
            known: Vec::new(),
            of_node: vec![Val::MAX; fusion.input.nodes.len()],
            recomputed: Vec::new(),
        },
        memory,
        steps: Vec::with_capacity(fusion.groups.len()),
        nodes: Vec::with_capacity(fusion.groups.len()),
        fusion,
        nonzero: Vec::new(),
    };
    for g in 0..emitter.fusion.groups.len() {
        let before = emitter.steps.len();
        let nodes = std::mem::take(&mut emitter.fusion.groups[g].nodes);
        emitter.group(g as u32, &nodes);
        if emitter.steps.len() > before {
            emitter.nodes.push(nodes);
        }
    }
    let program = emitter.finish();
    times.fusion += (fused - start).as_nanos() as u64;
    times.emission += fused.elapsed().as_nanos() as u64;
    program
}

/// The program's buffers, one for each storage in use.
struct Buffers {
    /// The buffer of each storage, or [`NONE`].
    by_storage: Vec<u32>,
    infos: Vec<BufferInfo>,
}

impl Buffers {
    fn of_storage(&mut self, storage: u32, input: &Input) -> u32 {
        let buffer = &mut self.by_storage[storage as usize];
        if *buffer == NONE {
            let assignment = if (storage as usize) < input.leaves {
                Assignment::Leaf(storage)
            } else {
                Assignment::Arena(usize::MAX)
            };
            *buffer = self.infos.len() as u32;
            self.infos.push(BufferInfo { bytes: input.storage_bytes[storage as usize], assignment });
        }
        *buffer
    }
}

struct Emitter<'a> {
    fusion: Fusion<'a>,
    memory: Memory,
    buffers: Buffers,
    /// Reused from kernel to kernel.
    body: Body,
    steps: Vec<Step>,
    /// The nodes of each step.
    nodes: Vec<Vec<u32>>,
    /// See [`Program::nonzero`].
    nonzero: Vec<(u32, DType)>,
}

/// A kernel under construction.
#[derive(Default)]
struct Body {
    typed: Vec<Typed>,
    buffers: Vec<u32>,
    /// Loads, constants and indices so far, with their [`tag`]. A store to a buffer removes its loads.
    known: Vec<(u64, Val)>,
    /// The value of each node of the tape that has been emitted.
    of_node: Vec<Val>,
    /// The values of nodes of earlier groups that were computed again, at the level that was asked for.
    recomputed: Vec<(u32, Level, Val)>,
}

impl Body {
    fn push(&mut self, inst: Inst, dtype: DType, level: Level) -> Val {
        self.typed.push(Typed { inst, dtype, level });
        (self.typed.len() - 1) as Val
    }

    /// Returns the value of an equal earlier instruction if there is one.
    fn push_once(&mut self, inst: Inst, dtype: DType, level: Level) -> Val {
        let tag = tag(&inst);
        let new = Typed { inst, dtype, level };
        if let Some(&(_, v)) = self.known.iter().find(|&&(t, v)| t == tag && self.typed[v as usize] == new) {
            return v;
        }
        let v = self.typed.len() as Val;
        self.typed.push(new);
        self.known.push((tag, v));
        v
    }

    fn buffer(&mut self, buffer: u32) -> u16 {
        let k = self.buffers.iter().position(|&b| b == buffer).unwrap_or_else(|| {
            self.buffers.push(buffer);
            self.buffers.len() - 1
        });
        k as u16
    }

    fn forget_loads(&mut self, buffer: u16) {
        let typed = &self.typed;
        self.known.retain(|&(_, v)| !matches!(typed[v as usize].inst, Inst::Load { buf, .. } if buf == buffer));
    }
}

/// Returns a number that is equal for equal loads, constants and indices, and mostly different for different ones.
fn tag(inst: &Inst) -> u64 {
    let mix = |h: u64, word: i64| (h ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let of = |access: &Access, kind: u64| access.strides.iter().fold(mix(kind, access.offset), |h, &s| mix(h, s));
    match inst {
        Inst::Load { buf, access } => of(access, u64::from(*buf)),
        Inst::Iota { access } => of(access, 1 << 32),
        Inst::Scalar { slot } => 1 << 33 | u64::from(*slot),
        _ => unreachable!("other instructions are not looked up"),
    }
}

impl Emitter<'_> {
    /// Emits the step of a group with these nodes.
    fn group(&mut self, g: u32, nodes: &[u32]) {
        let Some(&first) = nodes.first() else { return };
        if let Some(index) = self.fusion.groups[g as usize].fused {
            return self.fused_matmul(index);
        }
        match self.fusion.node(first).kind {
            NodeKind::Routine => return self.routine(first),
            NodeKind::Launch => return self.launch(nodes),
            _ => {}
        }
        let mut body = std::mem::take(&mut self.body);
        for &n in nodes {
            self.emit(n, g, &mut body);
        }
        let group = &self.fusion.groups[g as usize];
        let mut kernel = Kernel {
            outer: axes(&group.shape, group.mask, false),
            inner: axes(&group.shape, group.mask, true),
            body: Vec::new(),
            buffers: Vec::new(),
        };
        prune(&mut body, &mut kernel);
        body.known.clear();
        body.recomputed.clear();
        self.body = body;
        if !kernel.reduces() {
            flatten_levels(&mut kernel);
        }
        if !kernel.body.is_empty() {
            collapse(&mut kernel);
            self.steps.push(Step::Kernel(kernel));
        }
    }

    /// Emits the instructions of a node.
    fn emit(&mut self, n: u32, g: u32, body: &mut Body) {
        let node = *self.fusion.node(n);
        let level = self.fusion.level[n as usize];
        let out = self.fusion.layout(node.out);
        match node.kind {
            NodeKind::Map => {
                let args: SmallVec<[Val; 3]> =
                    node.operands().iter().map(|i| self.value(n, i, g, level, body)).collect();
                let v = match node.map_fun() {
                    // A copy is its operand, unless it has to change type or level.
                    Fun::Positive if body.typed[args[0] as usize].level == level => args[0],
                    fun => body.push(Inst::Map { fun, args }, out.dtype, level),
                };
                body.of_node[n as usize] = v;
                self.store(n, g, v, body);
            }
            NodeKind::Gather => {
                let index = self.value(n, &node.ins[1], g, level, body);
                let storage = self.storage(&node.ins[0]);
                let buf = body.buffer(self.buffers.of_storage(storage, &self.fusion.input));
                let len = (self.fusion.input.storage_bytes[storage as usize] / out.dtype.size()) as i64;
                let v = body.push(Inst::Gather { buf, len, index }, out.dtype, level);
                body.of_node[n as usize] = v;
                self.store(n, g, v, body);
            }
            NodeKind::Reduce => {
                let arg = self.value(n, &node.ins[0], g, Level::Full, body);
                let v = body.push(Inst::Reduce { op: node.reduce_op(), arg }, out.dtype, Level::Row);
                body.of_node[n as usize] = v;
                self.store(n, g, v, body);
            }
            NodeKind::Update => {
                let v = self.value(n, &node.ins[1], g, level, body);
                body.of_node[n as usize] = v;
                if self.memory.stored[n as usize] {
                    let storage = self.fusion.input.storage_of[n as usize];
                    let buf = body.buffer(self.buffers.of_storage(storage, &self.fusion.input));
                    let access = self.access(out, g, level);
                    body.push(Inst::Store { buf, access, arg: v }, out.dtype, level);
                    body.forget_loads(buf);
                }
            }
            NodeKind::Scatter => {
                let index = self.value(n, &node.ins[1], g, level, body);
                let arg = self.value(n, &node.ins[2], g, level, body);
                let storage = self.fusion.input.storage_of[n as usize];
                let buf = body.buffer(self.buffers.of_storage(storage, &self.fusion.input));
                let len = (self.fusion.input.storage_bytes[storage as usize] / out.dtype.size()) as i64;
                body.push(Inst::Scatter { buf, len, index, arg, op: node.scatter_op() }, out.dtype, Level::Full);
            }
            NodeKind::Routine | NodeKind::Launch => unreachable!("routines and launches are steps of their own"),
        }
    }

    fn storage(&self, operand: &In) -> u32 {
        match operand.src.kind() {
            SrcKind::Node(p) => self.fusion.input.storage_of[p as usize],
            SrcKind::Leaf(slot) => slot,
            _ => unreachable!("only arrays have storage"),
        }
    }

    /// Returns the value of an operand of `n` inside the kernel.
    fn value(&mut self, n: u32, operand: &In, g: u32, level: Level, body: &mut Body) -> Val {
        if let SrcKind::Node(p) = operand.src.kind()
            && self.fusion.needed[p as usize]
            && self.fusion.group(p) == g
            && self.fusion.passes(p, operand.layout, n)
        {
            let v = body.of_node[p as usize];
            debug_assert_ne!(v, Val::MAX, "a value passes within its group");
            return v;
        }
        if let SrcKind::Node(p) = operand.src.kind()
            && self.fusion.needed[p as usize]
            && self.fusion.group(p) != g
            && self.fusion.recomputes(p, operand.layout, n, &self.memory)
        {
            return self.recompute(p, n, g, level, body);
        }
        self.load(n, operand, g, level, body)
    }

    /// Loads an operand of `n`, or of what is computed again for it.
    fn load(&mut self, n: u32, operand: &In, g: u32, level: Level, body: &mut Body) -> Val {
        let reduces = self.fusion.groups[g as usize].mask != 0;
        let layout = self.fusion.layout(operand.layout);
        if let SrcKind::Const(slot) = operand.src.kind() {
            let level = if reduces { Level::Row } else { Level::Full };
            return body.push_once(Inst::Scalar { slot }, layout.dtype, level);
        }
        let mut access = self.access(layout, g, level);
        let mut level = level;
        let reduced = self.fusion.node(n).kind == NodeKind::Reduce;
        if reduces && level == Level::Full && !reduced {
            let group = &self.fusion.groups[g as usize];
            let outer = (0..group.shape.len()).filter(|&k| !is_reduced(group.mask, k)).count();
            if access.strides[outer..].iter().all(|&s| s == 0) {
                access.strides.truncate(outer);
                level = Level::Row;
            }
        }
        if operand.src.kind() == SrcKind::Iota {
            return body.push_once(Inst::Iota { access }, layout.dtype, level);
        }
        let storage = self.storage(operand);
        let buf = body.buffer(self.buffers.of_storage(storage, &self.fusion.input));
        body.push_once(Inst::Load { buf, access }, layout.dtype, level)
    }

    /// Computes the value of `p`, a node of an earlier group, again for its reader `n`.
    fn recompute(&mut self, p: u32, n: u32, g: u32, level: Level, body: &mut Body) -> Val {
        if let Some(&(.., v)) = body.recomputed.iter().find(|&&(q, at, _)| (q, at) == (p, level)) {
            return v;
        }
        let node = *self.fusion.node(p);
        let mut args: SmallVec<[Val; 3]> = SmallVec::new();
        for operand in node.operands() {
            args.push(match operand.src.kind() {
                SrcKind::Node(q) if !self.memory.stored[q as usize] => self.recompute(q, n, g, level, body),
                _ => self.load(n, operand, g, level, body),
            });
        }
        let is_full = args.iter().any(|&v| body.typed[v as usize].level == Level::Full);
        let own = if is_full { Level::Full } else { Level::Row };
        let v = match node.map_fun() {
            Fun::Positive => args[0],
            fun => body.push(Inst::Map { fun, args }, self.fusion.layout(node.out).dtype, own),
        };
        body.recomputed.push((p, level, v));
        v
    }

    /// Returns a layout as an access of the group's iteration space.
    fn access(&self, layout: &Layout, g: u32, level: Level) -> Access {
        let Group { shape, mask, .. } = &self.fusion.groups[g as usize];
        let strides: Dims = match level {
            Level::Full if layout.shape == *shape => layout.strides.clone(),
            // Flat: the elements in order, whatever the shape.
            Level::Full => contiguous_strides(shape),
            Level::Row => {
                let mut given = layout.shape.iter().zip(&layout.strides).filter(|(n, _)| **n != 1).map(|(_, &s)| s);
                (0..shape.len())
                    .map(|k| if is_reduced(*mask, k) || shape[k] == 1 { 0 } else { given.next().unwrap_or(0) })
                    .collect()
            }
        };
        if *mask == 0 {
            return Access { offset: layout.offset, strides };
        }
        let pick = |reduced: bool| (0..shape.len()).filter(move |&k| is_reduced(*mask, k) == reduced);
        let mut ordered: Dims = pick(false).map(|k| strides[k]).collect();
        if level == Level::Full {
            ordered.extend(pick(true).map(|k| strides[k]));
        }
        Access { offset: layout.offset, strides: ordered }
    }

    /// Writes a node's value to its storage if it is needed there.
    fn store(&mut self, n: u32, g: u32, arg: Val, body: &mut Body) {
        if !self.memory.stored[n as usize] {
            return;
        }
        let out = self.fusion.layout(self.fusion.node(n).out);
        let level = self.fusion.level[n as usize];
        let storage = self.fusion.input.storage_of[n as usize];
        let buf = body.buffer(self.buffers.of_storage(storage, &self.fusion.input));
        let access = self.access(out, g, level);
        body.push(Inst::Store { buf, access, arg }, out.dtype, level);
    }

    fn routine(&mut self, n: u32) {
        self.routine_into(n, n, Epilogue::default());
    }

    /// Emits a routine that writes its result to the storage of node `last`.
    fn routine_into(&mut self, n: u32, last: u32, epilogue: Epilogue) {
        let node = *self.fusion.node(n);
        let ins = node.operands().iter().map(|i| (self.buffer(i), self.fusion.layout(i.layout).clone())).collect();
        let out = self.fusion.layout(node.out).clone();
        let buffer = self.buffers.of_storage(self.fusion.input.storage_of[last as usize], &self.fusion.input);
        let op = RoutineOp::clone(&RoutineOp::interned(node.routine_id()));
        self.steps.push(Step::Routine(RoutineCall { op, ins, out: (buffer, out), epilogue }));
    }

    /// Emits a launch of a user kernel.
    fn launch(&mut self, nodes: &[u32]) {
        let first = *self.fusion.node(nodes[0]);
        let launch = UserLaunch::by_number(first.launch_id(), self.fusion.input.launches);
        let mut arrays = Vec::new();
        for &n in nodes {
            let node = *self.fusion.node(n);
            let [array] = node.operands() else { continue };
            let layout = self.fusion.layout(array.layout);
            let offset = layout.offset as u64 * layout.dtype.size() as u64;
            let buffer = self.buffers.of_storage(self.fusion.input.storage_of[n as usize], &self.fusion.input);
            arrays.push((launch.address_offsets[node.launch_array()], buffer, offset));
        }
        self.steps.push(Step::Launch(LaunchStep { launch, constants: first.launch_constants(), arrays }));
    }

    /// Emits a matmul with its epilogue.
    fn fused_matmul(&mut self, index: usize) {
        let FusedMatmul { matmul, last, scale, addend, bias, .. } = self.fusion.fused_matmuls[index];
        let out = self.fusion.layout(self.fusion.node(matmul).out);
        let offset = |emitter: &Self, operand: &In| emitter.fusion.layout(operand.layout).offset;
        let epilogue = Epilogue {
            scale,
            addend: addend.map(|(operand, factor)| {
                let layout = out.with(&out.shape, &contiguous_strides(&out.shape), offset(self, &operand));
                Addend { array: (self.buffer(&operand), layout), factor }
            }),
            bias: bias.map(|operand| {
                let columns = out.shape[out.ndim() - 1];
                (self.buffer(&operand), out.with(&[columns], &[1], offset(self, &operand)))
            }),
        };
        self.nonzero.extend(epilogue.factors().filter_map(|f| f.constant).map(|slot| (slot, out.dtype)));
        self.routine_into(matmul, last, epilogue);
    }

    fn buffer(&mut self, operand: &In) -> u32 {
        let storage = self.storage(operand);
        self.buffers.of_storage(storage, &self.fusion.input)
    }

    fn finish(mut self) -> Program {
        let input = &self.fusion.input;
        let mut outputs = Vec::new();
        for (n, &live) in input.live.iter().enumerate() {
            let storage = input.storage_of[n];
            if live && storage as usize >= input.leaves {
                let buffer = self.buffers.of_storage(storage, input);
                self.buffers.infos[buffer as usize].assignment = Assignment::Output(outputs.len() as u32);
                outputs.push(n as u32);
            }
        }
        let (steps, nodes) = pack::pack(self.steps, self.nodes);
        let mut program = Program {
            steps,
            nodes,
            buffers: self.buffers.infos,
            arena_bytes: 0,
            outputs,
            scalars: 0,
            nonzero: self.nonzero,
            early: Vec::new(),
            written: Vec::new(),
            aligned: true,
        };
        arena::place(&mut program);
        program.find_written_and_early();
        program
    }
}

fn axes(shape: &[i64], mask: u32, reduced: bool) -> Dims {
    shape.iter().enumerate().filter(|(k, _)| is_reduced(mask, *k) == reduced).map(|(_, &n)| n).collect()
}

/// Moves the instructions of `from` whose results are used to `kernel`.
fn prune(from: &mut Body, kernel: &mut Kernel) {
    let body = &mut from.typed;
    let mut used = vec![false; body.len()];
    for (i, t) in body.iter().enumerate().rev() {
        used[i] |= matches!(t.inst, Inst::Store { .. } | Inst::Scatter { .. });
        if used[i] {
            t.inst.operands(|v| used[v as usize] = true);
        }
    }
    let mut renamed: Vec<Val> = vec![0; body.len()];
    kernel.body.reserve_exact(used.iter().filter(|&&u| u).count());
    for (i, mut t) in body.drain(..).enumerate() {
        if used[i] {
            t.inst.operands_mut(|v| *v = renamed[*v as usize]);
            renamed[i] = kernel.body.len() as Val;
            kernel.body.push(t);
        }
    }
    let mut kept: Vec<u32> = Vec::with_capacity(from.buffers.len());
    for t in &mut kernel.body {
        if let Some(buf) = t.inst.buffer_mut() {
            let global = from.buffers[*buf as usize];
            *buf = kept.iter().position(|&b| b == global).unwrap_or_else(|| {
                kept.push(global);
                kept.len() - 1
            }) as u16;
        }
    }
    from.buffers.clear();
    kernel.buffers = kept;
}

/// Merges the two levels of a kernel whose reductions have all been removed.
fn flatten_levels(kernel: &mut Kernel) {
    let reduced = kernel.inner.len();
    for t in &mut kernel.body {
        if t.level == Level::Row {
            t.level = Level::Full;
            if let Some(access) = t.inst.access_mut() {
                access.strides.extend(std::iter::repeat_n(0, reduced));
            }
        }
    }
    kernel.outer.append(&mut kernel.inner);
}

/// Drops axes of extent 1 and merges axes that every access treats as one.
fn collapse(kernel: &mut Kernel) {
    let outer = kernel.outer.len();
    let extents: Dims = kernel.outer.iter().chain(&kernel.inner).copied().collect();
    // Runs of axes that stay together: (last axis of the run, extent).
    let mut runs: SmallVec<[(usize, i64); 5]> = SmallVec::new();
    for k in 0..extents.len() {
        if extents[k] == 1 {
            continue;
        }
        let same_side = |j: usize| (j < outer) == (k < outer);
        if let Some(&mut (ref mut last, ref mut extent)) = runs.last_mut()
            && same_side(*last)
            && (kernel.body.iter().filter_map(|t| t.inst.access()).map(|access| &access.strides))
                .all(|s| k >= s.len() || s[*last] == s[k] * extents[k])
        {
            *extent *= extents[k];
            *last = k;
        } else {
            runs.push((k, extents[k]));
        }
    }
    kernel.outer = runs.iter().filter(|(k, _)| *k < outer).map(|&(_, n)| n).collect();
    kernel.inner = runs.iter().filter(|(k, _)| *k >= outer).map(|&(_, n)| n).collect();
    if runs.len() < extents.len() {
        for access in kernel.body.iter_mut().filter_map(|t| t.inst.access_mut()) {
            let old = &mut access.strides;
            let axes = runs.iter().take_while(|(k, _)| *k < old.len()).count();
            // Each run's last axis stands at or behind the run's number.
            (0..axes).for_each(|to| old[to] = old[runs[to].0]);
            old.truncate(axes);
        }
    }
    // A reduction over one element is still a reduction.
    if kernel.inner.is_empty() && kernel.reduces() {
        kernel.inner.push(1);
        for t in &mut kernel.body {
            if t.level == Level::Full
                && let Some(access) = t.inst.access_mut()
            {
                access.strides.push(0);
            }
        }
    }
}
