//! Interrupts of a thread that waits for a device.

mod common;

use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use common::{Bench, bench_on};
use cuprous_core::error::ErrorKind;
use cuprous_core::interrupt::{self, Token};
use cuprous_core::{Array, Fun, Result};

impl Bench {
    /// Submits `n` passes over 1 GiB, and returns the first element of the result.
    fn passes(&self, n: usize) -> Array {
        let mut x = self.array(&[1 << 28]);
        for _ in 0..n {
            x = self.map(Fun::Multiply, &x, &x);
            self.engine.flush().unwrap();
        }
        x.view(x.layout.with(&[1], &[1], 0))
    }
    /// Reads an element on a thread that listens for interrupts.
    fn read(&self, a: &Array) -> Result<()> {
        Token::MAIN.within(|| self.engine.download(a, &mut [0; 4]))
    }
    fn downloads(&self) -> usize {
        self.log.downloads.load(Relaxed)
    }
}

/// Returns the kind of the error with which `wait` ends after an interrupt.
fn interrupted(wait: impl FnOnce() -> Result<()>) -> ErrorKind {
    interrupt::clear();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            interrupt::request();
        });
        let error = wait().unwrap_err();
        interrupt::clear();
        error.kind
    })
}

#[test]
fn a_wait_for_much_work_ends_with_an_interrupt() {
    let b = bench_on(150, true);
    let x = b.passes(8);
    // Each read waits, also after one that was interrupted.
    for _ in 0..2 {
        assert_eq!(interrupted(|| b.read(&x)), ErrorKind::Interrupted);
    }
    assert_eq!(interrupted(|| Token::MAIN.within(|| b.engine.synchronize())), ErrorKind::Interrupted);
    assert_eq!(b.downloads(), 0);
    b.engine.device.synchronize().unwrap();
    b.read(&x).unwrap();
    assert_eq!(b.downloads(), 1);
}

#[test]
fn a_copy_after_little_work_is_submitted_at_once() {
    let b = bench_on(151, true);
    // Each read waits for the work before it, which does not count for the next one.
    for _ in 0..9 {
        let x = b.passes(1);
        b.engine.download(&x, &mut [0; 4]).unwrap();
    }
    assert_eq!((b.downloads(), b.log.waited[1].load(Relaxed)), (9, 0));
}

#[test]
fn operations_of_an_ended_thread_outlive_an_interrupt() {
    let b = bench_on(152, false);
    let x = b.array(&[8]);
    // From here on this thread has a tape, so it does not get that of the other thread.
    b.engine.realize(&b.one(Fun::Exp, &x).storage).unwrap();
    let theirs = thread::scope(|scope| scope.spawn(|| b.one(Fun::Negative, &x)).join().unwrap());
    let own = b.one(Fun::Sqrt, &x);
    b.log.interrupts.store(1, Relaxed);
    assert_eq!(b.engine.realize(&own.storage).err().unwrap().kind, ErrorKind::Interrupted);
    for a in [&theirs, &own] {
        b.engine.realize(&a.storage).unwrap();
    }
    assert_eq!(b.log.ran.load(Relaxed), 3);
}
