use std::collections::BTreeSet;
use std::time::Instant;

use cuprous_plan::calibrate::{About, rehearsal};

use super::*;
use crate::Checker;
use crate::nvrtc::tests::nvrtc_is_here;

/// What calibration runs on a GPU with 60 MB of cache.
fn calibration() -> Vec<Arc<Program>> {
    let about = About {
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
    rehearsal::programs(&about, None)
}

#[test]
fn what_calibration_runs_compiles() {
    if !nvrtc_is_here() {
        return;
    }
    let programs = calibration();
    assert!(programs.len() > 200, "the rehearsal ended early: {} programs", programs.len());
    let checker = Checker::new("compute_90");
    checker.in_batches(16).expect("nothing waits");
    programs.iter().for_each(|program| checker.check(program).expect("it compiles"));
    checker.in_batches(1).expect("the last ones compile");
}

#[test]
fn parallel_work_comes_back_in_order_and_is_told() {
    let items: Vec<usize> = (0..100).collect();
    let mut heard = Vec::new();
    let squares = in_parallel(&items, |&k| k * k, &mut |done, all| heard.push((done, all)));
    assert_eq!(squares, items.iter().map(|k| k * k).collect::<Vec<_>>());
    assert_eq!(heard, (1..=100).map(|done| (done, 100)).collect::<Vec<_>>());
    assert!(in_parallel(&items[..0], |&k| k, &mut |_, _| ()).is_empty());
}

#[test]
#[ignore = "a measurement: how long calibration's kernels take to compile"]
fn compile_times() {
    assert!(nvrtc_is_here());
    let programs = calibration();
    let steps = programs.iter().flat_map(|program| program.steps.iter().map(move |step| (program, step)));
    let planned: Vec<Planned> = steps.filter_map(|(p, step)| plan_step(Arch::H200, p, step).ok()).collect();
    let stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    let sources: BTreeSet<String> = stages.iter().map(|stage| stage.source()).collect();
    let mut sources: Vec<String> = sources.into_iter().collect();
    sources.sort_by_key(|source| std::cmp::Reverse(source.len()));
    let options = compile_options("sm_90");
    let one = |source: &String| {
        let start = Instant::now();
        nvrtc::compile(source, "kernel", &options).expect("it compiles");
        start.elapsed().as_secs_f64()
    };
    let start = Instant::now();
    let times = in_parallel(&sources, one, &mut |_, _| ());
    let whole = start.elapsed().as_secs_f64();
    let sum: f64 = times.iter().sum();
    println!("{} programs, {} kernels: {sum:.1} s of compiling in {whole:.1} s", programs.len(), sources.len());
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[b].total_cmp(&times[a]));
    for &k in order.iter().take(30) {
        let line = sources[k].lines().rfind(|l| l.contains("__global__")).unwrap_or_default();
        println!("{:8.2} s  {:8} bytes  {}", times[k], sources[k].len(), &line[..line.len().min(100)]);
    }
}
