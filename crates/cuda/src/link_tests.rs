use super::*;
use crate::nvrtc::tests::nvrtc_is_here;
use crate::nvrtc::{CompileOptions, compile};

const KERNEL: &str =
    "extern \"C\" __device__ int twice(int);\nextern \"C\" __global__ void k(int* x) { *x = twice(*x); }";

fn relocatable(source: &str) -> Vec<u8> {
    let mut options = CompileOptions::new("sm_90");
    options.extra.push("--relocatable-device-code=true".into());
    compile(source, "unit", &options).expect("the source compiles").cubin
}

#[test]
fn nvjitlink_links_without_a_gpu() {
    if !nvrtc_is_here() || sys::nvjitlink().is_err() {
        return;
    }
    let options = LinkOptions { name: "k", target: "sm_90", max_registers: Some(32) };
    let code = relocatable(KERNEL);
    let data = relocatable("extern \"C\" __device__ int twice(int x) { return 2 * x; }").into();
    let object = Object { kind: ObjectKind::Cubin, name: "twice".into(), data };
    let linked = by_nvjitlink(&options, &code, &[object]).expect("both parts are there");
    assert_eq!(&linked[..4], b"\x7fELF");
    let error = by_nvjitlink(&options, &code, &[]).expect_err("a function is missing").to_string();
    assert!(error.contains("twice"), "{error}");
}
