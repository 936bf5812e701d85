//! What the terminal and its locale can show.

use std::io::{self, IsTerminal};

/// Returns true if standard output shows colors: a terminal, and `NO_COLOR` is unset or empty.
pub(super) fn colored() -> bool {
    io::stdout().is_terminal() && setting("NO_COLOR").is_none()
}

/// Returns true if the locale is one of ASCII alone.
pub(super) fn is_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(setting);
    matches!(locale.as_deref(), Some("C" | "POSIX"))
}

/// Returns the page in characters that the locale has: bars, micro and degrees.
pub(super) fn in_locale(page: Vec<u8>) -> Vec<u8> {
    if is_ascii() {
        String::from_utf8_lossy(&page).replace('█', "#").replace('µ', "u").replace('°', " ").into_bytes()
    } else {
        page
    }
}

/// Returns the columns of the terminal, by `COLUMNS` if it is set; nothing if standard output is not a terminal.
pub(super) fn columns() -> Option<usize> {
    if let Some(columns) = setting("COLUMNS").and_then(|text| text.parse().ok()).filter(|&columns| columns > 0) {
        return Some(columns);
    }
    terminal_size::terminal_size_of(io::stdout()).map(|(terminal_size::Width(columns), _)| usize::from(columns))
}

/// Returns the value of an environment variable that is set and not empty.
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
