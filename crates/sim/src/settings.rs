//! What the environment chooses: `CUPROUS_SIM=key=value,…`.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The order in which waves of a block and blocks of a launch run. Code must not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Backward,
}

/// How devices reach each other's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peers {
    Yes,
    No,
    /// They say that they do, and lose data.
    Broken,
}

/// How a simulated GPU behaves.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Threads that run in turn until all of them wait: 32 as on NVIDIA's GPUs, 64 as on AMD's.
    pub(crate) wave: u32,
    pub(crate) order: Order,
    /// Decides which stream goes on, and which of the nodes of a graph that can run comes next.
    pub(crate) seed: u64,
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Number of multiprocessors.
    pub(crate) sms: u32,
    /// Number of devices.
    pub(crate) devices: u32,
    /// How copies between devices work.
    pub(crate) peers: Peers,
    /// More options for the compiler, such as `-fsanitize=address`.
    pub(crate) flags: Vec<String>,
    /// Where compiled kernels are kept for other processes; by default in a folder that is removed at the end.
    pub(crate) cache: Option<PathBuf>,
    /// Keeps the C++ that is compiled.
    pub(crate) keep: bool,
    /// Where the names of the driver's functions are written as they are called.
    pub(crate) log: Option<PathBuf>,
    /// The dependency with this number is left out of every graph, as if the planner had forgotten it.
    pub(crate) drop: Option<u64>,
}

/// Returns the settings of this process.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| parse(&std::env::var("CUPROUS_SIM").unwrap_or_default()))
}

/// # Panics
/// A key is unknown or a value is not valid: a test that names neither would test something else.
fn parse(text: &str) -> Settings {
    let mut settings = Settings {
        wave: 32,
        order: Order::Forward,
        seed: 0,
        memory: 4 << 30,
        sms: 4,
        devices: 1,
        peers: Peers::Yes,
        flags: Vec::new(),
        cache: None,
        keep: false,
        log: None,
        drop: None,
    };
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (key, value) = item.split_once('=').unwrap_or((item, ""));
        let number = || value.parse::<u64>().unwrap_or_else(|_| panic!("CUPROUS_SIM: {item} is not a number"));
        match key {
            "wave" if matches!(value, "32" | "64") => settings.wave = number() as u32,
            "order" if value == "forward" => settings.order = Order::Forward,
            "order" if value == "backward" => settings.order = Order::Backward,
            "seed" => settings.seed = number(),
            "memory" => settings.memory = number(),
            "sms" => settings.sms = number() as u32,
            "devices" => settings.devices = number() as u32,
            "peers" if value == "yes" => settings.peers = Peers::Yes,
            "peers" if value == "no" => settings.peers = Peers::No,
            "peers" if value == "broken" => settings.peers = Peers::Broken,
            "flag" => settings.flags.push(value.into()),
            "cache" => settings.cache = Some(value.into()),
            "keep" => settings.keep = true,
            "log" => settings.log = Some(value.into()),
            "drop" => settings.drop = Some(number()),
            _ => panic!("CUPROUS_SIM: {item} is not a setting"),
        }
    }
    settings
}
