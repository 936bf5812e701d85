//! Runs generated code on the CPU through `tests/host/shim.h`. A slow but exact check of the templates that needs no
//! GPU.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuprous_core::Scalar;
use cuprous_cuda::codegen::{Arg, Generated};

/// A generated kernel or routine with its memory.
pub struct Case {
    pub generated: Generated,
    /// Contents of the program's buffers, by index.
    pub buffers: Vec<Vec<u8>>,
    pub scalars: Vec<Scalar>,
    /// Number of successive runs. Each must leave the state as it was at first.
    pub runs: u32,
}

fn host_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host")
}

/// Returns true if g++ can be run; otherwise prints why the test is skipped.
pub fn have_compiler() -> bool {
    let found = Command::new("g++").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("skipped: g++ is not installed");
    }
    found
}

/// Gives dynamic shared memory a fixed size.
fn sized(code: &str) -> String {
    let line = |line: &str| match line.contains("extern __shared__") {
        true => line.replace("extern __shared__", "static").replace("[];", "[1 << 16];"),
        false => line.into(),
    };
    code.lines().map(|l| line(l) + "\n").collect()
}

/// Returns the C++ program that runs all cases.
fn program(cases: &[Case], dir: &Path) -> String {
    let mut text = format!("#include \"{}\"\n", host_dir().join("shim.h").display());
    let mut main = String::from("int main() {\n");
    for (c, case) in cases.iter().enumerate() {
        let _ = writeln!(main, "{{ std::vector<std::vector<char>> b;");
        for i in 0..case.buffers.len() {
            let _ = writeln!(main, "b.push_back(host::read(\"{}/c{c}_b{i}\"));", dir.display());
        }
        let _ = writeln!(main, "std::vector<std::vector<char>> s;");
        for s in &case.scalars {
            let bytes: Vec<String> = s.0.iter().map(|b| format!("(char){b}")).collect();
            let _ = writeln!(main, "s.push_back({{{}}});", bytes.join(","));
        }
        let g = &case.generated;
        let _ = writeln!(main, "std::vector<char> state({}), scratch({}, (char)0x5a);", g.state_bytes, g.scratch_bytes);
        let _ = writeln!(main, "for (int run = 0; run < {}; run++) {{", case.runs);
        for (k, stage) in g.stages.iter().enumerate() {
            let _ = writeln!(text, "namespace c{c}_s{k} {{");
            for part in &stage.prelude {
                text += &sized(part);
            }
            text += &sized(&stage.code.replace("extern \"C\" ", ""));
            text += "}\n";
            let args: Vec<String> = stage
                .args
                .iter()
                .map(|a| match a {
                    Arg::Buffer(i) => format!("host::Pointer{{b[{i}].data()}}"),
                    Arg::Scalar { slot, .. } => format!("host::Value{{s[{slot}].data()}}"),
                    Arg::I32(x) => format!("(int){x}"),
                    Arg::I64(x) => format!("{x}ll"),
                    Arg::Scratch(at) => format!("host::Pointer{{scratch.data() + {at}}}"),
                    Arg::State(at) => format!("host::Pointer{{state.data() + {at}}}"),
                })
                .collect();
            let ([x, y, z], [bx, by, bz]) = (stage.grid, stage.block);
            let call = format!("c{c}_s{k}::{}({})", stage.name, args.join(", "));
            let _ = writeln!(main, "host::launch({{{x}u,{y}u,{z}u}}, {{{bx}u,{by}u,{bz}u}}, [&] {{ {call}; }});");
        }
        let _ = writeln!(main, "}}");
        for i in 0..case.buffers.len() {
            let _ = writeln!(main, "host::write(\"{}/c{c}_b{i}\", b[{i}]);", dir.display());
        }
        let _ = writeln!(main, "}}");
    }
    text + &main + "}\n"
}

/// Runs the cases. Afterwards their buffers hold the results.
pub fn run(name: &str, cases: &mut [Case]) {
    run_in_order(name, cases, false);
}

/// As [`run`]. With `backwards` the last warp of a block runs as far as it can before any other does.
pub fn run_in_order(name: &str, cases: &mut [Case], backwards: bool) {
    let dir = PathBuf::from(option_env!("CARGO_TARGET_TMPDIR").unwrap_or("/tmp")).join(name);
    std::fs::create_dir_all(&dir).expect("the folder for tests can be created");
    for (c, case) in cases.iter().enumerate() {
        for (i, bytes) in case.buffers.iter().enumerate() {
            std::fs::write(dir.join(format!("c{c}_b{i}")), bytes).expect("writable");
        }
    }
    let (source, exe) = (dir.join("main.cpp"), dir.join("main"));
    std::fs::write(&source, program(cases, &dir)).expect("writable");
    let compiler = Command::new("g++")
        .args(["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-o"])
        .args([&exe, &source])
        .output()
        .expect("g++ runs");
    let log = String::from_utf8_lossy(&compiler.stderr);
    assert!(compiler.status.success(), "{}", log.lines().take(40).collect::<Vec<_>>().join("\n"));
    let order = backwards.then_some(("CUPROUS_HOST_BACKWARDS", "1"));
    let process = Command::new(&exe).envs(order).output().expect("the program runs");
    assert!(process.status.success(), "{name}: {:?} {}", process.status, String::from_utf8_lossy(&process.stderr));
    for (c, case) in cases.iter_mut().enumerate() {
        for (i, bytes) in case.buffers.iter_mut().enumerate() {
            *bytes = std::fs::read(dir.join(format!("c{c}_b{i}"))).expect("readable");
        }
    }
}
