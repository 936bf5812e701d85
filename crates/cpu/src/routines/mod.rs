//! Routines on whole arrays, one file for each kind. [`dispatch`] checks and calls them.

pub(crate) mod attention;
pub(crate) mod compact;
pub(crate) mod components;
pub(crate) mod convolve;
pub(crate) mod correlate;
mod direct;
pub(crate) mod dispatch;
pub(crate) mod dot;
pub(crate) mod epilogue;
pub(crate) mod fft;
pub(crate) mod linalg;
pub(crate) mod norm;
pub(crate) mod operands;
pub(crate) mod pad;
pub(crate) mod radix;
pub(crate) mod recurrent;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod sparse;
pub(crate) mod table;
mod workspaces;
