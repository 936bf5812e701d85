//! The listed hardware with all figures and their sources, for the web page.

use serde::Serialize;

use crate::profile;
use crate::table::Figure;

/// A figure of a data sheet, with its source.
#[derive(Serialize)]
pub struct Value {
    what: &'static str,
    value: f64,
    source: &'static str,
    address: &'static str,
}

/// A GPU or CPU of the list.
#[derive(Serialize)]
pub struct Row {
    name: &'static str,
    figures: Vec<Value>,
    /// A remark to show beside the name, such as that Cuprous does not support the GPU, or has not run on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<&'static str>,
}

/// Returns all GPUs and all CPUs of the list.
pub fn lists() -> [Vec<Row>; 2] {
    let value = |(what, figure): (&'static str, Figure)| Value {
        what,
        value: figure.value,
        source: figure.source.title,
        address: figure.source.address,
    };
    let row = |name, figures: Vec<(&'static str, Figure)>, remark| Row {
        name,
        figures: figures.into_iter().map(value).collect(),
        remark,
    };
    [
        profile::gpus().iter().map(|gpu| row(gpu.name, gpu.figures(), gpu.remark())).collect(),
        profile::cpus().iter().map(|cpu| row(cpu.name, cpu.figures(), None)).collect(),
    ]
}
