//! Says whether the machine that builds has AVX-512 (`cfg(builder_has_v4)`), for `src/isa.rs`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(builder_has_v4)");
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        println!("cargo::rustc-cfg=builder_has_v4");
    }
}
