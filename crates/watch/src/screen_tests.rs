use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::sample::{Host, Link, Own, Pcie};

fn machine() -> Sample {
    let gpu = Gpu {
        index: 0,
        name: "NVIDIA H200".into(),
        utilization: Some(97),
        memory_used: Some(100 << 30),
        memory_total: Some(141 << 30),
        temperature: Some(71),
        temperature_limit: Some(87),
        power: Some(650.4),
        power_limit: Some(700.0),
        clock: Some(1755),
        clock_limit: Some(1980),
        memory_clock: Some(3201),
        throttled_by: vec!["power limit"],
        pcie: Pcie {
            generation: Some(5),
            generation_limit: Some(5),
            width: Some(16),
            width_limit: Some(16),
            sent: Some(2e9),
            received: None,
        },
        nvlink: vec![Link { active: true, version: Some(4) }, Link { active: false, version: None }],
        nvlink_rates: Some([1e9, 2e9]),
        ..Gpu::default()
    };
    let own = Own { allocated: 3 << 30, reserved: 4 << 30, peak: 4 << 30 };
    let ours = Process {
        pid: 4711,
        gpu: Some(0),
        name: "python train.py".into(),
        memory: Some(5 << 30),
        own: Some(own),
        ..Process::default()
    };
    let other = Process { pid: 9, gpu: Some(0), name: "Xorg".into(), memory: Some(6 << 30), ..Process::default() };
    Sample {
        host: Host {
            name: "box".into(),
            cpu: "A CPU".into(),
            cores: 8,
            utilization: Some(12.0),
            memory_used: 1 << 30,
            memory_total: 8 << 30,
            load: None,
        },
        driver: Some("580.95.05".into()),
        gpus: vec![gpu],
        processes: vec![ours, other],
        ..Sample::default()
    }
}

fn picture(sample: &Sample, view: &mut View, width: u16, height: u16) -> String {
    let mut history = History::default();
    history.add(sample);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, sample, &history, view)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn all_figures_are_in_the_picture() {
    let text = picture(&machine(), &mut View::default(), 140, 24);
    for wanted in [
        "box, driver 580.95.05",
        "GPU 0 NVIDIA H200",
        "GPU  97%",
        "100 GiB / 141 GiB",
        "71°C of 87°C",
        "650 W of 700 W",
        "clock 1755 of 1980 MHz",
        "held by: power limit",
        "PCIe 5.0 x16 of 5.0 x16",
        "NVLink 4: 1 of 2 up",
        "memoryv",
        "4711",
        "3.00 GiB",
        "4.00 GiB",
        "python train.py",
        "Xorg",
        "q quit",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in\n{text}");
    }
}

#[test]
fn a_locale_of_ascii_gets_ascii() {
    let mut view = View { ascii: true, ..View::default() };
    let text = picture(&machine(), &mut view, 140, 24);
    assert!(text.is_ascii(), "{text}");
    // Filled and unfilled parts of bars differ without colors.
    assert!(text.contains("GPU  97% ####") && text.contains("###--") && text.contains("71 C of 87 C"), "{text}");
    assert!(picture(&machine(), &mut View::default(), 140, 24).contains("━━"));
}

#[test]
fn help_lists_the_keys() {
    let mut view = View { help: true, ..View::default() };
    let text = picture(&machine(), &mut view, 100, 30);
    assert!(text.contains("reverse the order") && text.contains("show the next GPU first"), "{text}");
    assert!(!text.contains("python train.py"), "{text}");
}

#[test]
fn processes_are_sorted_and_filtered() {
    let sample = machine();
    let pids = |view: &View| chosen(&sample, view).iter().map(|p| p.pid).collect::<Vec<_>>();
    assert_eq!(pids(&View::default()), [9, 4711]);
    assert_eq!(pids(&View { sort: 3, ..View::default() }), [4711, 9]);
    assert_eq!(pids(&View { sort: 0, rising: true, ..View::default() }), [9, 4711]);
    assert_eq!(pids(&View { filter: "TRAIN".into(), ..View::default() }), [4711]);
}

#[test]
fn without_a_gpu_it_says_why() {
    let sample = Sample { no_gpu: Some("No GPU is shown: there is none.".into()), ..machine() };
    let sample = Sample { gpus: vec![], ..sample };
    assert!(picture(&sample, &mut View::default(), 80, 24).contains("No GPU is shown: there is none."));
}

/// Drawing never panics, for any size of the terminal and any number of GPUs.
#[test]
fn any_size_is_drawn() {
    let one = machine();
    let eight = Sample { gpus: (0..8).map(|index| Gpu { index, ..one.gpus[0].clone() }).collect(), ..one.clone() };
    let mut view = View { first_gpu: 7, ..View::default() };
    view.table.select(Some(50));
    for (width, height) in [(1, 1), (2, 9), (10, 4), (80, 24), (200, 100), (300, 12)] {
        for sample in [&one, &eight, &Sample::default()] {
            picture(sample, &mut view, width, height);
        }
    }
}
