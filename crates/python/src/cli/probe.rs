//! Facts about the machine, read from files and the environment. Nothing here starts CUDA.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the operating system's own description.
pub(super) fn system() -> String {
    let name = fs::read_to_string("/etc/os-release").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(line.trim_matches('"').to_owned())
    });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!("{}, {}", name.as_deref().unwrap_or(std::env::consts::OS), std::env::consts::ARCH);
    if !kernel.trim().is_empty() {
        text.push_str(&format!(", kernel {}", kernel.trim()));
    }
    if let Some(inside) = inside() {
        text.push_str(&format!(", inside {inside}"));
    }
    text
}

/// Returns the environment that contains the process, if it affects which devices the process sees.
pub(super) fn inside() -> Option<&'static str> {
    let version = fs::read_to_string("/proc/version").unwrap_or_default().to_lowercase();
    if version.contains("microsoft") {
        return Some("WSL");
    }
    let cgroup = fs::read_to_string("/proc/1/cgroup").unwrap_or_default();
    let container = Path::new("/.dockerenv").exists()
        || Path::new("/run/.containerenv").exists()
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        || ["docker", "kubepods", "containerd"].iter().any(|word| cgroup.contains(word));
    container.then_some("a container")
}

/// Returns the processor: its name, the threads that this process may use, and the instruction set selected at run
/// time.
pub(crate) fn cpu() -> String {
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let plural = if cores == 1 { "" } else { "s" };
    format!("{}, {cores} core{plural}, {}", model.as_deref().unwrap_or("unknown model"), features())
}

#[cfg(target_arch = "x86_64")]
fn features() -> &'static str {
    if std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512vl") {
        "AVX-512"
    } else if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        "AVX2 and FMA"
    } else {
        "SSE2"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> &'static str {
    if cfg!(target_arch = "aarch64") { "NEON" } else { "portable code" }
}

/// Returns true for the device node of a GPU, as opposed to nodes that all GPUs share.
pub(super) fn is_gpu_node(path: &str) -> bool {
    let name = path.trim_start_matches("/dev/");
    let numbered = name.strip_prefix("nvidia").is_some_and(|n| n.parse::<u32>().is_ok());
    numbered || name == "dxg" || name == "nvgpu"
}

/// Returns the version of NVIDIA's kernel module if it is loaded.
pub(super) fn kernel_module() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version = |word: &&str| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

/// Returns NVIDIA's device nodes: those of the GPUs, and those that all of them share.
pub(super) fn nvidia_nodes() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir("/dev")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_gpu_node(name) || name == "nvidiactl" || name == "nvidia-uvm")
        .map(|name| format!("/dev/{name}"))
        .collect();
    names.sort();
    names
}

/// Returns the nodes that this process may not open, with the reason.
pub(super) fn unreadable(nodes: &[String]) -> Vec<String> {
    let open = |node: &String| fs::OpenOptions::new().read(true).write(true).open(node).err();
    nodes.iter().filter_map(|node| open(node).map(|e| format!("{node}: {e}"))).collect()
}

/// Returns the vendors of the graphics processors on the PCI bus.
pub(super) fn pci_gpus() -> Vec<&'static str> {
    let mut makers = Vec::new();
    for entry in fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten() {
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        // Class 03 is display; 0x12 is processing accelerators.
        let class = read("class");
        if !(class.starts_with("0x03") || class.starts_with("0x12")) {
            continue;
        }
        let maker = match read("vendor").trim() {
            "0x10de" => "NVIDIA",
            "0x1002" => "AMD",
            "0x8086" => "Intel",
            _ => continue,
        };
        if !makers.contains(&maker) {
            makers.push(maker);
        }
    }
    if cfg!(target_os = "macos") {
        makers.push("Apple");
    }
    makers
}

/// Returns the file of a library that is loaded in this process.
pub(super) fn loaded_from(file_name_start: &str) -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..]))).find_map(|path| {
        let matches = path.file_name()?.to_str()?.starts_with(file_name_start);
        matches.then(|| path.to_owned())
    })
}

/// Returns the number of files and bytes in a folder, without what is not readable.
pub(super) fn folder_size(folder: &Path) -> (usize, u64) {
    let mut total = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(data) = entry.metadata() else { continue };
        if data.is_dir() {
            let (files, bytes) = folder_size(&entry.path());
            total = (total.0 + files, total.1 + bytes);
        } else {
            total = (total.0 + 1, total.1 + data.len());
        }
    }
    total
}

/// CPU time since the machine started, in seconds.
pub(super) struct CpuTime {
    /// All CPUs together.
    all: f64,
    /// All but idle time: programs, the kernel, and virtual machines on the same hardware.
    busy: f64,
    /// This process.
    own: f64,
}

impl CpuTime {
    /// Returns no times, so that the share of other processes is unknown.
    #[cfg(not(unix))]
    pub(super) fn now() -> CpuTime {
        CpuTime { all: 0.0, busy: 0.0, own: 0.0 }
    }

    #[cfg(unix)]
    pub(super) fn now() -> CpuTime {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = line.split_whitespace().skip(1).take(8).filter_map(|n| n.parse().ok()).collect();
        // SAFETY: it takes and returns numbers.
        let second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
        let all: f64 = ticks.iter().sum();
        let idle: f64 = ticks.iter().skip(3).take(2).sum();
        // SAFETY: all zeros is a valid value of the struct, which the call overwrites.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut used);
            used
        };
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        CpuTime { all: all / second, busy: (all - idle) / second, own: seconds(used.ru_utime) + seconds(used.ru_stime) }
    }

    /// Returns the share of all CPUs that other processes took since `before`; `None` if it is unknown.
    pub(super) fn others_since(&self, before: &CpuTime) -> Option<f64> {
        let all = self.all - before.all;
        let others = (self.busy - before.busy) - (self.own - before.own);
        (all > 0.0).then(|| (others / all).clamp(0.0, 1.0))
    }
}

/// Returns the bytes of the processor's caches, nearest first, as far as `threads` threads can use them at once.
pub(super) fn caches(threads: f64) -> Vec<f64> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir("/sys/devices/system/cpu/cpu0/cache").into_iter().flatten().flatten() {
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        let text = read("size");
        let size = text.trim().strip_suffix('K').and_then(|n| n.parse::<f64>().ok());
        let sharers = read("shared_cpu_list");
        if let Some(size) = size.filter(|_| read("type").trim() != "Instruction") {
            let own = !sharers.contains([',', '-']);
            sizes.push(1024.0 * size * if own { threads } else { 1.0 });
        }
    }
    if sizes.is_empty() {
        sizes = vec![threads * 32_768.0, threads * 524_288.0, 8_388_608.0];
    }
    sizes.sort_by(f64::total_cmp);
    // A cache that is hardly larger than the one before is not worth a separate figure.
    sizes.dedup_by(|larger, smaller| *larger < 2.0 * *smaller);
    sizes
}
