//! Removes redundant block parameters (phi functions). A variable that an outer loop changes is passed through every
//! block of an inner loop. The optimizer treats it as a new value in each iteration and does not hoist computations
//! that depend on it. Cranelift's own pass only removes parameters that are redundant by a single branch.

use std::collections::HashMap;

use cranelift_codegen::ir::{BlockArg, BlockCall, Function, Value};

/// What is known about the incoming values of a block parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Incoming {
    /// No known value so far.
    Nothing,
    /// Always this value, which is either not a parameter or a parameter with several incoming values.
    Is(Value),
    /// Several different values.
    Several,
}

/// Removes block parameters that always have the same value. All parameters are assumed redundant until shown
/// otherwise. See M. Braun et al., "Simple and Efficient Construction of Static Single Assignment Form", CC 2013.
pub(super) fn remove_redundant_params(func: &mut Function) {
    let mut incoming: HashMap<Value, Vec<Option<Value>>> = HashMap::new();
    let mut order = Vec::new();
    for block in func.layout.blocks().skip(1) {
        order.extend_from_slice(func.dfg.block_params(block));
    }
    each_call(func, &mut |func, call| {
        let params = func.dfg.block_params(call.block(&func.dfg.value_lists));
        for (&param, arg) in params.iter().zip(call.args(&func.dfg.value_lists)) {
            let value = arg.as_value().map(|v| func.dfg.resolve_aliases(v));
            incoming.entry(param).or_default().push(value);
        }
    });
    let mut known: HashMap<Value, Incoming> = order.iter().map(|&param| (param, Incoming::Nothing)).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &param in order.iter().filter(|param| incoming.contains_key(param)) {
            if known[&param] == Incoming::Several {
                continue;
            }
            let found = incoming[&param].iter().fold(Incoming::Nothing, |found, &arg| {
                let Some(arg) = arg else { return Incoming::Several };
                let value = match known.get(&arg) {
                    Some(Incoming::Nothing) => return found,
                    Some(Incoming::Is(value)) => *value,
                    Some(Incoming::Several) | None => arg,
                };
                match found {
                    _ if value == param => found,
                    Incoming::Nothing => Incoming::Is(value),
                    Incoming::Is(other) if other == value => found,
                    _ => Incoming::Several,
                }
            });
            changed |= known.insert(param, found) != Some(found);
        }
    }
    let is_redundant = |param: &Value| matches!(known.get(param), Some(Incoming::Is(_)));
    let mut calls = Vec::new();
    each_call(func, &mut |func, call| {
        let block = call.block(&func.dfg.value_lists);
        let args = func.dfg.block_params(block).iter().zip(call.args(&func.dfg.value_lists));
        calls.push((
            block,
            args.filter(|(param, _)| !is_redundant(param)).map(|(_, arg)| arg).collect::<Vec<BlockArg>>(),
        ));
    });
    let mut calls = calls.into_iter();
    let blocks: Vec<_> = func.layout.blocks().collect();
    for block in blocks {
        let insts: Vec<_> = func.layout.block_insts(block).collect();
        for inst in insts {
            let dfg = &mut func.dfg;
            for call in dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables) {
                if let Some((block, args)) = calls.next() {
                    *call = BlockCall::new(block, args, &mut dfg.value_lists);
                }
            }
        }
    }
    for &param in order.iter().rev() {
        if let Incoming::Is(value) = known[&param] {
            func.dfg.remove_block_param(param);
            func.dfg.change_to_alias(param, value);
        }
    }
}

/// Calls `f` for each edge between blocks.
fn each_call(func: &Function, f: &mut dyn FnMut(&Function, &BlockCall)) {
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            let calls = func.dfg.insts[inst].branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables);
            calls.iter().for_each(|call| f(func, call));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::ir::condcodes::IntCC;
    use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, UserFuncName, types};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// Nested loops with a branch inside: only the counters remain as parameters of their loop headers.
    #[test]
    fn a_loop_hands_on_only_what_it_changes() {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I64));
        let mut func = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut func, &mut context);
        let blocks = [(); 8].map(|()| b.create_block());
        let [entry, outer, head, body, then, next, after, end] = blocks;
        let [i, j, n] = [(); 3].map(|()| b.declare_var(types::I64));
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let zero = b.ins().iconst(types::I64, 0);
        let most = b.block_params(entry)[0];
        b.def_var(i, zero);
        b.def_var(n, most);
        b.ins().jump(outer, &[]);
        b.switch_to_block(outer);
        let zero = b.ins().iconst(types::I64, 0);
        b.def_var(j, zero);
        b.ins().jump(head, &[]);
        for (block, counter, inside, out) in [(head, j, body, after), (after, i, outer, end)] {
            b.switch_to_block(block);
            let (at, most) = (b.use_var(counter), b.use_var(n));
            let at = b.ins().iadd_imm_s(at, 1);
            b.def_var(counter, at);
            let more = b.ins().icmp(IntCC::SignedLessThan, at, most);
            b.ins().brif(more, inside, &[], out, &[]);
        }
        b.switch_to_block(body);
        let (x, y) = (b.use_var(i), b.use_var(j));
        let same = b.ins().icmp(IntCC::Equal, x, y);
        b.ins().brif(same, then, &[], next, &[]);
        for (block, to) in [(then, next), (next, head)] {
            b.switch_to_block(block);
            b.use_var(i);
            b.ins().jump(to, &[]);
        }
        b.switch_to_block(end);
        let found = b.use_var(i);
        b.ins().return_(&[found]);
        b.seal_all_blocks();
        remove_redundant_params(b.func);
        let params = blocks.map(|block| b.func.dfg.block_params(block).len());
        assert_eq!(params, [1, 1, 1, 0, 0, 0, 0, 0], "{}", b.func.display());
        let mut passed = Vec::new();
        each_call(b.func, &mut |func, call| passed.push(call.args(&func.dfg.value_lists).count()));
        assert_eq!(passed.iter().sum::<usize>(), 4, "{passed:?}: into both loops, and around them");
    }
}
