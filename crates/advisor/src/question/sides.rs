//! The two sides of a question: hardware of the list, or this machine's, and what both kinds of figures say.

use cuprous_core::{Error, Result};

use crate::estimate::Work;
use crate::profile::{self, Cpu, Gpu, Level, Unit};
use crate::rates::{Group, Rates};

/// One side: of the list, or this machine's.
pub(super) enum Side<T: 'static> {
    Listed(&'static T),
    Here(Rates),
}

pub(super) fn listed<T>(
    what: &str,
    list: &'static [T],
    name: fn(&T) -> &'static str,
    asked: &str,
) -> Result<&'static T> {
    let exact = list.iter().find(|row| name(row) == asked);
    exact.or_else(|| profile::find(list, name, asked)).ok_or_else(|| {
        let names: Vec<&str> = list.iter().map(name).collect();
        Error::value(format!("[estimate] there is no profile of the {what} {asked:?}; there are {}", names.join(", ")))
    })
}

/// What both kinds of figures say.
pub(super) trait Figures {
    fn name(&self) -> &str;
    /// Operations and bytes a second, as programs reach them.
    fn reached(&self, work: &Work, pinned: bool) -> [f64; 2];
    /// Operations a second on paper.
    fn peak(&self, work: &Work) -> f64;
}

pub(super) fn kind(work: &Work) -> &'static str {
    if work.unit == Unit::Matrix { "dot" } else { "add" }
}

impl Figures for Rates {
    fn name(&self) -> &str {
        &self.name
    }
    fn reached(&self, work: &Work, _: bool) -> [f64; 2] {
        [self.peak(work), self.bandwidth(f64::INFINITY)]
    }
    fn peak(&self, work: &Work) -> f64 {
        self.rate(kind(work), Group::of(work.dtype))
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
}

impl<T: Figures> Side<T> {
    pub(super) fn figures(&self) -> &dyn Figures {
        match self {
            Side::Listed(row) => *row,
            Side::Here(rates) => rates,
        }
    }
}
