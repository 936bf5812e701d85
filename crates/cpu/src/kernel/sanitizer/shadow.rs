//! Shadow memory: the latest accesses to each address.
//!
//! As in FastTrack (Flanagan and Freund, 2009), an address keeps its latest write and few of the reads since then. Two
//! reads by different threads suffice: whoever writes next, one of them is by another thread.

use std::collections::HashMap;

use super::Stamp;
use super::report::Access;

/// Bytes of a page.
const PAGE: usize = 4096;

/// What an address remembers of one kind of access by several threads.
type Stamps = [Option<Stamp>; 2];

#[derive(Clone, Copy, Default)]
struct Cell {
    write: Option<Stamp>,
    reads: Stamps,
    /// Whether it belongs to an array that a kernel declared, and was not written since.
    is_uninitialized: bool,
}

/// The cells of a page, each for `unit` bytes.
struct Page {
    unit: usize,
    cells: Vec<Cell>,
}

impl Page {
    /// Makes the cells fine enough for accesses of that many bytes.
    fn refine(&mut self, bytes: usize) {
        if bytes < self.unit {
            let times = self.unit / bytes;
            self.cells = self.cells.iter().flat_map(|&cell| std::iter::repeat_n(cell, times)).collect();
            self.unit = bytes;
        }
    }
}

/// The problem of an access.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    Uninitialized,
    /// It and that earlier access are not ordered.
    Race(Stamp),
}

#[derive(Default)]
pub(super) struct Shadow {
    pages: HashMap<usize, Page>,
    /// The latest atomic operations at an address, by two threads.
    atomics: HashMap<usize, Stamps>,
}

/// Adds an access to those that an address remembers. One that is ordered before it need not be kept.
fn remember(stamps: &mut Stamps, here: Stamp, is_ordered: &mut dyn FnMut(&Stamp) -> bool) {
    let is_own = |s: &&mut Option<Stamp>| s.is_some_and(|s| s.thread == here.thread);
    if let Some(own) = stamps.iter_mut().find(is_own) {
        *own = Some(here);
    } else if let Some(free) = stamps.iter_mut().find(|s| s.is_none_or(|s| is_ordered(&s))) {
        *free = Some(here);
    }
}

impl Shadow {
    /// Calls `f` with each cell of a range of addresses, and its address.
    fn each(&mut self, address: usize, bytes: usize, f: &mut dyn FnMut(&mut Cell, usize)) {
        // The largest unit that the range consists of: a power of two of at most 8 bytes.
        let unit = 1 << (address | bytes | 8).trailing_zeros();
        let (mut at, end) = (address, address + bytes);
        while at < end {
            let start = at / PAGE * PAGE;
            let new = || Page { unit, cells: vec![Cell::default(); PAGE / unit] };
            let page = self.pages.entry(start).or_insert_with(new);
            page.refine(unit);
            let last = end.min(start + PAGE);
            for k in (at - start) / page.unit..(last - start).div_ceil(page.unit) {
                f(&mut page.cells[k], start + k * page.unit);
            }
            at = last;
        }
    }

    /// An array begins here, whose elements have no values yet.
    pub(super) fn declare(&mut self, address: usize, bytes: usize) {
        self.each(address, bytes, &mut |cell, _| *cell = Cell { is_uninitialized: true, ..Cell::default() });
        self.atomics.retain(|at, _| !(address..address + bytes).contains(at));
    }

    /// Checks an access and remembers it. A silent write leaves the value as it is. `is_ordered` returns true for
    /// accesses that happen before this one.
    pub(super) fn access(
        &mut self,
        address: usize,
        bytes: usize,
        here: Stamp,
        access: Access,
        is_silent: bool,
        is_ordered: &mut dyn FnMut(&Stamp) -> bool,
    ) -> Option<Found> {
        let mut found = None;
        let mut atomics = std::mem::take(&mut self.atomics);
        let mut ordered = |before: &Stamp| before.thread == here.thread || is_ordered(before);
        self.each(address, bytes, &mut |cell, at| {
            let others = if atomics.is_empty() { [None; 2] } else { atomics.get(&at).copied().unwrap_or_default() };
            let mut conflict = |before: &[Option<Stamp>]| {
                let race = before.iter().flatten().find(|before| !ordered(before));
                if let (None, Some(&before)) = (&found, race) {
                    found = Some(Found::Race(before));
                }
            };
            match access {
                Access::Read => {
                    conflict(&[cell.write, others[0], others[1]]);
                    remember(&mut cell.reads, here, &mut ordered);
                }
                Access::Write => {
                    if !is_silent {
                        conflict(&[cell.write, cell.reads[0], cell.reads[1], others[0], others[1]]);
                    }
                    atomics.remove(&at);
                    *cell = Cell { write: Some(here), ..Cell::default() };
                }
                Access::Atomic => {
                    conflict(&[cell.write, cell.reads[0], cell.reads[1]]);
                    remember(atomics.entry(at).or_default(), here, &mut ordered);
                }
                Access::Barrier => {}
            }
            if cell.is_uninitialized && access != Access::Write {
                found = Some(Found::Uninitialized);
                // Once is enough.
                cell.is_uninitialized = false;
            }
        });
        self.atomics = atomics;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(thread: u32, seq: u64) -> Stamp {
        Stamp { thread, site: 0, seq }
    }

    fn never(_: &Stamp) -> bool {
        false
    }

    #[test]
    fn two_threads_race_unless_both_read() {
        for (first, second, races) in [
            (Access::Read, Access::Read, false),
            (Access::Read, Access::Write, true),
            (Access::Write, Access::Read, true),
            (Access::Write, Access::Write, true),
            (Access::Atomic, Access::Atomic, false),
            (Access::Atomic, Access::Read, true),
            (Access::Write, Access::Atomic, true),
        ] {
            let mut shadow = Shadow::default();
            assert_eq!(shadow.access(8, 4, stamp(1, 1), first, false, &mut never), None);
            assert_eq!(shadow.access(8, 4, stamp(1, 2), second, false, &mut never), None, "one thread does not race");
            let mut shadow = Shadow::default();
            assert_eq!(shadow.access(8, 4, stamp(1, 1), first, false, &mut never), None);
            let expected = races.then_some(Found::Race(stamp(1, 1)));
            assert_eq!(shadow.access(8, 4, stamp(2, 2), second, false, &mut never), expected);
        }
    }

    #[test]
    fn a_write_races_with_a_read_that_others_followed() {
        let mut shadow = Shadow::default();
        for thread in 0..5 {
            assert_eq!(shadow.access(64, 8, stamp(thread, 1), Access::Read, false, &mut never), None);
        }
        assert!(shadow.access(64, 8, stamp(4, 2), Access::Write, false, &mut never).is_some());
    }

    #[test]
    fn neighbors_do_not_race_whatever_their_size() {
        let mut shadow = Shadow::default();
        assert_eq!(shadow.access(0, 8, stamp(1, 1), Access::Write, false, &mut never), None);
        assert_eq!(shadow.access(8, 1, stamp(2, 2), Access::Write, false, &mut never), None);
        assert_eq!(shadow.access(9, 1, stamp(3, 3), Access::Write, false, &mut never), None);
        let race = Some(Found::Race(stamp(1, 1)));
        assert_eq!(shadow.access(6, 2, stamp(3, 4), Access::Read, false, &mut never), race);
    }

    #[test]
    fn a_declared_array_is_uninitialized_until_it_is_written() {
        let mut shadow = Shadow::default();
        shadow.declare(4090, 16);
        assert_eq!(shadow.access(4092, 4, stamp(1, 1), Access::Write, false, &mut never), None);
        assert_eq!(shadow.access(4092, 4, stamp(1, 2), Access::Read, false, &mut never), None);
        assert_eq!(shadow.access(4096, 4, stamp(1, 3), Access::Read, false, &mut never), Some(Found::Uninitialized));
        assert_eq!(shadow.access(8192, 4, stamp(1, 4), Access::Read, false, &mut never), None);
    }
}
