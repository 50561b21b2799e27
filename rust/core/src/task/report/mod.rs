//! The report: everything that was enforced, derived again by `check`; no count of users, rows or items.

use arrow_array::RecordBatch;
use dpsel_exact::accounting::{Cost, Guarantee};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use self::foreign::{check_format, check_version, flawed_commitment, without_quotes};
use super::calibration::Enforced;
use super::seal::{differences_of, parse, sealed};

mod foreign;
#[cfg(test)]
mod tests;

pub use self::foreign::FORMAT;

/// The only data that leaves the crate: the items, freshly built, and the report (law 5).
#[derive(Debug, Clone)]
pub struct Release {
    /// The released items.
    ///
    /// A selection is sorted by its own values, with a last column `weight` (f64) if asked for. A top-k is in order of
    /// rank, or, without an order, sorted by its own values.
    pub items: RecordBatch,
    /// Parameters and calibrated values; no data.
    pub report: Report,
}

/// Parameters and calibrated values of one release. Made before any data is read.
///
/// In JSON the field `task` is `select` or `top_k`, and says the form of `request` and `calibration`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the form of reports: [`FORMAT`].
    pub format: u32,
    /// Version of this library.
    pub version: String,
    /// The task, its request, and the numbers that meet it.
    #[serde(flatten)]
    pub enforced: Enforced,
    /// Why the mechanism was chosen, when it was chosen automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The theorem behind it (derived from the mechanism when read back).
    #[serde(default, skip_deserializing)]
    pub guarantee: Option<Stated>,
    /// The cost of the call (derived from the request when read back).
    #[serde(default, skip_deserializing)]
    pub cost: Option<Cost>,
    /// The release key's commitment.
    pub key: KeyStamp,
}

/// The theorem behind a release, and the one behind its counts of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stated {
    /// The theorem of the mechanism.
    #[serde(flatten)]
    pub mechanism: Guarantee,
    /// How the counts of users are part of the guarantee, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<&'static str>,
    /// How the numbers of what the list covers are part of it, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<&'static str>,
    /// How a limit that was found in the data is part of it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'static str>,
}

/// The part of a report about its release key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStamp {
    /// Binds the report to the key without revealing it.
    pub commitment: String,
    /// True if the key was given by a test: then nothing is private.
    pub insecure_test_key: bool,
}

impl Report {
    /// The report of a calibrated request.
    ///
    /// # Errors
    /// As [`Enforced::cost`].
    pub fn new(enforced: Enforced, key: &ReleaseKey) -> Result<Self> {
        let key = KeyStamp { commitment: key.commitment(), insecure_test_key: key.is_insecure_test() };
        Self::stamped(enforced, key)
    }

    fn stamped(enforced: Enforced, key: KeyStamp) -> Result<Self> {
        Ok(Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            guarantee: Some(Stated {
                mechanism: enforced.guarantee(),
                counts: enforced.of_counts(),
                rest: enforced.of_rest(),
                limit: enforced.of_limit(),
            }),
            cost: Some(enforced.cost()?),
            enforced,
            chosen: None,
            key,
        })
    }

    /// As indented JSON, with a fingerprint over all of it.
    ///
    /// # Errors
    /// [`Error::Internal`] never in practice: every field serialises.
    pub fn to_json(&self) -> Result<String> {
        sealed(self)
    }

    /// Read a report back.
    ///
    /// # Errors
    /// [`Error::Report`] if the text is no report, or one of another format.
    pub fn from_json(json: &str) -> Result<Self> {
        check_format(&parse(json)?)?;
        serde_json::from_str(json).map_err(|e| Error::Report(without_quotes(&e.to_string())))
    }

    /// Derive the whole report again from the request in its text: one sentence for each part that differs.
    ///
    /// # Errors
    /// As [`Report::from_json`] and [`Report::check`].
    pub fn check_text(json: &str) -> Result<Vec<String>> {
        let report = Self::from_json(json)?;
        let mut differences = report.check()?;
        // `check` compares the numbers and names them in words. The rest is compared field by field.
        let derived = Self { chosen: report.chosen, ..Self::stamped(report.enforced, report.key)? };
        differences.extend(differences_of(json, &derived)?);
        Ok(differences)
    }

    /// Calibrate again from the request alone: one sentence for each number that differs.
    ///
    /// # Errors
    /// [`Error::Report`] for another version of this library, otherwise as [`Enforced::differences`].
    pub fn check(&self) -> Result<Vec<String>> {
        check_version(&self.version)?;
        let mut differences = self.enforced.differences()?;
        differences.extend(flawed_commitment(&self.key.commitment));
        if self.key.insecure_test_key {
            differences.push("made with insecure_test_key, so nothing is private".into());
        }
        Ok(differences)
    }
}
