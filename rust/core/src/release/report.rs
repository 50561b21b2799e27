//! The report: everything that was enforced, recomputable by `check`; no count of users, rows or items.

use serde::{Deserialize, Serialize};

use crate::mechanisms::{Calibration, Guarantee};
use crate::random::ReleaseKey;
use crate::request::Request;
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
    /// The theorem behind it (derived from the mechanism, ignored when read back).
    #[serde(default, skip_deserializing)]
    pub guarantee: Option<Guarantee>,
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
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            guarantee: Some(request.mechanism.as_mechanism().guarantee()),
            request,
            chosen: None,
            calibration,
            key: KeyStamp { commitment: key.commitment(), insecure_test_key: key.is_insecure_test() },
        }
    }

    /// As indented JSON.
    ///
    /// # Errors
    /// [`Error::Internal`] never in practice: every field serialises.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|_| Error::Internal("the report does not serialise"))
    }

    /// Read a report back.
    ///
    /// # Errors
    /// [`Error::Report`] if it is not one.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|e| Error::Report(e.to_string()))
    }

    /// Calibrate again from the request alone and compare with the report's numbers.
    ///
    /// # Errors
    /// [`Error::Report`] for a version of this library that this one does not know, otherwise as
    /// [`crate::mechanisms::Mechanism::calibrate`].
    pub fn check(&self) -> Result<CheckOutcome> {
        checked_version(&self.version)?;
        let request = self.request.clone().validate()?;
        let again = request.calibrate()?;
        let mut differences = self.calibration.differences(&again);
        differences.extend(request.mechanism.flaw().map(str::to_owned));
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
    use crate::threshold::Rule;

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
        rule.threshold = Threshold::from_units(rule.threshold.units() - 1);
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
    fn unknown_versions_are_refused() {
        let mut report = report();
        report.version = "99.0.0".into();
        assert!(matches!(report.check(), Err(Error::Report(text)) if text.contains("99.0.0")));
    }
}
