//! This machine as it was measured, and the file that keeps it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::rates::Rates;

/// The form of the file; another one is measured anew.
pub const FORMAT: u32 = 2;

/// What `cuprous calibrate` measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// [`FORMAT`].
    pub format: u32,
    /// Which version measured it.
    pub version: String,
    /// Which host: its processor, and how many of them may be used.
    pub host: String,
    /// Which GPU and driver.
    pub board: Option<String>,
    /// Seconds since 1970.
    pub measured: u64,
    /// The host.
    pub cpu: Rates,
    /// The first GPU, where there is one.
    pub gpu: Option<Rates>,
    /// What else went on meanwhile, so that the figures may be wrong.
    pub disturbed: Option<String>,
}

/// What the user's cache folder has to say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StoredMachine {
    /// This machine's figures; those of the GPU only where they are of the one that is there.
    pub machine: Option<Machine>,
    /// Why some figures are not used or not to be relied on, and the cure.
    pub hint: Option<String>,
}

/// The file in that folder.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("machine.json")
}

impl Machine {
    /// Reads what was measured on that host, with that GPU.
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

    /// Are there figures enough to estimate with, and are they possible?
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

    /// Writes the file: whoever reads meanwhile finds the old one or the new one, whole.
    ///
    /// # Errors
    /// The folder cannot be made or written.
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
