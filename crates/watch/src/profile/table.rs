//! The table of a profile as text.

use std::fmt::Write;

use super::{Report, Row};

/// A column of the table: its name in [`Row`], its header and its format.
type Column = (&'static str, &'static str, fn(u64) -> String);

const COLUMNS: [Column; 13] = [
    ("device_time", "device", time),
    ("launches", "launches", count),
    ("bytes_in", "to device", bytes),
    ("bytes_out", "to host", bytes),
    ("hidden_syncs", "waits", count),
    ("wait_time", "waited", time),
    ("collectives", "collectives", count),
    ("collective_bytes", "sent", bytes),
    ("rank_wait_time", "for ranks", time),
    ("planned", "planned", count),
    ("replayed", "replayed", count),
    ("plan_time", "planning", time),
    ("memory_peak", "memory", bytes),
];

pub(super) fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        0.0 => String::new(),
        1e9.. => format!("{:.3} s", ns / 1e9),
        1e6.. => format!("{:.3} ms", ns / 1e6),
        _ => format!("{:.1} µs", ns / 1e3),
    }
}

pub(super) fn count(n: u64) -> String {
    if n == 0 {
        return String::new();
    }
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn bytes(n: u64) -> String {
    let x = n as f64;
    match x {
        0.0 => String::new(),
        1e9.. => format!("{:.2} GB", x / 1e9),
        1e6.. => format!("{:.1} MB", x / 1e6),
        1e3.. => format!("{:.1} kB", x / 1e3),
        _ => format!("{n} B"),
    }
}

pub(super) fn table(report: &Report, limit: usize, sort_by: &str) -> Result<String, String> {
    let mut rows: Vec<&Row> = report.rows.iter().collect();
    if sort_by != "time" {
        if report.total.column(sort_by).is_none() {
            return Err(format!(
                "[profile] sort_by={sort_by:?} is not a column; use time, {}",
                Row::COLUMNS.join(", ")
            ));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.column(sort_by)));
    }
    if rows.is_empty() {
        return Ok(format!("In {} no operation ran.\n", time((report.wall * 1e9) as u64)));
    }
    let shown: Vec<&Column> = COLUMNS.iter().filter(|(name, ..)| report.total.column(name) != Some(0)).collect();
    let mut cells: Vec<Vec<String>> =
        vec![std::iter::once("line").chain(shown.iter().map(|s| s.1)).map(String::from).collect()];
    let line = |name: String, row: &Row| {
        let of = |(column, _, write): &&Column| write(row.column(column).unwrap_or(0));
        std::iter::once(name).chain(shown.iter().map(of)).collect()
    };
    cells.extend(rows.iter().take(limit).map(|row| line(format!("{} {}", row.name(), row.function), row)));
    let left = rows.len().saturating_sub(limit);
    if left > 0 {
        let mut rest = Row::of(&super::SourceLocation::unknown());
        rows[limit..].iter().for_each(|row| rest.add(row));
        cells.push(line(format!("{left} other lines"), &rest));
    }
    cells.push(line("all".into(), &report.total));
    let widths: Vec<usize> =
        (0..cells[0].len()).map(|k| cells.iter().map(|row| row[k].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (at, row) in cells.iter().enumerate() {
        if at + 1 == cells.len() {
            let _ = writeln!(text, "{}", "-".repeat(widths.iter().map(|w| w + 2).sum::<usize>() - 2));
        }
        for (k, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[k] - cell.chars().count());
            let _ = if k == 0 { write!(text, "{cell}{pad}") } else { write!(text, "  {pad}{cell}") };
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    let share = |ns: f64| format!("{} ({:.0} %)", time(ns as u64), 100.0 * ns / 1e9 / report.wall.max(1e-9));
    let total = &report.total;
    let _ = write!(text, "\n{} in all, of which the host spent", time((report.wall * 1e9) as u64));
    let (run, work) = (total.run_time as f64, if report.asynchronous() { "submitting work" } else { "computing" });
    let parts = [
        (report.python() * 1e9, "in Python and recording"),
        (run, work),
        (total.plan_time as f64, "planning and compiling"),
        (total.copy_time as f64, "copying"),
        (total.wait_time as f64, "waiting for the device"),
        (total.rank_wait_time as f64, "waiting for other ranks"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(ns, _)| *ns >= 1e3).map(|(ns, what)| format!(" {} {what}", share(*ns))).collect();
    let _ = writeln!(text, "{}.", parts.join(","));
    if report.asynchronous() {
        let _ = writeln!(text, "The device was busy for {}.", share(total.device_time as f64));
    }
    Ok(text)
}
