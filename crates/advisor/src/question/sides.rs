//! The two sides of a question: hardware of the list, or this machine's, and what both kinds of figures say.

use cuprous_core::{Error, Result};

use crate::estimate::Work;
use crate::profile::{self, ComputeUnit, Cpu, Gpu, Level};
use crate::rates::{Group, Rates};

/// One side: of the list, or this machine's with where its figures come from.
pub(super) enum Side<T: 'static> {
    Listed(&'static T),
    Own(Rates, String),
}

/// Hardware of the list by its name.
pub(super) fn listed<T>(what: &str, list: &'static [T], name: fn(&T) -> &'static str, asked: &str) -> Result<Side<T>> {
    let several = profile::candidates(list, name, asked);
    let names = |rows: &[&'static T]| rows.iter().map(|row| name(row)).collect::<Vec<_>>().join(", ");
    match several[..] {
        [one] => Ok(Side::Listed(one)),
        [] => {
            let all: Vec<&T> = list.iter().collect();
            Err(Error::value(format!("[estimate] the {what} {asked:?} is not in the list: {}", names(&all))))
        }
        _ => Err(Error::value(format!("[estimate] {asked:?} may be {}; name one of them", names(&several)))),
    }
}

/// Makes this machine's rate comparable with a listed one. Listed hardware is taken to reach a quarter of its peak element
/// by element. What was measured here for additions depends on how they are counted, so the same share of this machine's
/// peak is taken, by its matrix products. Where both sides were measured they are compared as they are.
pub(super) fn comparable(cpu: &mut Side<Cpu>, gpu: &mut Side<Gpu>, work: &Work) {
    let group = Group::of(work.dtype);
    let scaled = |rates: &mut Rates, source: &mut String| {
        let products = rates.work.get("dot").map_or(0.0, |row| row[group as usize]);
        if work.unit == ComputeUnit::Vector && products > 0.0 {
            let rate = products * profile::typical(ComputeUnit::Vector) / profile::typical(ComputeUnit::Matrix);
            let own = &mut rates.work.entry("add".to_owned()).or_default()[group as usize];
            if (rate / *own - 1.0).abs() > 1e-6 {
                *source += ", at the same share of its peak as listed hardware";
            }
            *own = rate;
        }
    };
    match (cpu, gpu) {
        (Side::Own(rates, source), Side::Listed(_)) | (Side::Listed(_), Side::Own(rates, source)) => {
            scaled(rates, source);
        }
        _ => {}
    }
}

/// What both kinds of figures say.
pub(super) trait Figures {
    fn name(&self) -> &str;
    /// Operations and bytes a second, as programs reach them.
    fn reached(&self, work: &Work, pinned: bool) -> [f64; 2];
    /// The most operations a second.
    fn peak(&self, work: &Work) -> f64;
    /// A remark to show with its figures.
    fn remark(&self) -> &'static str {
        ""
    }
}

pub(super) fn kind(work: &Work) -> &'static str {
    if work.unit == ComputeUnit::Matrix { "dot" } else { "add" }
}

impl Figures for Rates {
    fn name(&self) -> &str {
        &self.name
    }
    fn reached(&self, work: &Work, _: bool) -> [f64; 2] {
        [self.rate(kind(work), Group::of(work.dtype)), self.bandwidth(f64::INFINITY)]
    }
    /// Matrix products come nearest to it.
    fn peak(&self, work: &Work) -> f64 {
        let group = Group::of(work.dtype);
        self.rate("dot", group).max(self.rate("add", group))
    }
}

impl Figures for Cpu {
    fn name(&self) -> &str {
        self.name
    }
    fn reached(&self, work: &Work, _: bool) -> [f64; 2] {
        let rates = self.rates(work.dtype, work.unit, Level::Typical);
        [rates.flops, rates.bandwidth]
    }
    fn peak(&self, work: &Work) -> f64 {
        self.peak(work.dtype)
    }
}

impl Figures for Gpu {
    fn name(&self) -> &str {
        self.name
    }
    fn reached(&self, work: &Work, pinned: bool) -> [f64; 2] {
        let rates = self.rates(work.dtype, work.unit, work.tf32, pinned, Level::Typical);
        [rates.flops, rates.bandwidth]
    }
    fn peak(&self, work: &Work) -> f64 {
        self.peak(work.dtype, work.unit, work.tf32)
    }
    fn remark(&self) -> &'static str {
        if self.is_supported() { "" } else { " (too old for CUDA 13, and so for Cuprous)" }
    }
}

impl<T: Figures> Side<T> {
    pub(super) fn figures(&self) -> &dyn Figures {
        match self {
            Side::Listed(row) => *row,
            Side::Own(rates, _) => rates,
        }
    }

    /// Where the rates of the full model come from.
    pub(super) fn source(&self, unit: ComputeUnit) -> String {
        match self {
            Side::Listed(row) => {
                let what = if unit == ComputeUnit::Matrix { "matrix products" } else { "element by element" };
                format!("data sheets, {:.0} % of the peak ({what}){}", 100.0 * profile::typical(unit), row.remark())
            }
            Side::Own(_, source) => source.clone(),
        }
    }

    /// Where the peak of the simple formula comes from.
    pub(super) fn peak_source(&self) -> String {
        match self {
            Side::Listed(row) => format!("the peak of data sheets{}", row.remark()),
            Side::Own(_, source) => format!("{source}, by its matrix products"),
        }
    }
}

impl Side<Gpu> {
    /// Bytes a second that its slot carries.
    pub(super) fn slot(&self) -> f64 {
        match self {
            Side::Listed(gpu) => gpu.slot(),
            Side::Own(rates, _) => rates.copies.map_or(f64::INFINITY, |c| c.up_pinned),
        }
    }
}
