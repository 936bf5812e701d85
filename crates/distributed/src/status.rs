//! How processes ended, by their wait statuses.

/// Describes a wait status: `exit code 1` or `killed by signal 9 (SIGKILL)`.
pub fn describe_status(status: i32) -> String {
    const SIGNALS: [(i32, &str); 8] = [
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGILL, "SIGILL"),
    ];
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("", |(_, name)| name);
        return format!("killed by signal {signal} ({name})").replace(" ()", "");
    }
    format!("exit code {}", libc::WEXITSTATUS(status))
}

/// Returns how a process of this machine ended if its parent has not asked yet.
pub(crate) fn zombie_status(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    // Field 52 of the line; the name is the second.
    ended.then(|| fields.get(49)?.parse().ok()).flatten().map(describe_status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_names() {
        assert_eq!(describe_status(9), "killed by signal 9 (SIGKILL)");
        assert_eq!(describe_status(3 << 8), "exit code 3");
    }
}
