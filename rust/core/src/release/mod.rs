//! The release: freshly built columns of the released items, and the report of what was enforced.

mod report;

use arrow_array::RecordBatch;

pub use report::{KeyStamp, Report};

use crate::Result;
use crate::threshold::Selected;

/// What leaves the crate: the items and the report, nothing else of the data (law 5).
#[derive(Debug, Clone)]
pub struct Release {
    /// The released items, sorted by their own values; with a `weight` column (f64) last if asked for.
    pub items: RecordBatch,
    /// Parameters and calibrations; no data.
    pub report: Report,
}

impl Release {
    pub(crate) fn publish(selected: Selected, report: Report) -> Result<Self> {
        let _ = (selected, report);
        todo!()
    }
}
