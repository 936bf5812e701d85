//! The two sides of a question: listed hardware, or this machine's own.

use cuprous_core::{Error, Result};

use crate::estimate::Work;
use crate::profile::{self, ComputeUnit, Cpu, Gpu, Level};
use crate::rates::{Group, Rates};

/// One side: listed hardware, or this machine's rates with their source.
pub(super) enum Side<T: 'static> {
    Listed(&'static T),
    Own(Box<Rates>, String),
}

/// Returns listed hardware by its name.
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

/// Makes this machine's rate of elementwise work comparable with that of listed hardware, which is assumed to reach a
/// quarter of its peak. A measured rate of additions depends on how they are counted. So this machine is assumed to
/// reach the same share of its peak, which is known from its matrix products. If both sides were measured, nothing is
/// changed.
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

/// What listed figures and measured rates have in common.
pub(super) trait Figures {
    fn name(&self) -> &str;
    /// Returns the operations and bytes per second that programs reach.
    fn reached(&self, work: &Work, pinned: bool) -> [f64; 2];
    /// Returns the peak in operations per second.
    fn peak(&self, work: &Work) -> f64;
    /// Returns a remark to show with the figures.
    fn remark(&self) -> String {
        String::new()
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
    /// Returns the rate of matrix products, which come closest to the peak.
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
    fn remark(&self) -> String {
        self.remark().map_or_else(String::new, |text| format!(" ({text})"))
    }
}

impl<T: Figures> Side<T> {
    pub(super) fn figures(&self) -> &dyn Figures {
        match self {
            Side::Listed(row) => *row,
            Side::Own(rates, _) => rates.as_ref(),
        }
    }

    /// Returns the source of the full model's rates.
    pub(super) fn source(&self, unit: ComputeUnit) -> String {
        match self {
            Side::Listed(row) => {
                let what = if unit == ComputeUnit::Matrix { "matrix products" } else { "element by element" };
                format!("data sheets, {:.0} % of the peak ({what}){}", 100.0 * profile::typical(unit), row.remark())
            }
            Side::Own(_, source) => source.clone(),
        }
    }

    /// Returns the source of the simple formula's peak.
    pub(super) fn peak_source(&self) -> String {
        match self {
            Side::Listed(row) => format!("the peak of data sheets{}", row.remark()),
            Side::Own(_, source) => format!("{source}, by its matrix products"),
        }
    }
}

impl Side<Gpu> {
    /// Returns the bandwidth of its slot in bytes per second.
    pub(super) fn slot(&self) -> f64 {
        match self {
            Side::Listed(gpu) => gpu.slot(),
            Side::Own(rates, _) => rates.copies.map_or(f64::INFINITY, |c| c.up_pinned),
        }
    }
}
