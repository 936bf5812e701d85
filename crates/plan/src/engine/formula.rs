//! Formulas: operations on arrays of one layout, recorded under one lock and without a handle for each intermediate
//! value.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, In, Layout, LayoutRef, NodeKind, Result, Scalar, Tape};

use super::{Engine, Replay};

/// A value of a formula.
#[derive(Clone, Copy, Debug)]
pub struct FormulaValue(In);

/// Records one formula: see [`Engine::formulas`].
///
/// Invariants: the engine's lock is held, and no array of the formula is pending on another tape. All arrays and values
/// have `layout`, which is contiguous and of a float dtype.
pub struct Formula<'a> {
    tape: &'a mut Tape,
    layout: LayoutRef,
    number: LayoutRef,
    /// [`Node::extra`](cuprous_core::Node) of all nodes that it records.
    formula: u8,
}

impl Formula<'_> {
    /// Returns the present value of an array.
    pub fn read(&mut self, a: &Array) -> FormulaValue {
        debug_assert_eq!(a.layout.id, self.layout.id);
        // SAFETY: the lock is held and foreign tapes are settled, by the type's invariants.
        let src = unsafe { self.tape.source(&a.storage) };
        FormulaValue(In { src, layout: self.tape.keep_layout(&self.layout) })
    }

    /// Returns a number, which is not part of the program's key.
    pub fn number(&mut self, n: f64) -> FormulaValue {
        FormulaValue(self.tape.constant(Scalar::new(Number::Float(n), self.layout.dtype), &self.number))
    }

    /// Records a scalar function.
    pub fn map(&mut self, fun: Fun, args: &[FormulaValue]) -> FormulaValue {
        let mut ins = [In::default(); 3];
        ins.iter_mut().zip(args).for_each(|(to, arg)| *to = arg.0);
        FormulaValue(self.tape.push_intermediate(
            NodeKind::Map,
            fun as u8,
            args.len() as u8,
            &self.layout,
            ins,
            self.formula,
        ))
    }

    /// Writes a value to an array.
    pub fn write(&mut self, target: &Array, value: FormulaValue) {
        let base = self.read(target);
        // SAFETY: the lock is held and foreign tapes are settled, by the type's invariants.
        unsafe { self.tape.push_write(NodeKind::Update, 0, 2, target, [base.0, value.0, In::default()]) };
        if let Some(node) = self.tape.nodes.last_mut() {
            node.set_formula(self.formula);
        }
    }
}

impl Engine {
    /// Returns true if the arrays can be operands of one formula.
    pub fn are_alike(&self, arrays: &[&Array]) -> bool {
        let Some(first) = arrays.first() else { return false };
        let simple = first.layout.identity && matches!(first.dtype(), DType::F32 | DType::F64) && first.layout.size > 0;
        let alike =
            |a: &&Array| a.layout.id == first.layout.id && a.storage.device == self.id && !a.storage.is_external();
        simple && arrays.iter().all(alike)
    }

    /// Records a formula for each row of arrays. All arrays are [alike](Engine::are_alike); those at `written` are
    /// written. Returns false, with nothing recorded, if operations are run one by one.
    ///
    /// # Errors
    /// Earlier work that an array depends on failed.
    pub fn formulas(
        self: &Arc<Engine>,
        rows: &[&[&Array]],
        written: &[usize],
        formula: impl Fn(&mut Formula, &[&Array]),
    ) -> Result<bool> {
        if self.enter()?.replay == Replay::Single {
            return Ok(false);
        }
        for row in rows {
            for array in written.iter().filter_map(|&k| row.get(k)) {
                self.before_change(array)?;
            }
        }
        let arrays: Vec<&Array> = rows.iter().flat_map(|row| row.iter().copied()).collect();
        let mut recording = self.open(&arrays)?;
        for row in rows {
            for array in written.iter().filter_map(|&k| row.get(k)) {
                self.before_write(&mut recording.state, &array.storage)?;
            }
        }
        let tape = recording.tape_mut();
        let before = tape.nodes.len();
        for (k, row) in rows.iter().enumerate() {
            let layout = row[0].layout.clone();
            let number = Layout::contiguous(layout.dtype, &[]);
            formula(&mut Formula { tape, layout, number, formula: 1 + (k % 255) as u8 }, row);
        }
        let recorded = tape.nodes.len() - before;
        if recorded > 0 {
            recording.state.stats.nodes += recorded as u64 - 1;
            recording.close(None);
        }
        Ok(true)
    }
}
