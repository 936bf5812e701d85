//! Checks every routine on a GPU against a plain reference on the host, then times some. `CUPROUS_NVIDIA_ROOTS` names
//! the wheels.
//!
//! `routines_check [check] [time] [NAME …]`: without `check` and `time` it does both. With NAMEs it takes the cases
//! whose name contains one of them.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "a check, not an interface"
)]

#[path = "routines_check/host.rs"]
mod host;
#[path = "routines_check/timing.rs"]
mod timing;

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Layout, LayoutRef, RoutineOp, ScanOp};
use cuprous_cuda::codegen::{Arch, Arg, Generated, Options, RoutineTuning, Stage, generate_routine_tuned};
use cuprous_cuda::driver::{
    ArgBlock, Context, DevPtr, Function, LaunchShape, Module, Stream, device_info, mem_alloc, mem_free,
    memcpy_dtoh_async, memcpy_htod_async, memset_async,
};
use cuprous_cuda::nvrtc::{self, CompileOptions};
use cuprous_plan::{Epilogue, RoutineCall};

use host::{Random, View};

/// One check: the routine, and the bytes of its operands.
struct Case {
    name: String,
    call: RoutineCall,
    ins: Vec<Vec<u8>>,
}

pub struct Gpu {
    context: &'static Context,
    stream: Stream,
    arch: String,
    modules: HashMap<String, (Function, Module)>,
}

impl Gpu {
    fn new() -> Gpu {
        if let Some(roots) = std::env::var_os("CUPROUS_NVIDIA_ROOTS") {
            cuprous_cuda::set_library_roots(std::env::split_paths(&roots).collect());
        }
        let context = Context::of_device(0).expect("a GPU");
        context.make_current().expect("a context");
        let arch = nvrtc::best_arch(device_info(0).expect("a GPU").compute_capability).expect("NVRTC");
        Gpu { context, stream: Stream::new(context).expect("a stream"), arch, modules: HashMap::new() }
    }

    /// Compiles new stages in parallel.
    fn compile<'a>(&mut self, stages: impl Iterator<Item = &'a Stage>) {
        let mut wanted: Vec<(String, String)> = stages
            .map(|s| (s.source(), s.name.to_string()))
            .filter(|(source, _)| !self.modules.contains_key(source))
            .collect();
        wanted.sort();
        wanted.dedup();
        let mut options = CompileOptions::new(self.arch.clone());
        options.fmad = false;
        let next = Mutex::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(4, |n| n.get()) {
                scope.spawn(|| {
                    loop {
                        let k = {
                            let mut next = next.lock().expect("no panic");
                            *next += 1;
                            *next - 1
                        };
                        let Some((source, name)) = wanted.get(k) else { break };
                        let cubin = nvrtc::compile(source, name, &options).unwrap_or_else(|e| panic!("{e}")).cubin;
                        done.lock().expect("no panic").push((k, cubin));
                    }
                });
            }
        });
        for (k, cubin) in done.into_inner().expect("no panic") {
            let (source, name) = &wanted[k];
            let module = Module::load(self.context, &cubin).expect("the driver call succeeds");
            let function = module.function(&CString::new(name.as_str()).expect("a name")).expect("the kernel");
            self.modules.insert(source.clone(), (function, module));
        }
    }

    fn put(&self, bytes: &[u8]) -> DevPtr {
        let at = mem_alloc(self.context, bytes.len().max(256)).expect("enough memory");
        unsafe { memcpy_htod_async(at, bytes.as_ptr(), bytes.len(), &self.stream) }.expect("the copy succeeds");
        self.stream.synchronize().expect("the driver call succeeds");
        at
    }

    fn filled(&self, bytes: usize, value: u8) -> DevPtr {
        let at = mem_alloc(self.context, bytes.max(256)).expect("enough memory");
        unsafe { memset_async(at, value, bytes.max(256), &self.stream) }.expect("the driver call succeeds");
        at
    }

    fn get(&self, at: DevPtr, bytes: usize) -> Vec<u8> {
        let mut out = vec![0u8; bytes];
        unsafe { memcpy_dtoh_async(out.as_mut_ptr(), at, bytes, &self.stream) }.expect("the copy succeeds");
        self.stream.synchronize().expect("the driver call succeeds");
        out
    }

    fn free(&self, at: DevPtr) {
        unsafe { mem_free(self.context, at) }.expect("freed once");
    }

    fn launch(&self, code: &Generated, buffers: &HashMap<u32, DevPtr>, scratch: DevPtr, state: DevPtr) {
        for stage in &code.stages {
            let function = self.modules[&stage.source()].0;
            self.launch_one(stage, function, buffers, scratch, state);
        }
    }

    fn launch_one(&self, stage: &Stage, f: Function, buffers: &HashMap<u32, DevPtr>, scratch: DevPtr, state: DevPtr) {
        let mut block = ArgBlock::new();
        for arg in &stage.args {
            match *arg {
                Arg::Buffer(b) => block.push_ptr(buffers[&b]),
                Arg::I32(n) => block.push_bytes(&n.to_ne_bytes()),
                Arg::I64(n) => block.push_bytes(&n.to_ne_bytes()),
                Arg::Scratch(at) => block.push_ptr(scratch.offset(at as i64)),
                Arg::State(at) => block.push_ptr(state.offset(at as i64)),
                Arg::Scalar { .. } => unreachable!("routines have no scalars"),
            }
        }
        if stage.shared > 16 << 10 {
            f.set_max_dynamic_shared(stage.shared).expect("enough memory");
        }
        let mut pointers = Vec::new();
        block.pointers(&mut pointers);
        let shape = LaunchShape { grid: stage.grid, block: stage.block, shared: stage.shared };
        unsafe { f.launch(&shape, &self.stream, &mut pointers) }.unwrap_or_else(|e| panic!("{}: {e}", stage.name));
    }
}

fn generated(call: &RoutineCall, tuning: RoutineTuning) -> Generated {
    generate_routine_tuned(call, Arch::H200, Options::default(), tuning).expect("the routine has code")
}

/// The layouts under test: dense, every axis reversed in memory, and every second element backwards.
fn layouts(d: DType, shape: &[i64]) -> Vec<LayoutRef> {
    let dense = cuprous_core::layout::contiguous_strides(shape);
    let mut reversed: Vec<i64> = shape.to_vec();
    reversed.reverse();
    let mut strides = cuprous_core::layout::contiguous_strides(&reversed);
    strides.reverse();
    let backwards: Vec<i64> = dense.iter().map(|s| -2 * s).collect();
    let top: i64 = shape.iter().zip(&dense).map(|(n, s)| (n - 1) * s * 2).sum();
    vec![
        Layout::contiguous(d, shape),
        Layout::new(d, shape, &dense, 3),
        Layout::new(d, shape, &strides, 1),
        Layout::new(d, shape, &backwards, top + 5),
    ]
}

fn case(all: &mut Vec<Case>, r: &mut Random, op: RoutineOp, ins: &[LayoutRef], out: (DType, &[i64])) {
    let bytes = ins.iter().map(|l| r.array(&op, l)).collect();
    let name =
        format!("{} {:?} {:?}", op.name(), op, ins.iter().map(|l| (l.dtype, &l.shape, &l.strides)).collect::<Vec<_>>());
    let ins = ins.iter().enumerate().map(|(k, l)| (k as u32 + 1, l.clone())).collect();
    all.push(Case {
        name,
        call: RoutineCall { op, ins, out: (0, Layout::contiguous(out.0, out.1)), epilogue: Epilogue::default() },
        ins: bytes,
    });
}

const EDGES: [Edge; 5] = [Edge::Reflect, Edge::Constant, Edge::Nearest, Edge::Mirror, Edge::Wrap];

fn cases() -> Vec<Case> {
    let (mut all, mut r) = (Vec::new(), Random(12345));
    for d in DType::ALL {
        for (shape, axis) in [
            (&[1_i64][..], 0),
            (&[1000], 0),
            (&[4097], 0),
            (&[1_000_003], 0),
            (&[8_000_002], 0),
            (&[300, 77], 1),
            (&[70, 5000], 1),
            (&[3, 100_003], 1),
            (&[2, 700_000], 1),
            (&[3, 2_000_016], 1),
            (&[1000, 33], 0),
            (&[20_000, 3], 0),
            (&[7, 50, 9], 1),
        ] {
            for (k, op) in [ScanOp::Sum, ScanOp::Prod, ScanOp::Max, ScanOp::Min].into_iter().enumerate() {
                for (l, layout) in layouts(d, shape).into_iter().enumerate() {
                    if (k == 0 || shape == [1_000_003] || shape == [8_000_002] || shape == [1000, 33])
                        && (l == 0 || shape == [300, 77] || shape == [4097])
                    {
                        case(&mut all, &mut r, RoutineOp::Scan { op, axis }, &[layout], (d, shape));
                    }
                }
            }
        }
        for shape in [
            &[1_i64][..],
            &[2],
            &[100, 50],
            &[33, 1000],
            &[3, 4096],
            &[100_003],
            &[3, 20_001],
            &[65, 7],
            &[9, 300],
            &[70, 200],
        ] {
            for (l, layout) in layouts(d, shape).into_iter().enumerate() {
                if l == 0 || shape == [3, 20_001] || shape == [100, 50] || (l > 1 && shape == [100_003]) {
                    case(&mut all, &mut r, RoutineOp::Sort, std::slice::from_ref(&layout), (d, shape));
                    case(&mut all, &mut r, RoutineOp::ArgSort, &[layout], (DType::I64, shape));
                }
            }
        }
        if !d.is_complex() {
            for (shape, k) in
                [(&[1_i64][..], 1), (&[300_000], 100), (&[3, 70_001], 5000), (&[9, 4000], 10), (&[3, 5], 5)]
            {
                for (l, layout) in layouts(d, shape).into_iter().enumerate().filter(|(l, _)| l % 3 == 0) {
                    let mut out = shape.to_vec();
                    out[shape.len() - 1] = k;
                    case(
                        &mut all,
                        &mut r,
                        RoutineOp::TopK { largest: l == 0 },
                        std::slice::from_ref(&layout),
                        (DType::I64, &out),
                    );
                    let op = RoutineOp::Select { rank: k - 1 };
                    case(&mut all, &mut r, op, &[layout], (d, &shape[..shape.len() - 1]));
                }
            }
        }
        for (n, every) in [(1_usize, 1_u64), (17, 2), (100_000, 3), (10_001, 40)] {
            let mask: Vec<bool> = (0..n).map(|_| r.next() % every == 0).collect();
            let words = host::packed(&mask);
            let size = n as i64;
            if d == DType::Bool {
                let shape = [words.len() as i64];
                for layout in layouts(d, &[size]) {
                    case(&mut all, &mut r, RoutineOp::PackMask, &[layout], (DType::I64, &shape));
                }
            }
            let count = mask.iter().filter(|m| **m).count() as i64;
            if count > 0 {
                let ins = [Layout::contiguous(DType::I64, &[words.len() as i64]), layouts(d, &[size])[3].clone()];
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                for used in [1, 2] {
                    let out = if used == 1 { DType::I64 } else { d };
                    case(&mut all, &mut r, RoutineOp::Compact, &ins[..used], (out, &[count]));
                    all.last_mut().expect("just added").ins[0] = bytes.clone();
                }
            }
        }
        for right in [false, true] {
            for n in [1, 1000] {
                let (table, values) = (layouts(d, &[n]), layouts(d, &[13, 71]));
                for k in [0, 3] {
                    let ins = [table[k].clone(), values[k].clone()];
                    case(&mut all, &mut r, RoutineOp::SearchSorted { right }, &ins, (DType::I64, &[13, 71]));
                }
            }
        }
        for edge in EDGES {
            let op = RoutineOp::Pad { edge, constant: 1.5f64.to_bits(), before: [1, 0, 9].as_slice().into() };
            for layout in layouts(d, &[3, 4, 5]) {
                case(&mut all, &mut r, op.clone(), &[layout], (d, &[5, 4, 31]));
            }
        }
        if !d.is_float() && !d.is_complex() {
            for (batch, m, k, n) in [(1, 1, 1, 1), (3, 65, 33, 130), (2, 5, 200, 7)] {
                for l in 0..4 {
                    let ins = [layouts(d, &[batch, m, k])[l].clone(), layouts(d, &[batch, k, n])[3 - l].clone()];
                    case(&mut all, &mut r, RoutineOp::Dot, &ins, (d, &[batch, m, n]));
                }
            }
            let ins = [
                Layout::new(d, &[4, 9, 8], &[0, 8, 1], 0),
                Layout::contiguous(d, &[8, 6]).broadcast_to(&[4, 8, 6]).expect("fits"),
            ];
            case(&mut all, &mut r, RoutineOp::Dot, &ins, (d, &[4, 9, 6]));
        }
    }
    for d in [DType::F32, DType::F64] {
        for edge in EDGES {
            for (shape, window) in [
                (&[301_i64, 517][..], &[15_i64, 15][..]),
                (&[128, 640], &[3, 3]),
                (&[70, 300], &[5, 40]),
                (&[200, 333], &[1, 25]),
                (&[200, 333], &[25, 1]),
                (&[9, 7], &[15, 31]),
                (&[1000], &[301]),
                (&[5, 300, 20], &[1, 61, 1]),
                (&[12, 40, 50], &[3, 4, 5]),
                (&[6, 70, 90], &[1, 6, 4]),
                (&[12, 40, 50], &[3, 1, 5]),
                (&[2, 1], &[1, 1]),
            ] {
                // Outputs of the operand's shape, and of all positions at which the weights overlap it.
                let origin = window.iter().map(|w| (w - 1) / 2).collect();
                let longest: Vec<i64> = shape.iter().zip(window).map(|(n, w)| n + w - 1).collect();
                for (origin, out) in [(origin, shape), (window.iter().map(|w| w - 1).collect(), &longest)] {
                    let op = RoutineOp::Correlate { edge, constant: 1.5f64.to_bits(), origin };
                    for l in [0, 2] {
                        let ins = [layouts(d, shape)[l].clone(), layouts(d, window)[l].clone()];
                        case(&mut all, &mut r, op.clone(), &ins, (d, out));
                    }
                }
            }
        }
    }
    all
}

fn check(gpu: &mut Gpu, chosen: impl Fn(&str) -> bool) -> bool {
    let all: Vec<Case> = cases().into_iter().filter(|c| chosen(&c.name)).collect();
    let code: Vec<Generated> = all.iter().map(|c| generated(&c.call, RoutineTuning::default())).collect();
    let start = std::time::Instant::now();
    gpu.compile(code.iter().flat_map(|m| &m.stages));
    println!("{} cases, {} kernels compiled in {:.1?}", all.len(), gpu.modules.len(), start.elapsed());
    let mut failed: HashMap<&str, (u32, u32, String)> = HashMap::new();
    for (case, code) in all.iter().zip(&code) {
        let mut buffers: HashMap<u32, DevPtr> =
            case.call.ins.iter().zip(&case.ins).map(|((b, _), bytes)| (*b, gpu.put(bytes))).collect();
        let out = &case.call.out.1;
        let bytes = out.size as usize * out.dtype.size();
        // Bytes behind the output must not change.
        buffers.insert(0, gpu.filled(bytes + 64, 0xA5));
        let (scratch, state) = (gpu.filled(code.scratch_bytes, 0xC3), gpu.filled(code.state_bytes, 0));
        let mut results = Vec::new();
        for _ in 0..2 {
            gpu.launch(code, &buffers, scratch, state);
            results.push(gpu.get(buffers[&0], bytes + 64));
            unsafe { memset_async(scratch, 0x3C, code.scratch_bytes.max(256), &gpu.stream) }
                .expect("the driver call succeeds");
            unsafe { memset_async(buffers[&0], 0xA5, bytes + 64, &gpu.stream) }.expect("the driver call succeeds");
        }
        let entry = failed.entry(case.call.op.name()).or_default();
        entry.0 += 1;
        let views: Vec<View> =
            case.call.ins.iter().zip(&case.ins).map(|((_, l), bytes)| View { layout: l, bytes }).collect();
        let verdict = if results[0] != results[1] {
            Err("two runs differ".into())
        } else if results[0][bytes..].iter().any(|&b| b != 0xA5) {
            Err("bytes behind the output changed".into())
        } else {
            host::verify(&case.call, &views, &results[0][..bytes])
        };
        if let Err(why) = verdict {
            entry.1 += 1;
            if entry.1 <= 6 {
                entry.2 += &format!("  {}\n    {why}\n", case.name);
            }
        }
        buffers.values().chain([&scratch, &state]).for_each(|&p| gpu.free(p));
    }
    for (name, (n, bad, text)) in &failed {
        println!("{name}: {n} cases, {bad} wrong\n{text}");
    }
    failed.values().all(|f| f.1 == 0)
}

fn main() {
    let (words, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|w| w == "check" || w == "time");
    let requested = |word: &str| words.is_empty() || words.iter().any(|w| w == word);
    let chosen = |name: &str| names.is_empty() || names.iter().any(|n| name.contains(n.as_str()));
    let mut gpu = Gpu::new();
    let mut right = true;
    if requested("time") {
        timing::all(&mut gpu, chosen);
    }
    if requested("check") {
        right = check(&mut gpu, chosen);
    }
    if !right {
        std::process::exit(1);
    }
}
