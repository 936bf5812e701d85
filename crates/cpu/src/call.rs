//! Calls: routines on whole arrays.

use cuprous_core::{Error, LayoutRef, Result};
use cuprous_plan::Call;

use crate::run::Env;

/// A call, checked.
#[derive(Debug)]
pub(crate) struct Routine {
    call: Call,
}

/// An array operand: its address and layout.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// First byte of its buffer.
    pub(crate) base: *mut u8,
    pub(crate) layout: &'a LayoutRef,
}

impl Routine {
    pub(crate) fn new(call: &Call, buffers: usize) -> Result<Routine> {
        if call.ins.iter().chain([&call.out]).any(|(b, _)| *b as usize >= buffers) {
            return Err(Error::runtime("[cpu] a call names a buffer that the program has not"));
        }
        Ok(Routine { call: call.clone() })
    }

    /// # Safety
    /// The buffers hold what the layouts reach.
    pub(crate) unsafe fn run(&self, _env: Env) -> Result<()> {
        Err(Error::not_implemented("[cpu] call"))
    }
}
