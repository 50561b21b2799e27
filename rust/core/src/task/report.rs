//! The report: everything that was enforced, recomputable by `check`; no count of users, rows or items.

use serde::{Deserialize, Serialize};

use super::sealed::{checked_fields, differences_of, sealed};
use crate::accounting::{Cost, Guarantee};
use crate::random::ReleaseKey;
use crate::rounds::Calibration;
use crate::task::Request;
use crate::{Error, Result};

/// Parameters and calibrated values of one release. Made before any data is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this library.
    pub version: String,
    /// What was asked for.
    pub request: Request,
    /// Why the mechanism was chosen, when it was chosen automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Scales and thresholds of every round.
    pub calibration: Calibration,
    /// The theorem behind it (derived from the mechanism when read back).
    #[serde(default, skip_deserializing)]
    pub guarantee: Option<Guarantee>,
    /// What the call costs (derived from the request when read back).
    #[serde(default, skip_deserializing)]
    pub cost: Option<Cost>,
    /// The release key's commitment.
    pub key: KeyStamp,
}

/// What a report says about its release key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStamp {
    /// Binds the report to the key without revealing it.
    pub commitment: String,
    /// True if the key was given by a test: then nothing is private.
    pub insecure_test_key: bool,
}

impl Report {
    /// The report of a calibrated request.
    #[must_use]
    pub fn new(request: Request, calibration: Calibration, key: &ReleaseKey) -> Self {
        let key = KeyStamp { commitment: key.commitment(), insecure_test_key: key.is_insecure_test() };
        Self::stamped(request, calibration, key)
    }

    fn stamped(request: Request, calibration: Calibration, key: KeyStamp) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            guarantee: Some(request.mechanism.as_mechanism().guarantee()),
            cost: Some(Cost::of_items(request.privacy, Cost::ADD_REMOVE)),
            request,
            chosen: None,
            calibration,
            key,
        }
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
    /// [`Error::Report`] if it is not one.
    pub fn from_json(json: &str) -> Result<Self> {
        checked_fields(json)?;
        serde_json::from_str(json).map_err(|e| Error::Report(e.to_string()))
    }

    /// Derive the whole report again from the request in its text: one sentence for each part that differs.
    ///
    /// # Errors
    /// As [`Report::from_json`] and [`Report::check`].
    pub fn check_text(json: &str) -> Result<Vec<String>> {
        let report = Self::from_json(json)?;
        let mut differences = report.check()?.differences;
        // The numbers are told by `check`, in words; what is left is compared field by field.
        let calibration = report.calibration.clone();
        let mut derived = Self::stamped(report.request, calibration, report.key);
        derived.chosen = report.chosen;
        differences.extend(differences_of(json, &derived)?);
        Ok(differences)
    }

    /// Calibrate again from the request alone and compare with the report's numbers.
    ///
    /// # Errors
    /// [`Error::Report`] for a version of this library that this one does not know, otherwise as
    /// [`crate::mechanisms::Mechanism::calibrate`].
    pub fn check(&self) -> Result<CheckOutcome> {
        checked_version(&self.version)?;
        let request = self.request.clone().validate()?;
        let again = request.calibrate_once()?;
        let mut differences = self.calibration.differences(&again);
        differences.extend(request.mechanism.as_mechanism().properties().flaw.map(str::to_owned));
        differences.extend(checked_commitment(&self.key));
        if self.key.insecure_test_key {
            differences.push("made with insecure_test_key, so nothing is private".into());
        }
        Ok(CheckOutcome { differences })
    }
}

/// Refuse a report of another version.
///
/// # Errors
/// [`Error::Report`] for a version of this library that this one does not know.
pub(crate) fn checked_version(version: &str) -> Result<()> {
    let known = env!("CARGO_PKG_VERSION");
    if version == known {
        return Ok(());
    }
    let told: String = version.chars().take(20).collect();
    Err(Error::Report(format!("it is of version {told:?}, this is version {known}; check it with that")))
}

/// What is wrong with the form of a commitment: its content is random to everybody but the key's owner.
pub(crate) fn checked_commitment(key: &KeyStamp) -> Option<String> {
    let digits = key.commitment.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (!digits || key.commitment.len() != 64).then(|| "the commitment is none of a key".into())
}

/// What [`Report::check`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    /// One sentence per parameter that is not what the request calls for; empty if all is well.
    pub differences: Vec<String>,
}

impl CheckOutcome {
    /// Whether the report's numbers are exactly those that the request calls for.
    pub fn is_ok(&self) -> bool {
        self.differences.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::MechanismSpec;
    use crate::noise::Threshold;
    use crate::rounds::Rule;

    fn report() -> Report {
        let request = Request::from_json(
            r#"{"columns": {"user": "u", "items": ["i"]}, "max_items_per_user": 10, "with_weights": false,
                "privacy": {"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6},
                "mechanism": {"name": "sips", "rounds": 2, "ratio": 0.5}}"#,
        )
        .unwrap();
        let calibration =
            request.mechanism.as_mechanism().calibrate(request.privacy, request.max_items_per_user).unwrap();
        let mut report = Report::new(request, calibration, &ReleaseKey::insecure_test([1; 32]));
        report.key.insecure_test_key = false;
        report
    }

    #[test]
    fn an_honest_report_checks_after_a_round_trip() {
        let report = Report::from_json(&report().to_json().unwrap()).unwrap();
        assert_eq!(report.check().unwrap().differences, Vec::<String>::new());
    }

    #[test]
    fn every_changed_number_is_named() {
        let mut changed = report();
        let mut rule = changed.calibration.rounds[1].rule.noisy().unwrap();
        rule.threshold = Threshold::from_steps(rule.threshold.steps() - 1);
        changed.calibration.rounds[1].rule = Rule::Noisy(rule);
        let outcome = changed.check().unwrap();
        assert!(!outcome.is_ok() && outcome.differences[0].starts_with("round 2: threshold"), "{outcome:?}");

        let mut fewer = report();
        fewer.calibration.rounds.pop();
        assert_eq!(fewer.check().unwrap().differences, ["1 rounds instead of 2"]);

        let mut other = report();
        other.request.mechanism = MechanismSpec::CountLaplace(crate::mechanisms::CountLaplace {});
        assert!(!other.check().unwrap().is_ok());

        let mut test_key = report();
        test_key.key.insecure_test_key = true;
        assert_eq!(
            test_key.check().unwrap().differences,
            ["made with insecure_test_key, so nothing is private"]
        );
    }

    #[test]
    fn every_text_is_derived_again() {
        let text = report().to_json().unwrap();
        assert_eq!(Report::check_text(&text).unwrap(), Vec::<String>::new());
        let again = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            Report::check_text(&changed).unwrap()
        };
        let field = |differences: Vec<String>| differences[0].clone();
        assert!(field(again("exact composition", "inexact composition")).starts_with("guarantee.statement"));
        assert!(field(again("add or remove one", "know any one")).starts_with("guarantee.neighbours"));
        assert!(
            field(again("\"neighbours\": \"add_remove\"", "\"neighbours\": \"swap\"")).starts_with("cost.")
        );
        assert!(field(again("\"user\": \"u\"", "\"user\": \"v\"")).starts_with("the fingerprint"));
        assert!(field(again("\"cost\": {", "\"cost\": {\"own\": 1,")).starts_with("cost has a field"));
        assert!(field(again("\"commitment\": \"", "\"commitment\": \"x")).starts_with("the commitment"));
    }

    #[test]
    fn unknown_versions_are_refused() {
        let mut report = report();
        report.version = "99.0.0".into();
        assert!(matches!(report.check(), Err(Error::Report(text)) if text.contains("99.0.0")));
    }
}
