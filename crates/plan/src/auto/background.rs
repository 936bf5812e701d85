//! Kernels for the GPU that are compiled while the program goes on on the host.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::device::Device;
use crate::program::Program;

/// One compiles at a time: it has threads of its own.
static ONE: Mutex<()> = Mutex::new(());
static ENDING: AtomicBool = AtomicBool::new(false);
static ALL: Mutex<Vec<Arc<BackgroundCompile>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A program that is being compiled.
#[derive(Default)]
pub(super) struct BackgroundCompile(Mutex<Option<JoinHandle<()>>>);

impl BackgroundCompile {
    /// Begins; [`crate::device::DevicePrograms::compile`] will find what was made. What fails is told by the run that needs it.
    pub(super) fn start(gpu: &Arc<dyn Device>, program: &Arc<Program>) -> Arc<BackgroundCompile> {
        let (gpu, program) = (gpu.clone(), program.clone());
        let work = move || {
            let _one = lock(&ONE);
            if !ENDING.load(Relaxed) {
                gpu.prepare(&[program], &mut |_, _| {});
            }
        };
        // Without a thread the run that needs it compiles it.
        let handle = thread::Builder::new().name("cuprous compile".into()).spawn(work).ok();
        let making = Arc::new(BackgroundCompile(Mutex::new(handle)));
        let mut all = lock(&ALL);
        all.retain(|other| lock(&other.0).as_ref().is_some_and(|handle| !handle.is_finished()));
        all.push(making.clone());
        making
    }

    pub(super) fn wait(&self) {
        if let Some(handle) = lock(&self.0).take() {
            let _a_panic_is_no_result = handle.join();
        }
    }
}

/// The process is about to end: the compiler must not run while its library is taken down.
pub(crate) fn end() {
    ENDING.store(true, Relaxed);
    let all = std::mem::take(&mut *lock(&ALL));
    all.iter().for_each(|making| making.wait());
}
