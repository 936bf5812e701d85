//! Monitors find what a process publishes. There is only one test, because a process reads the environment once.

use cuprous_core::presence::{self, Device};
use cuprous_watch::Monitor;

#[test]
#[cfg(target_os = "linux")]
fn a_process_finds_itself() {
    let folder = std::env::temp_dir().join(format!("cuprous-presence-{}", std::process::id()));
    // SAFETY: no other thread reads or writes the environment.
    unsafe { std::env::set_var("CUPROUS_RUNTIME_DIR", &folder) };
    let [cpu, gpu] = [Device::Cpu, Device::Cuda(3, [7; 16])].map(presence::counters);
    cpu.add_reserved(100);
    cpu.add_used(60);
    gpu.add_reserved(4096);
    presence::set_rank(Some([0, 4]));
    let processes = presence::processes();
    let [own] = &processes[..] else { panic!("{processes:?}") };
    assert!(own.here && own.pid == std::process::id(), "{own:?}");
    assert_eq!(own.devices, [(Device::Cpu, [60, 100, 60]), (Device::Cuda(3, [7; 16]), [0, 4096, 0])]);

    assert_eq!(own.rank, Some([0, 4]));

    let sample = Monitor::new(None).sample();
    let rows: Vec<_> = sample.processes.iter().filter(|row| row.own.is_some()).map(|row| (row.gpu, row.pid)).collect();
    assert_eq!(rows, [(None, own.pid), (Some(3), own.pid)]);
    let text = cuprous_watch::text::cells(&sample.processes[0])[8].clone();
    assert!(text.starts_with("rank 0 of 4: "), "{text}");
    presence::set_rank(None);
    assert_eq!(presence::processes()[0].rank, None);
    assert!(sample.processes.iter().all(|row| row.host_memory.is_some_and(|bytes| bytes > 0)));

    // Invalid files are skipped, and the page of a process that ended is removed.
    std::fs::write(folder.join("1-1"), [0; 4096]).unwrap();
    assert_eq!(presence::processes().len(), 1);
    assert!(!folder.join("1-1").exists());
    presence::withdraw();
    assert!(presence::processes().is_empty());
    std::fs::remove_dir(folder).unwrap();
}
