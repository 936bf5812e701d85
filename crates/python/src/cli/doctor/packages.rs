//! The fifth step: Python packages.

use super::super::Host;
use super::super::report::{Check, Step};

/// The required Python packages: name, minimum version, fix.
const NEEDED: [(&str, [u32; 2], &str); 2] =
    [("numpy", [2, 0], "pip install \"numpy>=2.0\""), ("ml_dtypes", [0, 5], "pip install \"ml_dtypes>=0.5\"")];

/// Packages that share the GPU with Cuprous in one process.
const NEIGHBORS: [&str; 4] = ["torch", "cupy-cuda12x", "cupy-cuda13x", "numba-cuda"];

pub(super) fn checks(host: &Host<'_>) -> Vec<Check> {
    let mut checks: Vec<Check> = NEEDED
        .iter()
        .map(|&(name, least, cure)| match (host.package)(name) {
            None => Check::broken(name, "not installed", cure),
            Some(version) if numbers(&version) < least => {
                let text = format!("{version} is too old, {}.{} is needed", least[0], least[1]);
                Check::broken(name, text, cure)
            }
            Some(version) => Check::ok(name, version),
        })
        .collect();
    let there: Vec<String> =
        NEIGHBORS.iter().filter_map(|name| Some(format!("{name} {}", (host.package)(name)?))).collect();
    if !there.is_empty() {
        checks.push(Check::note(
            "other packages",
            format!("{}: share arrays with Cuprous without a copy", there.join(", ")),
        ));
    }
    checks.into_iter().map(|check| check.of(Step::Packages)).collect()
}

/// Returns the first two numbers of a version.
fn numbers(version: &str) -> [u32; 2] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [parts.next().unwrap_or(0), parts.next().unwrap_or(0)]
}
