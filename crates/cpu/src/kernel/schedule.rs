//! Schedules vector instructions. Cranelift computes values without side effects as late as possible but keeps loads in
//! their order, so that all loaded values would occupy registers at once. Vector instructions are therefore moved to
//! where their operands become available.

use std::collections::HashMap;

use cranelift_codegen::Context;
use cranelift_codegen::ir::{Block, Function, Inst, ValueDef};

/// Moves every instruction that defines a vector behind its last operand, within blocks and within chains of blocks
/// that each lead only to the next.
pub(super) fn schedule(context: &mut Context) {
    let blocks: Vec<Block> = context.func.layout.blocks().collect();
    let mut next: HashMap<Block, Block> = HashMap::new();
    for &block in &blocks {
        let mut before = context.cfg.pred_iter(block);
        if let (Some(only), None) = (before.next(), before.next())
            && only.block != block
            && context.cfg.succ_iter(only.block).count() == 1
        {
            next.insert(only.block, block);
        }
    }
    let inner: Vec<Block> = next.values().copied().collect();
    for &block in blocks.iter().filter(|block| !inner.contains(block)) {
        let row: Vec<Block> = std::iter::successors(Some(block), |block| next.get(block).copied()).collect();
        order_row(&mut context.func, &row);
    }
}

/// Returns true if the instruction defines one vector from its operands alone.
fn is_movable(func: &Function, inst: Inst) -> bool {
    let op = func.dfg.insts[inst].opcode();
    let acts = op.can_load() || op.can_store() || op.can_trap() || op.is_call() || op.other_side_effects();
    let leads = op.is_branch() || op.is_terminator();
    !acts && !leads && matches!(func.dfg.inst_results(inst), [one] if func.dfg.value_type(*one).is_vector())
}

fn order_row(func: &mut Function, row: &[Block]) {
    // Fixed instructions are numbered. A moved instruction is placed behind the one with the number of its last
    // operand.
    let mut numbers: HashMap<Inst, usize> = HashMap::new();
    let mut starts: HashMap<Block, usize> = HashMap::new();
    let mut fixed: Vec<Option<Inst>> = Vec::new();
    let mut moved = Vec::new();
    for &block in row {
        starts.insert(block, fixed.len());
        fixed.push(None);
        for inst in func.layout.block_insts(block) {
            let operand = |&value| match func.dfg.value_def(func.dfg.resolve_aliases(value)) {
                ValueDef::Result(inst, _) => numbers.get(&inst).copied(),
                ValueDef::Param(block, _) => starts.get(&block).copied(),
                ValueDef::Union(..) => None,
            };
            let last = func.dfg.inst_args(inst).iter().filter_map(operand).max();
            match last.filter(|_| is_movable(func, inst)) {
                Some(last) => {
                    numbers.insert(inst, last);
                    moved.push((inst, last));
                }
                None => {
                    numbers.insert(inst, fixed.len());
                    fixed.push(Some(inst));
                }
            }
        }
    }
    for &(inst, _) in &moved {
        func.layout.remove_inst(inst);
    }
    let mut ends = fixed.clone();
    for (inst, last) in moved {
        // Behind the start of a block means before its first instruction, which is a fixed one.
        let after = match ends[last] {
            Some(end) => func.layout.next_inst(end),
            None => fixed[last + 1],
        };
        func.layout.insert_inst(inst, after.expect("the last instruction of a block is fixed"));
        if ends[last].is_some() {
            ends[last] = Some(inst);
        }
    }
}
