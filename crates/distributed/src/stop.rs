//! Ctrl-C while this thread waits for other processes.

use cuprous_core::interrupt::Token;

use crate::failure::{Failure, Result};

/// Returns an error if the user interrupted the work that the main thread waits for.
pub(crate) fn check() -> Result<()> {
    if Token::current().requested() { Err(Failure::interrupted("interrupted")) } else { Ok(()) }
}
