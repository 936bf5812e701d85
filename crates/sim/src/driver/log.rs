//! The names of the driver's functions as they are called, for comparisons of what two devices do.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;

use crate::settings::settings;

/// Writes a name to the file that `CUPROUS_SIM=log=…` names, if it does.
pub(super) fn note(name: &str) {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let open = || settings().log.as_ref().map(|path| File::options().create(true).append(true).open(path));
    let file = FILE.get_or_init(|| open().map(|file| file.expect("CUPROUS_SIM: the log cannot be written")));
    if let Some(mut file) = file.as_ref() {
        // One call for each line, so that lines of several threads do not mix.
        let _lost_at_worst = file.write_all(format!("{name}\n").as_bytes());
    }
}
