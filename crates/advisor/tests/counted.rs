//! The time of counted programs, and the file of measurements.

use std::fs;

use cuprous_advisor::counted::{Counted, CountedProgram, compare};
use cuprous_advisor::machine::{FORMAT, file};
use cuprous_advisor::profile::{self, Level};
use cuprous_advisor::rates::{Copies, MemoryLevel, Rates};
use cuprous_advisor::{Bound, Demand, Group, Load, Machine, weights};

fn find<T>(list: &'static [T], name: fn(&T) -> &'static str, asked: &str) -> &'static T {
    profile::find(list, name, asked).unwrap()
}

fn host() -> Rates {
    Rates::of_cpu(find(profile::cpus(), |c| c.name, "7763"), Level::Typical)
}

fn h200() -> Rates {
    Rates::of_gpu(find(profile::gpus(), |g| g.name, "h200"), false, Level::Typical)
}

fn one(what: &'static str, group: Group, amount: f64, bytes: f64) -> Counted {
    let load = Load {
        demands: vec![Demand { what, group, amount }],
        read: bytes,
        footprint: bytes,
        launches: 1.0,
        loops: 1.0,
        ..Load::default()
    };
    let programs = vec![CountedProgram { nodes: 1.0, steps: vec![(what.into(), load)] }];
    Counted { programs, upload: bytes, download: 0.0, reads: 0.0 }
}

#[test]
fn a_product_is_bound_by_arithmetic_and_an_addition_by_memory() {
    let product = one("dot", Group::F32, 2e12, 1e9);
    let sum = one("add", Group::F32, 2.5e8, 1e9);
    assert_eq!((product.bound(&h200()), sum.bound(&h200())), (Bound::Compute, Bound::Memory));
    // 67 TFLOPS on paper, of which products reach 80 %; 4.8 TB/s, of which copies reach 85 %.
    assert!((product.run(&h200()) / (2e12 / (67e12 * 0.8)) - 1.0).abs() < 0.01);
    assert!((sum.run(&h200()) / (1e9 / (4.8e12 * 0.85)) - 1.0).abs() < 0.1);
}

#[test]
fn copies_decide_and_repeats_pay_for_them() {
    let sum = one("add", Group::F32, 2.5e8, 1e9);
    let once = compare(&sum, &host(), &h200(), 1.0, false, None).unwrap();
    assert!(once.speedup < 1.0 && once.bound == Bound::Copies, "{once:?}");
    let least = once.break_even_repeats.unwrap();
    let enough = compare(&sum, &host(), &h200(), least, false, None).unwrap();
    let fewer = compare(&sum, &host(), &h200(), least - 1.0, false, None).unwrap();
    assert!(enough.speedup > 1.0 && fewer.speedup <= 1.0 + 1e-9, "{least}");
    assert!(compare(&sum, &host(), &h200(), f64::NAN, false, None).is_err());
    assert!(compare(&sum, &host(), &h200(), 1.0, false, Some(-1.0)).is_err());
}

#[test]
fn what_was_measured_counts_and_what_was_not_is_estimated_from_it() {
    let mut rates = host();
    rates.work = [("add".to_owned(), [0.0, 1e9, 0.0, 0.0, 0.0]), ("exp".to_owned(), [0.0, 5e7, 0.0, 0.0, 0.0])].into();
    assert_eq!(rates.rate("exp", Group::F32), 5e7);
    assert_eq!(rates.rate("exp", Group::F64), 5e7, "the nearest group stands in");
    assert_eq!(rates.rate("log", Group::F32), 1e9 / weights::weight("log").0);
}

fn machine() -> Machine {
    let copies = Some(Copies { up: 1e10, down: 1e10, up_pinned: 5e10, down_pinned: 5e10, latency: 1e-5 });
    let gpu = Rates { copies, ..h200() };
    Machine {
        format: FORMAT,
        version: "0".into(),
        host: "a host".into(),
        board: Some("a board".into()),
        measured: 0,
        cpu: host(),
        gpu: Some(gpu),
        disturbed: None,
    }
}

#[test]
fn the_file_is_read_on_the_machine_it_is_of() {
    let folder = std::env::temp_dir().join(format!("cuprous-machine-{}", std::process::id()));
    let path = file(&folder);
    assert_eq!(Machine::read(&path, "a host", None), Default::default(), "no file, nothing to say");
    machine().write(&path).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
    let found = Machine::read(&path, "a host", Some("a board"));
    let (read, written) = (found.machine.unwrap(), machine());
    assert_eq!((found.hint, &read.board, read.cpu.work.len()), (None, &written.board, written.cpu.work.len()));
    // JSON may change the last digit.
    let add = |it: &Machine| it.gpu.as_ref().map_or(0.0, |gpu| gpu.rate("add", Group::F64));
    assert!((add(&read) / add(&written) - 1.0).abs() < 1e-12);
    let hidden = Machine::read(&path, "a host", None);
    assert!(hidden.machine.unwrap().gpu.is_none() && hidden.hint.is_none());
    let other = Machine::read(&path, "a host", Some("another board"));
    assert!(other.machine.unwrap().gpu.is_none() && other.hint.unwrap().contains("cuprous calibrate"));
    assert!(Machine::read(&path, "another host", None).hint.unwrap().contains("another host"));
    let part = Machine { disturbed: Some("others took 70 % of the CPU".into()), ..machine() };
    part.write(&path).unwrap();
    let found = Machine::read(&path, "a host", Some("a board"));
    assert!(found.machine.unwrap().gpu.is_some() && found.hint.unwrap().contains("others took 70 % of the CPU; run"));
    // Files of the first format may lack half of the figures.
    let old = serde_json::to_string(&Machine { format: 1, ..machine() }).unwrap();
    fs::write(&path, old).unwrap();
    let found = Machine::read(&path, "a host", None);
    assert!(found.machine.is_none() && found.hint.unwrap().contains("another version"));
    let mut wrong = machine();
    wrong.cpu.memory_levels = vec![MemoryLevel { bytes: 0.0, bandwidth: 0.0 }];
    for text in ["", "{}", "[1, 2]", "{\"format\": 1e999}", &serde_json::to_string(&wrong).unwrap()] {
        fs::write(&path, text).unwrap();
        let found = Machine::read(&path, "a host", None);
        assert!(found.machine.is_none() && found.hint.unwrap().contains("cuprous calibrate"), "{text:.40}");
    }
    let newer = Machine { format: FORMAT + 1, ..machine() };
    newer.write(&path).unwrap();
    assert!(Machine::read(&path, "a host", None).hint.unwrap().contains("version"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn waiting_for_columns_takes_a_gpu_time_and_a_cpu_none() {
    let columns = one("column", Group::F64, 2048.0, 0.0);
    let more = |rates: &Rates| columns.run(rates) - one("column", Group::F64, 0.0, 0.0).run(rates);
    // 1.66 µs each: solve of 1024 and 4096 columns, float64, on an H200.
    assert!((more(&h200()) - 3.4e-3).abs() < 1e-4, "{}", more(&h200()));
    assert_eq!(more(&host()), 0.0);
}

#[test]
fn the_first_program_is_recorded_before_a_gpu_has_work() {
    let rates = Rates { record: 1e-6, program: 0.0, launch: 0.0, ..h200() };
    let bandwidth = rates.bandwidth(1e9);
    let mut counted = one("add", Group::F32, 1.0, 1e-5 * bandwidth);
    counted.programs[0].nodes = 20.0;
    let close = |got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 1e-6, "{got} {wanted}");
    close(counted.run(&rates), 3e-5);
    // The second is recorded while the first runs; with 20 us to record, the GPU waits for the host.
    counted.programs.push(counted.programs[0].clone());
    close(counted.run(&rates), 5e-5);
    counted.programs[1].nodes = 5.0;
    close(counted.run(&rates), 4e-5);
    // A CPU records and runs programs one after another.
    let host = Rates { copies: None, ..rates };
    close(counted.run(&host), 4.5e-5);
}

#[test]
fn places_that_are_data_bring_a_line_each_and_threads_cost_their_start() {
    let load = Load { scattered: 1e6, loops: 1.0, launches: 1.0, ..Load::default() };
    let bytes = |r: Rates| (r.span(&load).memory * r.bandwidth(0.0)).round();
    assert_eq!((bytes(host()), bytes(h200())), (64e6, 32e6));
    assert_eq!(load.fetched(), 64e6);
    let shares = Rates { share: 3e-5, ..host() };
    let work = |amount: f64| Load { demands: vec![Demand { what: "add", group: Group::F32, amount }], ..load.clone() };
    let extra = |amount: f64| shares.span(&work(amount)).launches - host().span(&work(amount)).launches;
    assert_eq!(extra(1e3), 0.0);
    // Work that cannot be divided runs on one thread, which is slower than all threads by the measured factor.
    let compute = |load: &Load, together: f64| Rates { together, ..host() }.span(load).compute;
    let (alone, all) = (Load { whole: true, ..work(1e6) }, work(1e6));
    assert_eq!(compute(&alone, 3.0), 3.0 * compute(&all, 3.0));
    assert_eq!(compute(&alone, 0.0), host().threads * compute(&all, 0.0));
    assert!((extra(1e6) - (3e-5 - host().share)).abs() < 1e-12);
}
