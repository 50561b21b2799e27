//! The requests between which a look at the data may choose, and what is decided for all of them before any row is read.

use super::way::Way;
use crate::contributions::Totals;
use crate::counting::Holdings;
use crate::exchange::Selection;
use crate::random::ReleaseKey;
use crate::rounds;
use crate::runtime::Control;
use crate::task::{Calibrated, CalibratedSelect, SelectRequest};
use crate::{Error, Result};

/// What a mechanism without a way needs (`docs/guide/how-large.md`).
const NEEDED: &str =
    "all rows in memory, about 17 bytes for each, 60 for each distinct item and 45 for each user";

/// The request, or those between which a look chooses. All of them run on the disk.
pub(super) struct Possible(Vec<(CalibratedSelect, Way)>);

impl Possible {
    /// The requests that a look may choose, calibrated. If a look chooses the mechanism, both have to run: no row decides
    /// whether there is an error.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a mechanism that needs all rows in memory; those of the calibration.
    pub(super) fn checked(request: &SelectRequest) -> Result<Self> {
        let (mut on_disk, mut in_memory) = (Vec::new(), None);
        for request in request.possible()? {
            let calibration = request.calibrate_once()?;
            match Way::of(&calibration)? {
                Some(way) => on_disk.push((Calibrated { request, look: None, calibration }, way)),
                None => in_memory = Some(request.mechanism.type_name()),
            }
        }
        match in_memory {
            None => Ok(Self(on_disk)),
            Some(name) => Err(refused(name, on_disk.last().map(|(other, _)| &other.request))),
        }
    }

    /// Whether the rows of whole partitions may have to be gathered into tables, whichever rounds there will be.
    pub(super) fn gathers(&self) -> bool {
        self.0.iter().any(|(_, way)| way.gathers())
    }

    /// Whether the numbers of users of items help, whichever rounds there will be.
    ///
    /// # Errors
    /// As [`Selection::of`].
    pub(super) fn counts_users(&self, key: &ReleaseKey) -> Result<bool> {
        self.0.iter().try_fold(false, |any, (calibrated, way)| {
            let selection = Selection::of(calibrated.clone(), key.clone())?;
            Ok(any || way.needs_counts() || selection.job().frequent_above() >= 1)
        })
    }

    /// The bytes that a release in memory takes beside its rows: those of the rounds and counts that it may have. `public`
    /// is the number of public items.
    pub(super) fn bytes_beside_rows(&self, public: usize, control: &Control) -> impl Fn(Totals) -> usize {
        move |totals| {
            let bytes = self.0.iter().map(|(each, _)| beside_rows(each, totals, public, control));
            bytes.max().unwrap_or(0) // Otherwise: no rounds.
        }
    }
}

fn beside_rows(calibrated: &CalibratedSelect, totals: Totals, public: usize, control: &Control) -> usize {
    let Totals { users, codes, rows } = totals;
    let rounds = rounds::bytes(&calibrated.calibration, totals, control);
    calibrated.request.counts.map_or(rounds, |counts| {
        // Rounds give their memory back before items are counted.
        let sums = Holdings::bytes_of_sums(codes, codes + public, rows);
        Holdings::bytes(counts.limit(), users, rows) + rounds.max(sums)
    })
}

/// The error for a mechanism that needs all rows in memory, beside another choice that does not.
fn refused(in_memory: &str, on_disk: Option<&SelectRequest>) -> Error {
    let Some(other) = on_disk.map(|request| request.mechanism.type_name()) else {
        return Error::Incompatible {
            what: format!("scratch= does not work with {in_memory}, which needs {NEEDED}"),
            fix: "use another mechanism, such as Steered, or leave scratch= out",
        };
    };
    Error::Incompatible {
        what: format!(
            "scratch= does not work with a look that may choose {in_memory}, which needs {NEEDED}, but with {other}, its \
             other choice"
        ),
        fix: "name that one with its parameters as mechanism=, or leave scratch= out",
    }
}
