use cuprous_plan::calibrate::{DeviceSetup, dry_run};

use super::*;
use crate::Checker;
use crate::nvrtc::tests::nvrtc_is_here;

/// What calibration runs on a GPU with 60 MB of cache.
fn calibration() -> Vec<Arc<Program>> {
    let about = DeviceSetup {
        name: "GPU".into(),
        caches: vec![30e6],
        memory: 144e9,
        threads: 1.0,
        record: 1e-6,
        startup: 0.4,
        gpu: true,
        pinned: None,
        quick: false,
    };
    dry_run::programs(&about, None)
}

#[test]
fn what_calibration_runs_compiles() {
    if !nvrtc_is_here() {
        return;
    }
    let programs = calibration();
    assert!(programs.len() > 200, "the dry run ended early: {} programs", programs.len());
    let checker = Checker::new("compute_90");
    checker.in_batches(16).expect("nothing waits");
    programs.iter().for_each(|program| checker.check(program).expect("it compiles"));
    checker.in_batches(1).expect("the last ones compile");
}
