//! Which requests run beyond memory: those whose users can be weighed in any order, whatever a look may choose.

use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::Totals;
use dpsel_rows::runtime::Control;

use super::choices::Possible;
use super::request::SelectRequest;
use crate::mechanisms::MechanismSpec;
use crate::rounds::{self, Calibration, Round};

/// Bytes of a distinct pair and of an item in memory beside the rounds, and of a user in all, as measured.
const PAIR: usize = 8;
const ITEM: usize = 10;
const USER: usize = 50;

/// An engine that has no place for all rows at once.
#[derive(Debug, Clone, Copy)]
pub enum BeyondMemory {
    /// This machine's disk.
    Disk,
    /// Spark.
    Cluster,
}

/// What to do instead: with both of the other mechanisms, with one of them, and without.
macro_rules! fixes {
    ($otherwise:literal) => {
        [
            concat!("pass mechanism=dpsel.Steered(reach=3) or mechanism=dpsel.Sips(), or ", $otherwise),
            concat!("pass mechanism=dpsel.Steered(reach=3), or ", $otherwise),
            concat!("pass mechanism=dpsel.Sips(), or ", $otherwise),
            $otherwise,
        ]
    };
}

impl BeyondMemory {
    /// What it does not do, and what to do instead: with one of two mechanisms, or where neither meets the request.
    fn words(self) -> (&'static str, [&'static str; 4]) {
        match self {
            Self::Disk => ("scratch= does not work with", fixes!("leave scratch= out")),
            Self::Cluster => ("Spark does not run", fixes!("call dpsel.select_partitions on one machine")),
        }
    }
}

/// Refuse a request whose mechanism does not run beyond memory. If a look chooses the mechanism, both have to run: no row
/// decides whether there is an error.
///
/// # Errors
/// [`Error::Incompatible`] for a mechanism whose users cannot be weighed in any order; those of the calibration.
pub fn check_order(request: &SelectRequest, on: BeyondMemory) -> Result<()> {
    let possible = Possible::of(request)?;
    match possible.each().find(|possible| !runs_in_pieces(&possible.calibration)) {
        Some(possible) => Err(refused(request, &possible.request, &possible.calibration, on)),
        None => Ok(()),
    }
}

/// The error for a mechanism that needs all rows in memory: what they take, and what runs beyond memory instead.
fn refused(
    asked: &SelectRequest,
    possible: &SelectRequest,
    calibration: &Calibration,
    on: BeyondMemory,
) -> Error {
    let name = possible.mechanism.type_name();
    let whose =
        asked.mechanism.choice().map_or(name.to_owned(), |_| format!("a look that may choose {name}"));
    let (refusal, [either, steered, sips, neither]) = on.words();
    Error::Incompatible {
        what: format!("{refusal} {whose}, which needs {}", needed(calibration)),
        fix: match MechanismSpec::beyond_memory().map(|other| meets(asked, other)) {
            [true, true] => either,
            [true, false] => steered,
            [false, true] => sips,
            [false, false] => neither,
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

/// Whether the rounds can run in pieces.
fn runs_in_pieces(calibration: &Calibration) -> bool {
    calibration.rounds.iter().all(in_pieces)
}

/// Whether the weights of parts of the users add up to the weights of all users, and items are decided one by one.
fn in_pieces(round: &Round) -> bool {
    round.weighting.adds_up() && round.rule.is_item_by_item()
}
