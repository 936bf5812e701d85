//! The tables in `profiles`. A line is a row of cells between bars, of which the first is a name. `#` starts a comment.

/// The source of figures.
#[derive(Debug)]
pub struct Source {
    /// The key by which the tables refer to it.
    pub key: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its web address.
    pub address: &'static str,
}

/// A number with its source.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// In SI units.
    pub value: f64,
    /// Its source.
    pub source: &'static Source,
}

/// Returns the rows of a table: name and cells.
pub(crate) fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).map(|line| {
        let mut cells = line.split('|').map(str::trim);
        (cells.next().unwrap_or_default(), cells.collect())
    })
}

/// Reads the cells of a row. A cell is a figure and the key of its source, or `-`.
///
/// The tables are part of this crate and a test reads all of them, so a mistake in a table is a panic here.
pub(crate) struct Cells<'a> {
    pub(crate) row: &'static str,
    pub(crate) cells: std::vec::IntoIter<&'static str>,
    pub(crate) sources: &'a [Source],
}

impl Cells<'static> {
    /// Returns the next figure, in multiples of `unit`, or `None` for `-`.
    pub(crate) fn maybe(&mut self, unit: f64) -> Option<Figure> {
        let cell = self.word()?;
        let (value, key) = cell.split_once(' ').unwrap_or_else(|| panic!("{}: no source in {cell:?}", self.row));
        let source = self.sources.iter().find(|source| source.key == key.trim());
        let source = source.unwrap_or_else(|| panic!("{}: unknown source {key:?}", self.row));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{}: no number in {cell:?}", self.row));
        Some(Figure { value: value * unit, source })
    }

    /// Returns the next cell as it is, or `None` for `-`.
    pub(crate) fn word(&mut self) -> Option<&'static str> {
        let cell = self.cells.next().unwrap_or_else(|| panic!("{}: a cell is missing", self.row));
        (cell != "-").then_some(cell)
    }

    /// Returns the next figure, which must not be `-`.
    pub(crate) fn figure(&mut self, unit: f64) -> Figure {
        self.maybe(unit).unwrap_or_else(|| panic!("{}: a figure is missing", self.row))
    }
}
