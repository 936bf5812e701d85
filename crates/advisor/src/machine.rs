//! The measured rates of this machine, and the file in which they are stored.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::rates::Rates;

/// The version of the file format. A file of another version is not read.
pub const FORMAT: u32 = 2;

/// The measurements of `cuprous calibrate`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of Cuprous that measured it.
    pub version: String,
    /// The host: its processor, and the number of cores that may be used.
    pub host: String,
    /// The GPU and its driver.
    pub board: Option<String>,
    /// Seconds since 1970.
    pub measured: u64,
    /// Rates of the host.
    pub cpu: Rates,
    /// Rates of the first GPU, if there is one.
    pub gpu: Option<Rates>,
    /// What disturbed the measurement, if anything did.
    pub disturbed: Option<String>,
}

/// The stored measurements of this machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StoredMachine {
    /// The measurements. Those of the GPU are left out if the machine has another GPU now.
    pub machine: Option<Machine>,
    /// Why figures are not used or not reliable, and what to do.
    pub hint: Option<String>,
}

/// Returns the path of the file in a directory.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("machine.json")
}

impl Machine {
    /// Reads the measurements of `host` with the GPU `board`.
    pub fn read(path: &Path, host: &str, board: Option<&str>) -> StoredMachine {
        let unusable = |why: String| StoredMachine {
            machine: None,
            hint: Some(format!("{}: {why}; run `cuprous calibrate` again", path.display())),
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return StoredMachine::default(),
            Err(e) => return unusable(format!("it cannot be read ({e})")),
        };
        let parsed: serde_json::Result<Machine> = serde_json::from_str(&text);
        let mut machine = match parsed {
            Ok(it) if it.format != FORMAT => return unusable("it is of another version".into()),
            Ok(it) if it.host != host => {
                return unusable(format!("it was measured on {}, and this is {host}", it.host));
            }
            Ok(it) if it.is_sound() => it,
            Ok(_) | Err(_) => return unusable("it is damaged, or of another version".into()),
        };
        let disturbed = machine.disturbed.as_ref().map(|what| {
            format!(
                "{}: the figures may be wrong, because while they were measured {what}; run `cuprous calibrate` again on \
                 an idle machine",
                path.display()
            )
        });
        let hint = board.filter(|&board| machine.board.as_deref() != Some(board)).map(|board| {
            let other = machine.board.as_deref().unwrap_or("without a GPU");
            format!("{}: it was measured {other}, and here is {board}; run `cuprous calibrate` again", path.display())
        });
        if board.is_none() || hint.is_some() {
            (machine.gpu, machine.board) = (None, None);
        }
        StoredMachine { machine: Some(machine), hint: hint.or(disturbed) }
    }

    /// Returns true if all required figures are present and plausible.
    pub fn is_sound(&self) -> bool {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let natural = |x: f64| x.is_finite() && x >= 0.0;
        [Some(&self.cpu), self.gpu.as_ref()].into_iter().flatten().all(|r| {
            r.work.values().flatten().copied().all(natural)
                && r.work.contains_key("add")
                && r.memory_levels.iter().all(|level| positive(level.bandwidth) && natural(level.bytes))
                && !r.memory_levels.is_empty()
                && [r.launch, r.program, r.record, r.startup, r.share, r.together, r.memory].into_iter().all(natural)
                && r.threads.is_finite()
                && r.threads >= 1.0
                && r.copies.is_none_or(|c| {
                    [c.up, c.down, c.up_pinned, c.down_pinned].into_iter().all(positive) && natural(c.latency)
                })
        }) && self.gpu.as_ref().is_none_or(|gpu| gpu.copies.is_some())
    }

    /// Writes the file. A concurrent reader finds either the old or the new file, complete.
    ///
    /// # Errors
    /// The directory cannot be created or written.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = fs::File::create(&beside)?;
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        drop(file);
        written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
            let _ = fs::remove_file(&beside);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    #[test]
    fn what_cannot_be_is_not_believed() {
        let mut cpu = Rates::of_cores("", &profile::cpus()[0], 2.0);
        let mut sound = |change: fn(&mut Rates)| {
            let before = cpu.clone();
            change(&mut cpu);
            let cpu = std::mem::replace(&mut cpu, before);
            let (host, version) = (String::new(), String::new());
            Machine { format: FORMAT, version, host, board: None, measured: 0, cpu, gpu: None, disturbed: None }
                .is_sound()
        };
        assert!(sound(|_| ()));
        assert!(!sound(|r| r.share = -1.0));
        assert!(!sound(|r| r.together = -2.0));
        assert!(!sound(|r| r.threads = 0.0));
        assert!(!sound(|r| r.memory_levels[0].bytes = -1.0));
        assert!(!sound(|r| r.memory = f64::NAN));
        assert!(!sound(|r| r.work.clear()));
    }
}
