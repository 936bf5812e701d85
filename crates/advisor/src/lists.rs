//! All hardware of the list, figure by figure, with where each comes from.

use serde::Serialize;

use crate::profile::{self, Figure};

/// A figure on paper with its source, for the lists.
#[derive(Serialize)]
pub struct Value {
    what: &'static str,
    value: f64,
    source: &'static str,
    address: &'static str,
}

/// Hardware of the list.
#[derive(Serialize)]
pub struct Row {
    name: &'static str,
    figures: Vec<Value>,
}

/// All GPUs and CPUs of the list.
pub fn lists() -> [Vec<Row>; 2] {
    let value = |(what, figure): (&'static str, Figure)| Value {
        what,
        value: figure.value,
        source: figure.source.title,
        address: figure.source.address,
    };
    let row =
        |name, figures: Vec<(&'static str, Figure)>| Row { name, figures: figures.into_iter().map(value).collect() };
    [
        profile::gpus().iter().map(|gpu| row(gpu.name, gpu.figures())).collect(),
        profile::cpus().iter().map(|cpu| row(cpu.name, cpu.figures())).collect(),
    ]
}
