//! Advice: rules over the sums of source lines. Each rule returns the time that its case costs and a sentence. Cases
//! that cost little are left out.

use super::table::{bytes, count, time};
use super::{Report, Row};

/// The smallest share of the wall time that is reported.
const MIN_SHARE: f64 = 0.03;
/// The number of events from which on a line counts as a loop.
const LOOP_COUNT: u64 = 10;
/// The largest copy in bytes that counts as a single value.
const VALUE_BYTES: u64 = 64;
/// The most sentences.
const MAX_SENTENCES: usize = 8;

/// The nanoseconds that a case costs, and what to do.
type Finding = Option<(u64, String)>;
type Rule = fn(&Row, &Report) -> Finding;

const RULES: [Rule; 6] = [reads_values, copies_out, copies_in, waits, plans_anew, many_launches];

pub(super) fn advice(report: &Report) -> Vec<String> {
    let wall = report.wall * 1e9;
    let mut findings: Vec<(u64, String)> = report
        .rows
        .iter()
        .flat_map(|row| RULES.iter().filter_map(move |rule| rule(row, report)))
        .filter(|(cost, _)| *cost as f64 >= MIN_SHARE * wall)
        .collect();
    findings.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    let mut text: Vec<String> = findings.into_iter().take(MAX_SENTENCES).map(|(_, sentence)| sentence).collect();
    text.extend(idle(report));
    if text.is_empty() {
        text.extend(hot(report));
    }
    text
}

fn share(ns: u64, report: &Report) -> String {
    format!("{} of {}, {:.0} %", time(ns), time((report.wall * 1e9) as u64), ns as f64 / 1e7 / report.wall.max(1e-9))
}

fn reads_values(row: &Row, report: &Report) -> Finding {
    let n = row.copies_out;
    (n >= LOOP_COUNT && row.bytes_out <= n * VALUE_BYTES).then(|| {
        let cost = row.copy_time + row.wait_time + row.plan_time;
        let text = format!(
            "{} reads single values from the device {} times ({}): each ends what is being fused and waits for all work \
             before it. Keep the values on the device, and read them once after the loop or every hundredth time.",
            row.name(),
            count(n),
            share(cost, report),
        );
        (cost, text)
    })
}

fn copies_out(row: &Row, report: &Report) -> Finding {
    let cure = |_| "Compute on the device what is needed of it, and copy the result.";
    let data = row.bytes_out > row.copies_out * VALUE_BYTES;
    data.then(|| copies(row, report, (row.copies_out, row.bytes_out), "host", cure))
}

fn copies_in(row: &Row, report: &Report) -> Finding {
    let cure = |n| {
        if n >= LOOP_COUNT {
            "If it is the same data, move it once, before the loop; else let the copies run beside the work: \
             pin_memory() and non_blocking=True."
        } else {
            "Create it on the device, or keep it there for all that follows."
        }
    };
    (row.bytes_in > 0).then(|| copies(row, report, (row.copies_in, row.bytes_in), "device", cure))
}

fn copies(row: &Row, report: &Report, (n, all): (u64, u64), to: &str, cure: fn(u64) -> &'static str) -> (u64, String) {
    let cost = row.copy_time;
    let text = format!(
        "{} copies {} to the {to} {} ({}). {}",
        row.name(),
        bytes(all / n.max(1)),
        each(n, all),
        share(cost, report),
        cure(n),
    );
    (cost, text)
}

fn each(n: u64, all: u64) -> String {
    if n == 1 { "once".into() } else { format!("in each of {} iterations, {} in all", count(n), bytes(all)) }
}

fn waits(row: &Row, report: &Report) -> Finding {
    (row.syncs >= LOOP_COUNT).then(|| {
        let text = format!(
            "{} synchronizes with the device {} times ({}). That is unnecessary: work runs in order, and reading a value \
             waits for it. Remove the synchronization, or synchronize once at the end.",
            row.name(),
            count(row.syncs),
            share(row.wait_time, report),
        );
        (row.wait_time, text)
    })
}

fn plans_anew(row: &Row, report: &Report) -> Finding {
    (row.planned >= 4 && row.planned > row.replayed / 8).then(|| {
        let why = row.reasons.last().map_or(String::new(), |why| format!(" The last time: {why}."));
        let text = format!(
            "{} runs programs that must be planned first: {} planned, {} recognized ({}).{why} Keep shapes and the order \
             of operations the same from one iteration to the next: pad the last batch or drop it, and choose by values \
             with where() instead of if.",
            row.name(),
            count(row.planned),
            count(row.replayed),
            share(row.plan_time, report),
        );
        (row.plan_time, text)
    })
}

fn many_launches(row: &Row, report: &Report) -> Finding {
    let mean = row.device_time / row.launches.max(1);
    (report.asynchronous() && row.launches >= 1000 && mean < 5_000).then(|| {
        let text = format!(
            "{} starts {} kernels of {} each: too small to fill a GPU. Work on larger arrays, or on many at once.",
            row.name(),
            count(row.launches),
            time(mean),
        );
        (row.device_time, text)
    })
}

/// Returns advice if the device is idle while the host is busy.
fn idle(report: &Report) -> Option<String> {
    let (wall, busy) = (report.wall, report.total.device_time as f64 / 1e9);
    (report.asynchronous() && busy < 0.5 * wall && report.python() > 0.3 * wall && wall > 0.01).then(|| {
        format!(
            "The device is busy for {:.0} % of the time, and the host is in Python for {:.0} %: larger batches give the \
             device more to do for each line of Python.",
            100.0 * busy / wall,
            100.0 * report.python() / wall,
        )
    })
}

/// Returns where the time goes, if there is no other advice.
fn hot(report: &Report) -> Option<String> {
    let row = report.rows.iter().max_by_key(|row| row.device_time).filter(|row| row.device_time > 0)?;
    Some(format!(
        "Nothing stands out. {} has most of the device's time: {} of {}.",
        row.name(),
        time(row.device_time),
        time(report.total.device_time)
    ))
}
