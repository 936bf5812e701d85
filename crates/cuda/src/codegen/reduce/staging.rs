//! Splits a kernel with several phases into several launches with at most one pass of reductions each. Row values are
//! passed on through scratch.

use std::collections::{BTreeSet, HashMap};

use cuprous_plan::{Access, Inst, Kernel, Level, Typed, Val};

use super::phases::Phases;
use crate::codegen::lower::{Unit, is_sink, operands};
use crate::codegen::types::{Arg, Generated};

/// Returns the launches of a kernel: reductions in order, then possibly a map over all elements.
pub(crate) fn stages(unit: &Unit, out: &mut Generated) -> Vec<Unit> {
    let kernel = &unit.kernel;
    let phases = Phases::new(kernel);
    let mut staging = Staging {
        unit,
        tainted: tainted(kernel),
        exported: vec![BTreeSet::new(); phases.reducing_passes as usize],
        slots: HashMap::new(),
        buffers: unit.buffers.clone(),
        phases,
    };
    // From the last to the first, since each launch requests row values from earlier ones.
    let last = staging.phases.passes - 1;
    let mut kernels = Vec::new();
    let scatters_rows = kernel.body.iter().any(|t| t.level == Level::Row && matches!(t.inst, Inst::Scatter { .. }));
    if scatters_rows {
        kernels.push(staging.kernel(last + 1, last, out));
    }
    kernels.extend((0..=last).rev().map(|p| staging.kernel(p, last, out)));
    kernels.reverse();
    kernels.into_iter().map(|kernel| Unit { kernel, buffers: staging.buffers.clone() }).collect()
}

struct Staging<'a> {
    unit: &'a Unit,
    phases: Phases,
    /// True for values that depend on memory which the kernel writes.
    tainted: Vec<bool>,
    /// Row values that later launches need, by the launch that computes them.
    exported: Vec<BTreeSet<Val>>,
    /// The scratch buffer of each such value, as an index of `buffers`.
    slots: HashMap<Val, u16>,
    buffers: Vec<Arg>,
}

fn tainted(kernel: &Kernel) -> Vec<bool> {
    let written: Vec<u16> = kernel
        .body
        .iter()
        .filter_map(|t| match t.inst {
            Inst::Store { buf, .. } | Inst::Scatter { buf, .. } => Some(buf),
            _ => None,
        })
        .collect();
    let mut tainted = vec![false; kernel.body.len()];
    for (v, t) in kernel.body.iter().enumerate() {
        tainted[v] = match &t.inst {
            Inst::Load { buf, .. } | Inst::Gather { buf, .. } if written.contains(buf) => true,
            inst => operands(inst).into_iter().any(|a| tainted[a as usize]),
        };
    }
    tainted
}

impl Staging<'_> {
    fn body(&self) -> &[Typed] {
        &self.unit.kernel.body
    }

    /// Returns the launch after which a row value exists.
    fn launch_of(&self, v: Val) -> u32 {
        self.phases.of[v as usize].saturating_sub(1)
    }

    /// Collects what launch `p` computes (`here`) and what it reads from scratch (`read`).
    fn visit(&mut self, v: Val, p: u32, here: &mut BTreeSet<Val>, read: &mut BTreeSet<Val>) {
        if here.contains(&v) || read.contains(&v) {
            return;
        }
        let i = v as usize;
        let t = self.body()[i].clone();
        if t.level == Level::Row && !is_sink(&t.inst) && p > 0 {
            let phase = self.phases.of[i];
            let earlier = phase > 0 && phase - 1 < p || phase == 0 && self.tainted[i];
            if earlier {
                let from = self.launch_of(v) as usize;
                self.exported[from].insert(v);
                read.insert(v);
                return;
            }
        }
        operands(&t.inst).into_iter().for_each(|a| self.visit(a, p, here, read));
        here.insert(v);
    }

    fn kernel(&mut self, p: u32, last: u32, out: &mut Generated) -> Kernel {
        let (mut here, mut read) = (BTreeSet::new(), BTreeSet::new());
        let reducing_passes = self.phases.reducing_passes;
        let sinks: Vec<Val> = (0..self.body().len() as Val)
            .filter(|&v| match (&self.body()[v as usize].inst, self.body()[v as usize].level) {
                (Inst::Reduce { .. }, _) => self.phases.pass_of(v) == p,
                (Inst::Scatter { .. }, Level::Row) => p == last + 1,
                (inst, Level::Full) if is_sink(inst) => p == last,
                (inst, Level::Row) if is_sink(inst) => self.launch_of(v) == p,
                _ => false,
            })
            .collect();
        sinks.into_iter().for_each(|v| self.visit(v, p, &mut here, &mut read));
        if p < reducing_passes {
            for v in self.exported[p as usize].clone() {
                self.visit(v, p, &mut here, &mut read);
            }
        }

        let outer = self.unit.kernel.outer.clone();
        let rows = || Access { offset: 0, strides: cuprous_core::layout::contiguous_strides(&outer) };
        let mut body: Vec<Typed> = Vec::new();
        let mut number: HashMap<Val, Val> = HashMap::new();
        for v in read {
            let dtype = self.body()[v as usize].dtype;
            let buf = self.slot(v, out);
            number.insert(v, body.len() as Val);
            body.push(Typed { inst: Inst::Load { buf, access: rows() }, dtype, level: Level::Row });
        }
        for v in here {
            let mut t = self.body()[v as usize].clone();
            renumber(&mut t.inst, &number);
            number.insert(v, body.len() as Val);
            body.push(t);
        }
        if p < reducing_passes {
            for v in self.exported[p as usize].clone() {
                let (dtype, buf) = (self.body()[v as usize].dtype, self.slot(v, out));
                let inst = Inst::Store { buf, access: rows(), arg: number[&v] };
                body.push(Typed { inst, dtype, level: Level::Row });
            }
        }
        let mut kernel = Kernel { body, ..self.unit.kernel.clone() };
        if p > last {
            kernel.inner.clear();
        }
        if p < reducing_passes { kernel } else { as_map(kernel) }
    }

    fn slot(&mut self, v: Val, out: &mut Generated) -> u16 {
        if let Some(&slot) = self.slots.get(&v) {
            return slot;
        }
        let bytes = self.unit.kernel.outer_size() as usize * self.body()[v as usize].dtype.size();
        self.buffers.push(out.scratch(bytes));
        let slot = (self.buffers.len() - 1) as u16;
        self.slots.insert(v, slot);
        slot
    }
}

fn renumber(inst: &mut Inst, number: &HashMap<Val, Val>) {
    let to = |v: &mut Val| *v = number[v];
    match inst {
        Inst::Map { args, .. } => args.iter_mut().for_each(to),
        Inst::Gather { index, .. } => to(index),
        Inst::Reduce { arg, .. } | Inst::Store { arg, .. } => to(arg),
        Inst::Scatter { index, arg, .. } => [index, arg].into_iter().for_each(to),
        Inst::Load { .. } | Inst::Scalar { .. } | Inst::Iota { .. } => {}
    }
}

/// Turns a kernel without reductions into a map over all elements. Row accesses get stride 0 along the inner axes.
fn as_map(mut kernel: Kernel) -> Kernel {
    let inner = std::mem::take(&mut kernel.inner);
    let rank = kernel.outer.len() + inner.len();
    kernel.outer.extend(inner);
    for t in &mut kernel.body {
        t.level = Level::Full;
        if let Inst::Load { access, .. } | Inst::Store { access, .. } | Inst::Iota { access } = &mut t.inst {
            access.strides.resize(rank, 0);
        }
    }
    kernel
}
