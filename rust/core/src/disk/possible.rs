//! Which requests run on the disk: those whose users can be weighed in any order, whatever a look may choose.

use crate::contributions::Totals;
use crate::exchange::runs_in_pieces;
use crate::mechanisms::MechanismSpec;
use crate::rounds::{self, Calibration};
use crate::runtime::Control;
use crate::task::{Possible, Request, SelectRequest};
use crate::{Error, Result};

/// Bytes of a distinct pair and of an item in memory beside the rounds, and of a user in all, as measured.
const PAIR: usize = 8;
const ITEM: usize = 10;
const USER: usize = 50;

/// Refuse a request whose mechanism does not run on the disk. If a look chooses the mechanism, both have to run: no row
/// decides whether there is an error.
///
/// # Errors
/// [`Error::Incompatible`] for a mechanism whose users cannot be weighed in any order; those of the calibration.
pub(super) fn check(request: &Request) -> Result<()> {
    let request = match request {
        Request::Select(request) => request,
        Request::Count(_) | Request::TopK(_) => return Ok(()),
    };
    let possible = Possible::of(request)?;
    match possible.each().find(|possible| !runs_in_pieces(&possible.calibration)) {
        Some(possible) => Err(refused(request, &possible.request, &possible.calibration)),
        None => Ok(()),
    }
}

/// The error for a mechanism that needs all rows in memory: what they take, and what runs on the disk instead.
fn refused(asked: &SelectRequest, possible: &SelectRequest, calibration: &Calibration) -> Error {
    let name = possible.mechanism.type_name();
    let whose =
        asked.mechanism.choice().map_or(name.to_owned(), |_| format!("a look that may choose {name}"));
    Error::Incompatible {
        what: format!("scratch= does not work with {whose}, which needs {}", needed(calibration)),
        fix: match MechanismSpec::beyond_memory().map(|other| meets(asked, other)) {
            [true, true] => {
                "pass mechanism=dpsel.Steered(reach=3) or mechanism=dpsel.Sips(), or leave scratch= out"
            }
            [true, false] => "pass mechanism=dpsel.Steered(reach=3), or leave scratch= out",
            [false, true] => "pass mechanism=dpsel.Sips(), or leave scratch= out",
            [false, false] => "leave scratch= out",
        },
    }
}

/// Whether another mechanism meets the request.
fn meets(asked: &SelectRequest, mechanism: MechanismSpec) -> bool {
    let request = SelectRequest { mechanism, prior: None, ..asked.clone() };
    request.validate().and_then(|request| request.calibrate_once()).is_ok()
}

/// The memory of a job, in words.
fn needed(calibration: &Calibration) -> String {
    const MANY: usize = 1 << 20;
    let control = Control::default();
    let bytes = |codes, rows| rounds::bytes(calibration, Totals { users: MANY, codes, rows }, &control);
    let each = |fewer: usize| (bytes(MANY, 2 * MANY) - fewer).div_ceil(MANY);
    let (pair, item) = (PAIR + each(bytes(MANY, MANY)), ITEM + each(bytes(0, 2 * MANY)));
    format!(
        "all rows in memory: about {pair} bytes for each distinct pair of user and item, {item} for each item and {USER} for \
         each user"
    )
}
