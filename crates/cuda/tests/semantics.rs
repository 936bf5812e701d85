//! Compares the prelude's arithmetic, built for the CPU, with NumPy and SciPy. `CUPROUS_PYTHON` names a Python that has
//! them.

use std::path::Path;
use std::process::Command;

#[test]
fn arithmetic_agrees_with_numpy() {
    let python = std::env::var("CUPROUS_PYTHON").unwrap_or_else(|_| "python3".into());
    let has =
        |program: &str, args: &[&str]| Command::new(program).args(args).output().is_ok_and(|o| o.status.success());
    if !has(&python, &["-c", "import numpy, scipy"]) || !has("g++", &["--version"]) {
        eprintln!("skipped: needs g++ and a Python with NumPy and SciPy (CUPROUS_PYTHON)");
        return;
    }
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("semantics.so");
    let built = Command::new("g++")
        .args(["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC", "-o"])
        .args([&library, &host.join("semantics.cpp")])
        .output()
        .expect("g++ runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let process = Command::new(&python).arg(host.join("semantics.py")).arg(&library).output().expect("Python runs");
    let output = String::from_utf8_lossy(&process.stdout);
    assert!(process.status.success(), "{output}{}", String::from_utf8_lossy(&process.stderr));
}
