//! Tests on a real device. Without one each test returns at once. The libraries are found through
//! `CUPROUS_NVIDIA_ROOTS` (the wheels' `nvidia` folders).

use crate::cublaslt::{CublasLt, Epilogue, Matmul, MatmulType, Matrix, Operands, WORKSPACE_BYTES, Workspace};
use crate::driver::{ArgBlock, Context, DevPtr, LaunchShape, Module, Stream, device_info, is_available, mem_info};
use crate::error::{CudaError, Result};
use crate::graph::GraphBuilder;
use crate::nvrtc::{CompileOptions, best_arch, compile};
use crate::pool::{DeviceSegments, Pool};
use crate::staging::Staging;

const SOURCE: &str = r#"
extern "C" __global__ void scale(float* x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
extern "C" __global__ void shared_fill(float* x) {
  extern __shared__ float big[];
  big[threadIdx.x * 300] = threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = big[(31 - threadIdx.x) * 300];
}
extern "C" __global__ void wild(float* x) { x[1ull << 50] = 1; }
"#;

/// A device with the objects that tests need.
struct Bench {
    context: &'static Context,
    stream: Stream,
    pool: Pool<DeviceSegments>,
    staging: Staging,
}

impl Bench {
    fn new() -> Option<Bench> {
        if !is_available() {
            return None;
        }
        if let Some(roots) = std::env::var_os("CUPROUS_NVIDIA_ROOTS") {
            cuprous_cuda_sys::set_roots(std::env::split_paths(&roots).collect());
        }
        let context = Context::of_device(0).expect("available");
        Some(Bench {
            context,
            stream: Stream::new(context).expect("available"),
            pool: Pool::new(DeviceSegments::new(context)),
            staging: Staging::new(context),
        })
    }

    fn module(&self) -> Module {
        let arch = best_arch(device_info(0).expect("there").compute_capability).expect("NVRTC is installed");
        let compiled = compile(SOURCE, "test.cu", &CompileOptions::new(arch)).expect("sound");
        Module::load(self.context, &compiled.cubin).expect("made for this device")
    }

    fn put<T: Copy>(&mut self, values: &[T]) -> DevPtr {
        let bytes = size_of_val(values);
        let ptr = self.pool.alloc(bytes as u64).expect("room");
        // SAFETY: both ranges have this size.
        unsafe { self.staging.upload(ptr, values.as_ptr().cast(), bytes, &self.stream) }.expect("sound");
        ptr
    }

    fn get<T: Copy + Default>(&mut self, ptr: DevPtr, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        // SAFETY: both ranges have this size.
        unsafe { self.staging.download(values.as_mut_ptr().cast(), ptr, size_of_val(&values[..]), &self.stream) }
            .expect("sound");
        values
    }
}

fn scale_args(ptr: DevPtr, factor: f32, n: usize) -> ArgBlock {
    let mut args = ArgBlock::new();
    args.push_ptr(ptr);
    args.push_bytes(&factor.to_ne_bytes());
    args.push_bytes(&(n as i32).to_ne_bytes());
    args
}

#[test]
fn copies_of_every_size_are_correct() {
    let Some(mut bench) = Bench::new() else { return };
    let sizes = [1, 3, 511, 4096, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 5_000_001, 70_000_003];
    for bytes in sizes.into_iter().chain((1..200).map(|i| i * 331)) {
        let data: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 253) as u8).collect();
        let ptr = bench.put(&data);
        assert!(bench.get::<u8>(ptr, bytes) == data, "{bytes} bytes");
        assert!(bench.pool.free(ptr));
    }
}

#[test]
fn the_ring_does_not_overwrite_running_uploads() {
    let Some(mut bench) = Bench::new() else { return };
    // Several rounds of the ring without waiting.
    let blocks: Vec<(DevPtr, Vec<u32>)> = (0..400u32)
        .map(|i| {
            let data: Vec<u32> = (0..15_000).map(|j| i * 20_011 + j).collect();
            (bench.put(&data), data)
        })
        .collect();
    for (ptr, data) in blocks {
        assert!(bench.get::<u32>(ptr, data.len()) == data);
    }
}

#[test]
fn kernels_graphs_and_patches() -> Result<()> {
    let Some(mut bench) = Bench::new() else { return Ok(()) };
    let module = bench.module();
    let scale = module.function(c"scale")?;
    assert!(scale.info()?.max_threads >= 256 && scale.max_blocks_per_sm(256, 0)? > 0);
    let ones = vec![1f32; 1000];
    let (x, y, z) = (bench.put(&ones), bench.put(&ones), bench.put(&ones));
    let (twos, zeros) = (bench.put(&[2f32; 1000]), bench.put(&[0f32; 1000]));
    let shape = LaunchShape::linear(4, 256);
    let mut pointers = Vec::new();
    scale_args(x, 3.0, 1000).pointers(&mut pointers);
    let mut args = scale_args(x, 3.0, 1000);
    args.pointers(&mut pointers);
    // SAFETY: the arguments are the kernel's, within the allocation.
    unsafe { scale.launch(&shape, &bench.stream, &mut pointers) }?;
    assert_eq!(bench.get::<f32>(x, 1000), vec![3.0; 1000]);

    let mut builder = GraphBuilder::new(bench.context)?;
    // SAFETY: the arguments match the kernel's signature, within the allocation, which lives through the test.
    let (first, fill, copy, mut exec) = unsafe {
        let first = builder.add_kernel(scale, shape, scale_args(x, 2.0, 1000), &[])?;
        let fill = builder.add_copy(y, twos, 2000, &[])?;
        let second = builder.add_kernel(scale, shape, scale_args(y, 10.0, 1000), &[fill])?;
        let copy = builder.add_copy(z, x, 4000, &[first, second])?;
        (first, fill, copy, builder.instantiate()?)
    };
    exec.upload(&bench.stream)?;
    exec.launch(&bench.stream)?;
    assert_eq!(bench.get::<f32>(x, 1000), vec![6.0; 1000]);
    assert_eq!(bench.get::<f32>(y, 1000)[498..502], [20.0, 20.0, 10.0, 10.0]);
    assert_eq!(bench.get::<f32>(z, 1000), vec![6.0; 1000]);
    // SAFETY: the arguments match the kernel's signature, within the allocation.
    unsafe {
        assert!(!exec.set_kernel_args(first, &scale_args(x, 2.0, 1000))?);
        assert!(exec.set_kernel_args(first, &scale_args(x, 0.5, 500))?);
        assert!(exec.set_copy(fill, y, zeros, 4000)?);
        assert!(exec.set_copy(copy, z, y, 2000)?);
        assert!(exec.set_kernel_args(copy, &scale_args(y, 0.0, 1000)).is_err());
    }
    exec.launch(&bench.stream)?;
    assert_eq!(bench.get::<f32>(x, 1000)[498..502], [3.0, 3.0, 6.0, 6.0]);
    assert_eq!(bench.get::<f32>(z, 1000)[498..502], [0.0, 0.0, 6.0, 6.0]);

    let fill = module.function(c"shared_fill")?;
    fill.set_max_dynamic_shared(31 * 1200 + 4 + 20_000)?;
    // A smaller request does not lower the limit.
    fill.set_max_dynamic_shared(1000)?;
    let mut args = ArgBlock::new();
    args.push_ptr(x);
    args.pointers(&mut pointers);
    let shape = LaunchShape { shared: 31 * 1200 + 4 + 20_000, ..LaunchShape::linear(1, 32) };
    // SAFETY: the arguments match the kernel's signature, within the allocation.
    unsafe { fill.launch(&shape, &bench.stream, &mut pointers) }?;
    assert_eq!(bench.get::<f32>(x, 3), [31.0, 30.0, 29.0]);
    assert!(module.function(c"no_such").is_err());
    assert!(matches!(Context::of_device(99), Err(CudaError::NoDevice { ordinal: 99, .. })));
    Ok(())
}

fn host_matmul(a: &[f32], b: &[f32], m: usize, k: usize, n: usize) -> Vec<f32> {
    let mut c = vec![0f32; m * n];
    for i in 0..m {
        for p in 0..k {
            for j in 0..n {
                c[i * n + j] += a[i * k + p] * b[p * n + j];
            }
        }
    }
    c
}

#[test]
fn matmuls_are_correct_and_can_be_captured() -> Result<()> {
    let Some(mut bench) = Bench::new() else { return Ok(()) };
    let mut lt = CublasLt::new(bench.context)?;
    let workspace = Workspace { start: bench.pool.alloc(WORKSPACE_BYTES as u64)?, bytes: WORKSPACE_BYTES };
    let (m, k, n) = (37, 20, 53);
    // Small integers: exact in any order of summation, TF32 included.
    let a: Vec<f32> = (0..m * k).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
    let bias: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let expected = host_matmul(&a, &b, m, k, n);
    let operands = Operands {
        a: bench.put(&a),
        b: bench.put(&b),
        c: bench.put(&vec![f32::NAN; m * n]),
        addend: DevPtr::NULL,
        bias: bench.put(&bias),
    };
    let plain = Matmul::row_major(MatmulType::F32, m as u64, k as u64, n as u64);
    for tf32 in [false, true] {
        // SAFETY: the shapes are those of the allocations, here and below.
        unsafe { lt.matmul(&Matmul { tf32, ..plain }, &operands, workspace, &bench.stream) }?;
        assert_eq!(bench.get::<f32>(operands.c, m * n), expected);
    }
    let relu = Matmul { epilogue: Epilogue::ReluBias, alpha: [2.0, 0.0], ..plain };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&relu, &operands, workspace, &bench.stream) }?;
    let with_bias: Vec<f32> = expected.iter().enumerate().map(|(i, x)| (2.0 * x + bias[i % n]).max(0.0)).collect();
    assert_eq!(bench.get::<f32>(operands.c, m * n), with_bias);
    // Adds another array and a bias; then the same in place.
    let sum = Matmul { epilogue: Epilogue::Bias, alpha: [2.0, 0.0], beta: [-3.0, 0.0], ..plain };
    let addend: Vec<f32> = (0..m * n).map(|i| (i % 17) as f32).collect();
    let sums: Vec<f32> = (0..m * n).map(|i| 2.0 * expected[i] - 3.0 * addend[i] + bias[i % n]).collect();
    let added = Operands { addend: bench.put(&addend), ..operands };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&sum, &added, workspace, &bench.stream) }?;
    assert_eq!(bench.get::<f32>(operands.c, m * n), sums);
    let in_place = Operands { c: added.addend, ..added };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&sum, &in_place, workspace, &bench.stream) }?;
    assert_eq!(bench.get::<f32>(added.addend, m * n), sums);
    // A column-major first operand: memory of k × m, transposed.
    let at = Matrix::row_major(k as u64, m as u64).transposed();
    let a_columns: Vec<f32> = (0..k * m).map(|i| a[(i % m) * k + i / m]).collect();
    let other = Operands { a: bench.put(&a_columns), ..operands };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&Matmul { a: at, ..plain }, &other, workspace, &bench.stream) }?;
    assert_eq!(bench.get::<f32>(operands.c, m * n), expected);
    // A column-major result, and an operand that starts at an odd element.
    let ct = Matrix::row_major(n as u64, m as u64).transposed();
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&Matmul { c: ct, ..plain }, &operands, workspace, &bench.stream) }?;
    let columns: Vec<f32> = (0..m * n).map(|i| expected[(i % m) * n + i / m]).collect();
    assert_eq!(bench.get::<f32>(operands.c, m * n), columns);
    let shifted = Operands { a: operands.a.offset(4 * k as i64), ..operands };
    let less = Matmul::row_major(MatmulType::F32, m as u64 - 1, k as u64, n as u64);
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&less, &shifted, workspace, &bench.stream) }?;
    assert_eq!(bench.get::<f32>(operands.c, (m - 1) * n), expected[n..]);
    // float64 and complex, the same integers.
    let wide = |v: &[f32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let pairs = |v: &[f32]| v.iter().map(|&x| [x, 0.0]).collect::<Vec<[f32; 2]>>();
    let doubles =
        Operands { a: bench.put(&wide(&a)), b: bench.put(&wide(&b)), c: bench.put(&vec![0f64; m * n]), ..operands };
    // SAFETY: the shapes are those of the allocations.
    unsafe {
        lt.matmul(
            &Matmul { dtype: MatmulType::F64, out_dtype: MatmulType::F64, ..plain },
            &doubles,
            workspace,
            &bench.stream,
        )
    }?;
    assert_eq!(bench.get::<f64>(doubles.c, m * n), wide(&expected));
    let complex = Operands {
        a: bench.put(&pairs(&a)),
        b: bench.put(&pairs(&b)),
        c: bench.put(&vec![[0f32; 2]; m * n]),
        ..operands
    };
    let rotated = Matmul { dtype: MatmulType::C64, out_dtype: MatmulType::C64, alpha: [0.0, 1.0], ..plain };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&rotated, &complex, workspace, &bench.stream) }?;
    let rotated: Vec<[f32; 2]> = expected.iter().map(|&x| [0.0, x]).collect();
    assert_eq!(bench.get::<[f32; 2]>(complex.c, m * n), rotated);
    // bfloat16 to float32: the upper halves of float32.
    let bf16 = |v: &[f32]| v.iter().map(|x| (x.to_bits() >> 16) as u16).collect::<Vec<u16>>();
    let short = Operands { a: bench.put(&bf16(&a)), b: bench.put(&bf16(&b)), ..operands };
    let mixed = Matmul { dtype: MatmulType::Bf16, ..plain };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&mixed, &short, workspace, &bench.stream) }?;
    assert_eq!(bench.get::<f32>(operands.c, m * n), expected);
    // A batch of two with a common second operand.
    let twice = Operands { a: bench.put(&[&a[..], &a[..]].concat()), c: bench.put(&vec![0f32; 2 * m * n]), ..operands };
    let batch = Matmul { batch: 2, b: Matrix { batch_stride: 0, ..plain.b }, ..plain };
    // SAFETY: the shapes are those of the allocations.
    unsafe { lt.matmul(&batch, &twice, workspace, &bench.stream) }?;
    assert_eq!(bench.get::<f32>(twice.c, 2 * m * n), [&expected[..], &expected[..]].concat());
    assert!(lt.plan_count() >= 8);

    // The same in a graph, then patched to other addresses.
    let zeros = bench.put(&vec![0f32; m * n]);
    let mut builder = GraphBuilder::new(bench.context)?;
    // SAFETY: the shapes are those of the allocations, which live through the test.
    let node = unsafe { builder.add_captured(&[], |s| lt.matmul(&plain, &operands, workspace, s)) }?;
    let mut exec = builder.instantiate()?;
    exec.launch(&bench.stream)?;
    assert_eq!(bench.get::<f32>(operands.c, m * n), expected);
    let moved = Operands { c: zeros, ..operands };
    // SAFETY: the shapes are those of the allocations.
    unsafe { exec.set_captured(node, |s| lt.matmul(&plain, &moved, workspace, s)) }?;
    exec.launch(&bench.stream)?;
    assert_eq!(bench.get::<f32>(zeros, m * n), expected);
    Ok(())
}

#[test]
fn the_limit_and_the_size_of_the_device_give_the_same_error() -> Result<()> {
    let Some(mut bench) = Bench::new() else { return Ok(()) };
    let (_, total) = mem_info(bench.context)?;
    let error = bench.pool.alloc(total * 2).expect_err("twice the device");
    assert!(matches!(error, CudaError::OutOfMemory { .. }), "{error}");
    bench.pool.set_limit(Some(1 << 20));
    assert!(bench.pool.alloc(2 << 20).is_err());
    assert!(bench.pool.alloc(1 << 20).is_ok());
    Ok(())
}

#[test]
fn a_forked_child_gets_a_clear_error() {
    let Some(bench) = Bench::new() else { return };
    // SAFETY: the child only reads atomics and ends without running destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let right = matches!(crate::driver::init(), Err(CudaError::Forked { .. }))
            && matches!(bench.context.make_current(), Err(CudaError::Forked { .. }))
            && !crate::driver::is_started();
        // SAFETY: ends the child here.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    let mut status = -1;
    // SAFETY: the child is ours; the call writes one int.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    assert!(bench.context.make_current().is_ok(), "the parent continues");
}

/// Runs in a child process, because it makes the context of its process unusable.
#[test]
fn an_illegal_address_is_sticky() {
    const CHILD: &str = "CUPROUS_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let child = std::process::Command::new(std::env::current_exe().expect("known"))
            .args(["gpu_tests::an_illegal_address_is_sticky", "--exact", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("started");
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let Some(mut bench) = Bench::new() else { return };
    let module = bench.module();
    let x = bench.put(&[1f32]);
    let mut args = ArgBlock::new();
    args.push_ptr(x);
    let mut pointers = Vec::new();
    args.pointers(&mut pointers);
    let wild = module.function(c"wild").expect("there");
    // SAFETY: unsound on purpose. The device refuses the address.
    unsafe { wild.launch(&LaunchShape::linear(1, 1), &bench.stream, &mut pointers) }.expect("submitted");
    let error = bench.stream.synchronize().expect_err("illegal");
    assert!(error.is_sticky(), "{error}");
}
