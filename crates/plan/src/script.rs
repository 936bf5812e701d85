//! Formulas: operations on arrays that lie alike, recorded under one lock and without a handle for each value between.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, In, Layout, LayoutRef, NodeKind, Result, Scalar, Tape};

use crate::engine::{Engine, Replay};

/// A value of a formula.
#[derive(Clone, Copy, Debug)]
pub struct Val(In);

/// Records one formula: see [`Engine::formulas`].
///
/// Invariants: the engine's lock is held and no array of the formula is pending on another tape; all of them have
/// `layout`, which is contiguous and of a float, and so has every value.
pub struct Script<'a> {
    tape: &'a mut Tape,
    layout: LayoutRef,
    number: LayoutRef,
    /// [`Node::extra`](cuprous_core::Node) of all that it records.
    formula: u8,
}

impl Script<'_> {
    /// What an array holds now.
    pub fn read(&mut self, a: &Array) -> Val {
        debug_assert_eq!(a.layout.id, self.layout.id);
        // SAFETY: the type's invariants.
        let src = unsafe { self.tape.source(&a.storage) };
        Val(In { src, layout: self.tape.keep_layout(&self.layout) })
    }

    /// A number, which is no part of the program's key.
    pub fn number(&mut self, n: f64) -> Val {
        Val(self.tape.constant(Scalar::new(Number::Float(n), self.layout.dtype), &self.number))
    }

    /// A scalar function.
    pub fn map(&mut self, fun: Fun, args: &[Val]) -> Val {
        let mut ins = [In::default(); 3];
        ins.iter_mut().zip(args).for_each(|(to, arg)| *to = arg.0);
        Val(self.tape.push_intermediate(NodeKind::Map, fun as u8, args.len() as u8, &self.layout, ins, self.formula))
    }

    /// Writes a value to an array.
    pub fn write(&mut self, target: &Array, value: Val) {
        let base = self.read(target);
        // SAFETY: the type's invariants.
        unsafe { self.tape.push_write(NodeKind::Update, 0, 2, target, [base.0, value.0, In::default()]) };
        if let Some(node) = self.tape.nodes.last_mut() {
            node.set_formula(self.formula);
        }
    }
}

impl Engine {
    /// Can those arrays be the operands of one formula?
    pub fn are_alike(&self, arrays: &[&Array]) -> bool {
        let Some(first) = arrays.first() else { return false };
        let simple = first.layout.identity && matches!(first.dtype(), DType::F32 | DType::F64) && first.layout.size > 0;
        let alike =
            |a: &&Array| a.layout.id == first.layout.id && a.storage.device == self.id && !a.storage.is_external();
        simple && arrays.iter().all(alike)
    }

    /// Records a formula for each row of arrays, all [alike](Engine::are_alike); those at `written` are written. Says
    /// no, with nothing recorded, where operations are to run one by one.
    pub fn formulas(
        self: &Arc<Engine>,
        rows: &[&[&Array]],
        written: &[usize],
        formula: impl Fn(&mut Script, &[&Array]),
    ) -> Result<bool> {
        if self.enter()?.replay == Replay::Single {
            return Ok(false);
        }
        for row in rows {
            for array in written.iter().filter_map(|&k| row.get(k)) {
                self.preserve(array)?;
            }
        }
        let arrays: Vec<&Array> = rows.iter().flat_map(|row| row.iter().copied()).collect();
        let (mut state, index) = self.open(&arrays)?;
        for row in rows {
            for array in written.iter().filter_map(|&k| row.get(k)) {
                self.before_write(&mut state, &array.storage)?;
            }
        }
        let tape = &mut state.tapes[index as usize];
        let before = tape.nodes.len();
        for (k, row) in rows.iter().enumerate() {
            let layout = row[0].layout.clone();
            let number = Layout::contiguous(layout.dtype, &[]);
            formula(&mut Script { tape, layout, number, formula: 1 + (k % 255) as u8 }, row);
        }
        let recorded = tape.nodes.len() - before;
        if recorded > 0 {
            state.stats.nodes += recorded as u64 - 1;
            self.close(&mut state, index, None, false);
        }
        Ok(true)
    }
}
