//! Running tapes.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::error::ErrorKind;
use cuprous_core::{Error, Result, Tape};

use super::state::State;
use super::{Engine, journal};

/// Number of results that an error names if they did not fit into memory; there may be hundreds.
const MAX_NAMED: usize = 5;

impl Engine {
    /// Plans (or recognizes) and runs a tape. If its results do not fit into memory, the largest are given up and the
    /// rest is computed. If it fails otherwise, its pending values are given up. Memory from before is untouched.
    ///
    /// # Errors
    /// The program failed or was interrupted, or results were given up.
    pub(crate) fn run_tape(&self, state: &mut State, tape: u32) -> Result<()> {
        if state.recorder.is_some() {
            return self.run_recorded(state, tape);
        }
        self.run_now(state, tape)
    }

    /// Runs a tape while the cost of a function is counted.
    #[cold]
    fn run_recorded(&self, state: &mut State, tape: u32) -> Result<()> {
        let Some(mut recorder) = state.recorder.take_if(|recorder| recorder.records(tape)) else {
            return self.run_now(state, tape);
        };
        let before = recorder.tape_to_run_first(&state.tapes[tape as usize], &state.tapes);
        let result = before.map_or(Ok(()), |waiting| self.run_now(state, waiting));
        recorder.add_leaves(&state.tapes[tape as usize]);
        let (nodes, count) = (state.tapes[tape as usize].nodes.len(), state.stats.planned + state.stats.replayed);
        let result = result.and_then(|()| self.run_now(state, tape));
        if state.stats.planned + state.stats.replayed > count
            && let Some(program) = state.programs.last()
        {
            recorder.add_run(&program, nodes);
        }
        state.recorder = Some(recorder);
        result
    }

    fn run_now(&self, state: &mut State, tape: u32) -> Result<()> {
        let mut parked = false;
        if state.programs.has_suspended() {
            state.sweep();
            parked = state.programs.suspended().contains(&tape);
        }
        let index = tape;
        let State { tapes, programs, journal, replay, stats, submitted, .. } = state;
        let tape = &mut tapes[tape as usize];
        if tape.nodes.is_empty() {
            return Ok(());
        }
        *submitted = submitted.saturating_add(tape.work);
        // Results that do not fit are given up, largest first, and the rest is computed. Then the error is raised.
        let (mut no_room, mut given_up) = (None, 0);
        let result = loop {
            // An internal error must not look like one of the user's, nor end the process.
            let run = AssertUnwindSafe(|| programs.run(tape, (self.id, &*self.device), *replay, journal, stats));
            match catch_unwind(run) {
                Ok(Err(e)) if e.kind == ErrorKind::Memory => {
                    let error = no_room.get_or_insert(e);
                    // SAFETY: the lock is held.
                    let Some(node) = (unsafe { tape.give_up_largest() }) else {
                        // Only launches are left, and the memory that they need is not available.
                        // SAFETY: the lock is held.
                        unsafe { tape.clear() };
                        break Ok(());
                    };
                    given_up += 1;
                    if given_up <= MAX_NAMED {
                        let (name, bytes) =
                            (journal::name(&tape.nodes[node]), tape.owners[node].as_ref().map_or(0, |s| s.bytes));
                        let _ = write!(error.message, "; given up: [{name}], {bytes} bytes{}", tape.location(node));
                    }
                }
                Ok(result) => break result,
                Err(panic) => {
                    let cause = panic.downcast_ref::<String>().map(String::as_str);
                    let cause = cause.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
                    break Err(Error::runtime(format!("an internal error of Cuprous, please report it: {cause}")));
                }
            }
        };
        if result.as_ref().is_err_and(|error| error.kind == ErrorKind::Interrupted) {
            if !parked {
                state.park(index);
            }
            return result;
        }
        let result = result.map_err(|error| Error { message: error.message + &failure_context(tape), ..error });
        if parked {
            state.free_tapes.push(index);
        }
        if result.is_err() {
            // The tape would fail again, so the session continues without it.
            // SAFETY: the lock is held.
            unsafe { tape.clear() };
        }
        if let Some(error) = no_room.as_mut().filter(|_| given_up > MAX_NAMED) {
            let _ = write!(error.message, "; and {} smaller ones", given_up - MAX_NAMED);
        }
        state.note_submitted();
        let result = no_room.map_or(result, Err);
        self.tracking.store(state.tracks(), Relaxed);
        result
    }
}

/// Describes the operations of a program that failed, and where they were recorded.
#[cold]
fn failure_context(tape: &Tape) -> String {
    const SHOWN: usize = 8;
    let mut text = String::from("\nThis happened while computing");
    for (k, node) in tape.nodes.iter().take(SHOWN).enumerate() {
        let _ = write!(text, "{} [{}]{}", if k == 0 { "" } else { "," }, journal::name(node), tape.location(k));
    }
    if tape.nodes.len() > SHOWN {
        let _ = write!(text, " and {} more", tape.nodes.len() - SHOWN);
    }
    if tape.locations.is_empty() {
        text += "; set CUPROUS_PLACES=1 in the environment to see the lines of your program";
    }
    text
}
