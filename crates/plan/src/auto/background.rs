//! Compilation for the GPU in the background, while programs run on the host.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::device::Device;
use crate::program::Program;

/// Held while a program is compiled: one at a time, because the compiler has threads of its own.
static COMPILING: Mutex<()> = Mutex::new(());
static ENDING: AtomicBool = AtomicBool::new(false);
static RUNNING: Mutex<Vec<Arc<BackgroundCompile>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A program that is being compiled.
#[derive(Default)]
pub(super) struct BackgroundCompile(Mutex<Option<JoinHandle<()>>>);

impl BackgroundCompile {
    /// Starts compiling a program, so that [`crate::device::DevicePrograms::compile`] finds its kernels. An error is
    /// left to the run that needs the program.
    pub(super) fn start(gpu: &Arc<dyn Device>, program: &Arc<Program>) -> Arc<BackgroundCompile> {
        let (gpu, program) = (gpu.clone(), program.clone());
        let work = move || {
            let _compiling = lock(&COMPILING);
            if !ENDING.load(Relaxed) {
                gpu.prepare(&[program], &mut |_, _| {});
            }
        };
        // If no thread can be started, the run that needs the program compiles it.
        let handle = thread::Builder::new().name("cuprous compile".into()).spawn(work).ok();
        let compile = Arc::new(BackgroundCompile(Mutex::new(handle)));
        let mut all = lock(&RUNNING);
        all.retain(|other| lock(&other.0).as_ref().is_some_and(|handle| !handle.is_finished()));
        all.push(compile.clone());
        compile
    }

    pub(super) fn wait(&self) {
        if let Some(handle) = lock(&self.0).take() {
            let _panic = handle.join();
        }
    }
}

/// Ends background compilation before the process exits: the compiler must not run while its library is unloaded.
pub(crate) fn end() {
    ENDING.store(true, Relaxed);
    let all = std::mem::take(&mut *lock(&RUNNING));
    all.iter().for_each(|compile| compile.wait());
}
