//! Builders for kernels and routines, and a device to run them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Dims, Fun, LayoutRef, ReduceOp, RoutineOp, Scalar, ScatterOp};
use cuprous_cpu::CpuDevice;
use cuprous_plan::device::{DeviceMemory, DevicePrograms};
use cuprous_plan::{Access, Assignment, BufferInfo, Epilogue, Inst, Kernel, Level, Program, RoutineCall, Step, Typed};

/// A builder of kernels.
pub struct KernelBuilder {
    pub kernel: Kernel,
    level: Level,
}

impl KernelBuilder {
    pub fn new(outer: &[i64], inner: &[i64]) -> KernelBuilder {
        let kernel = Kernel { outer: outer.into(), inner: inner.into(), body: Vec::new(), buffers: Vec::new() };
        KernelBuilder { kernel, level: Level::Full }
    }

    pub fn row(&mut self) -> &mut Self {
        self.level = Level::Row;
        self
    }

    pub fn full(&mut self) -> &mut Self {
        self.level = Level::Full;
        self
    }

    pub fn push(&mut self, inst: Inst, dtype: DType) -> u16 {
        self.kernel.body.push(Typed { inst, dtype, level: self.level });
        self.kernel.body.len() as u16 - 1
    }

    fn buf(&mut self, buffer: u32) -> u16 {
        let k = &mut self.kernel.buffers;
        let at = k.iter().position(|&b| b == buffer).unwrap_or_else(|| {
            k.push(buffer);
            k.len() - 1
        });
        at as u16
    }

    pub fn load(&mut self, buffer: u32, dtype: DType, strides: &[i64]) -> u16 {
        self.load_at(buffer, dtype, strides, 0)
    }

    pub fn load_at(&mut self, buffer: u32, dtype: DType, strides: &[i64], offset: i64) -> u16 {
        let buf = self.buf(buffer);
        self.push(Inst::Load { buf, access: Access { offset, strides: strides.into() } }, dtype)
    }

    pub fn iota(&mut self, strides: &[i64], offset: i64) -> u16 {
        self.push(Inst::Iota { access: Access { offset, strides: strides.into() } }, DType::I64)
    }

    pub fn scalar(&mut self, slot: u32, dtype: DType) -> u16 {
        self.push(Inst::Scalar { slot }, dtype)
    }

    pub fn map(&mut self, fun: Fun, dtype: DType, args: &[u16]) -> u16 {
        self.push(Inst::Map { fun, args: args.iter().copied().collect() }, dtype)
    }

    pub fn reduce(&mut self, op: ReduceOp, dtype: DType, arg: u16) -> u16 {
        let level = self.level;
        self.level = Level::Row;
        let v = self.push(Inst::Reduce { op, arg }, dtype);
        self.level = level;
        v
    }

    pub fn gather(&mut self, buffer: u32, dtype: DType, len: i64, index: u16) -> u16 {
        let buf = self.buf(buffer);
        self.push(Inst::Gather { buf, len, index }, dtype)
    }

    pub fn store(&mut self, buffer: u32, dtype: DType, strides: &[i64], arg: u16) {
        let buf = self.buf(buffer);
        self.push(Inst::Store { buf, access: Access { offset: 0, strides: strides.into() }, arg }, dtype);
    }

    pub fn scatter(&mut self, buffer: u32, dtype: DType, len: i64, index: u16, arg: u16, op: ScatterOp) {
        let buf = self.buf(buffer);
        self.push(Inst::Scatter { buf, len, index, arg, op }, dtype);
    }

    pub fn step(self) -> Step {
        Step::Kernel(self.kernel)
    }
}

/// Runs steps over buffers (as bytes) and copies the buffers back.
pub fn run(steps: Vec<Step>, data: &mut [Vec<u8>], scalars: &[Scalar]) -> cuprous_core::Result<()> {
    let device = CpuDevice::new();
    let buffers = data
        .iter()
        .enumerate()
        .map(|(k, d)| BufferInfo { bytes: d.len(), assignment: Assignment::Leaf(k as u32) })
        .collect();
    let program = Arc::new(Program { steps, buffers, scalars: scalars.len(), ..Program::default() });
    let memory: Vec<_> = data.iter().map(|d| device.upload(d, true).unwrap()).collect();
    let addresses: Vec<u64> = memory.iter().map(|m| m.address()).collect();
    assert!(!device.source(&program)?.is_empty());
    let mut executable = device.compile(&program)?;
    executable.run(&addresses, scalars, false)?;
    for (d, &a) in data.iter_mut().zip(&addresses) {
        device.download(a, d).unwrap();
    }
    Ok(())
}

/// Returns a routine on buffers `0..n`, with the output in the last buffer.
pub fn routine(op: RoutineOp, ins: Vec<LayoutRef>, out: LayoutRef) -> Step {
    let n = ins.len() as u32;
    let ins = ins.into_iter().enumerate().map(|(k, l)| (k as u32, l)).collect();
    Step::Routine(RoutineCall { op, ins, out: (n, out), epilogue: Epilogue::default() })
}

/// Runs a routine on operands (as bytes) and returns its result.
pub fn run_routine(op: RoutineOp, ins: &[(Vec<u8>, LayoutRef)], out: LayoutRef) -> Vec<u8> {
    let mut data: Vec<Vec<u8>> = ins.iter().map(|(d, _)| d.clone()).collect();
    data.push(vec![0xee; out.size as usize * out.dtype.size()]);
    run(vec![routine(op, ins.iter().map(|(_, l)| l.clone()).collect(), out)], &mut data, &[]).unwrap();
    data.pop().unwrap()
}

/// Conversion of plain numbers to bytes and back.
pub trait Plain: Copy {
    fn bytes(all: &[Self]) -> Vec<u8>;
    fn read(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! plain {
    ($($t:ty)*) => {$(
        impl Plain for $t {
            fn bytes(all: &[$t]) -> Vec<u8> { all.iter().flat_map(|v| v.to_le_bytes()).collect() }
            fn read(bytes: &[u8]) -> Vec<$t> {
                bytes.chunks_exact(size_of::<$t>()).map(|c| <$t>::from_le_bytes(c.try_into().unwrap())).collect()
            }
        }
    )*};
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

pub fn scalar(v: f64, d: DType) -> Scalar {
    Scalar::new(Number::Float(v), d)
}

pub fn dims(d: &[i64]) -> Dims {
    d.into()
}

/// Reproducible numbers in [-1, 1).
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51afd7ed558ccd);
        ((x >> 11) as f64) / (1u64 << 52) as f64 - 1.0
    }

    pub fn samples(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}
