//! A device that records plans, and short words for recording operations.
#![allow(dead_code, reason = "not every test file uses every word")]

use std::sync::{Arc, Mutex};

use cuprous_core::scalar::Number;
use cuprous_core::{Array, Buffer, CallOp, DType, Fun, Memory, Result, Scalar};
use cuprous_plan::{Device, Engine, Executable, Inst, Kernel, Operand, Program, Step, spec};

/// A device that keeps the programs it is given and runs nothing.
#[derive(Default)]
pub(crate) struct Recorder {
    programs: Arc<Mutex<Vec<Arc<Program>>>>,
    asynchronous: bool,
}

/// An address, and no memory.
pub(crate) struct Nowhere {
    pub(crate) bytes: usize,
    pub(crate) address: u64,
}

impl Memory for Nowhere {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

struct Idle;

impl Executable for Idle {
    fn run(&mut self, _: &[u64], _: &[Scalar], _: bool) -> Result<()> {
        Ok(())
    }
}

impl Device for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        Ok(Arc::new(Nowhere { bytes, address: 4096 }))
    }
    fn upload(&self, from: &[u8], _: bool) -> Result<Buffer> {
        self.alloc(from.len())
    }
    fn download(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Ok(())
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        spec::check(program).expect("the plan follows the rules");
        self.programs.lock().unwrap().push(program.clone());
        Ok(Box::new(Idle))
    }
    fn can(&self, call: &CallOp) -> bool {
        !matches!(call, CallOp::Fft { .. })
    }
    fn is_asynchronous(&self) -> bool {
        self.asynchronous
    }
    fn source(&self, _: &Program) -> Result<String> {
        Ok(String::new())
    }
    fn memory(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    fn reset_peak(&self) {}
    fn set_memory_limit(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

pub(crate) struct Bench {
    pub(crate) engine: Arc<Engine>,
    pub(crate) programs: Arc<Mutex<Vec<Arc<Program>>>>,
}

/// An engine on such a device. Each test has a device number of its own: threads keep one tape for each.
pub(crate) fn bench(id: u8) -> Bench {
    bench_on(id, false)
}

/// The same on a device that works while the host goes on, or not.
pub(crate) fn bench_on(id: u8, asynchronous: bool) -> Bench {
    let recorder = Recorder { asynchronous, ..Recorder::default() };
    let programs = recorder.programs.clone();
    Bench { engine: Engine::new(id, Arc::new(recorder)), programs }
}

impl Bench {
    pub(crate) fn array(&self, shape: &[i64]) -> Array {
        self.engine.empty(DType::F32, shape).unwrap()
    }
    pub(crate) fn map(&self, fun: Fun, a: &Array, b: &Array) -> Array {
        self.engine.map(fun, &[Operand::Array(a), Operand::Array(b)], None).unwrap()
    }
    pub(crate) fn with(&self, fun: Fun, a: &Array, x: f64) -> Array {
        self.engine.map(fun, &[Operand::Array(a), Operand::Weak(Number::Float(x))], None).unwrap()
    }
    pub(crate) fn one(&self, fun: Fun, a: &Array) -> Array {
        self.engine.map(fun, &[Operand::Array(a)], None).unwrap()
    }
    /// Runs what is recorded; the last program planned.
    pub(crate) fn program(&self) -> Arc<Program> {
        self.engine.flush().unwrap();
        self.programs.lock().unwrap().last().expect("something was planned").clone()
    }
}

pub(crate) fn kernels(program: &Program) -> Vec<&Kernel> {
    program.steps.iter().filter_map(|s| if let Step::Kernel(k) = s { Some(k) } else { None }).collect()
}

pub(crate) fn count(kernel: &Kernel, what: fn(&Inst) -> bool) -> usize {
    kernel.body.iter().filter(|t| what(&t.inst)).count()
}

pub(crate) fn loads(kernel: &Kernel) -> usize {
    count(kernel, |i| matches!(i, Inst::Load { .. }))
}

pub(crate) fn stores(kernel: &Kernel) -> usize {
    count(kernel, |i| matches!(i, Inst::Store { .. }))
}
