//! The report of a top-k: everything that was enforced, recomputable by `check`; nothing of the data.

use serde::{Deserialize, Serialize};

use super::top_k_request::TopKRequest;
use crate::accounting::{Cost, Guarantee};
use crate::random::ReleaseKey;
use crate::task::{KeyStamp, checked_commitment, checked_fields, checked_version, differences_of, sealed};
use crate::top_k::TopKCalibration;
use crate::{Error, Result};

/// Parameters and calibrated values of one top-k. Made before any data is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopKReport {
    /// Version of this library.
    pub version: String,
    /// What was asked for.
    #[serde(rename = "request")]
    pub top_k: TopKRequest,
    /// Why the mechanism was chosen, when it was chosen automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Rates and thresholds.
    pub calibration: TopKCalibration,
    /// The theorem behind it (derived from the mechanism when read back).
    #[serde(default, skip_deserializing)]
    pub guarantee: Option<Guarantee>,
    /// What the call costs (derived from the request when read back).
    #[serde(default, skip_deserializing)]
    pub cost: Option<Cost>,
    /// The release key's commitment.
    pub key: KeyStamp,
}

impl TopKReport {
    /// The report of a request.
    ///
    /// # Errors
    /// As [`TopKRequest::calibrate`].
    pub fn new(request: TopKRequest, key: &ReleaseKey) -> Result<Self> {
        let key = KeyStamp { commitment: key.commitment(), insecure_test_key: key.is_insecure_test() };
        let calibration = request.calibrate()?;
        Self::stamped(request, calibration, key)
    }

    fn stamped(request: TopKRequest, calibration: TopKCalibration, key: KeyStamp) -> Result<Self> {
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").into(),
            calibration,
            guarantee: Some(request.mechanism.as_mechanism().guarantee(request.neighbours)),
            cost: Some(request.cost()?),
            top_k: request,
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

    /// Whether the text is meant to be such a report.
    #[must_use]
    pub fn is_meant(json: &str) -> bool {
        let report = serde_json::from_str::<serde_json::Value>(json);
        report.is_ok_and(|report| report.get("request").is_some_and(|request| request.get("k").is_some()))
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
    /// As [`TopKReport::from_json`] and [`TopKReport::check`].
    pub fn check_text(json: &str) -> Result<Vec<String>> {
        let report = Self::from_json(json)?;
        let mut differences = report.check()?;
        // The numbers are told by `check`, in words; what is left is compared field by field.
        let mut derived = Self::stamped(report.top_k, report.calibration, report.key)?;
        derived.chosen = report.chosen;
        differences.extend(differences_of(json, &derived)?);
        Ok(differences)
    }

    /// Calibrate again from the request alone: one sentence per number that differs.
    ///
    /// # Errors
    /// [`Error::Report`] for a version of this library that this one does not know, otherwise as
    /// [`TopKRequest::calibrate`].
    pub fn check(&self) -> Result<Vec<String>> {
        checked_version(&self.version)?;
        let again = self.top_k.clone().validate()?.calibrate()?;
        let mut differences = self.calibration.differences(&again);
        differences.extend(checked_commitment(&self.key));
        if self.key.insecure_test_key {
            differences.push("made with insecure_test_key, so nothing is private".into());
        }
        Ok(differences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(mechanism: &str, domain: &str) -> Result<TopKReport> {
        let request = TopKRequest::from_json(&format!(
            r#"{{"k": 10, "privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}},
                 "mechanism": {mechanism}, "max_items_per_user": 5, "domain": {{"kind": "{domain}"}},
                 "counts": {{"kind": "laplace", "epsilon": 0.5}}}}"#
        ))?;
        TopKReport::new(request, &ReleaseKey::from_system()?)
    }

    #[test]
    fn honest_reports_check_and_changed_ones_do_not() {
        for (mechanism, domain) in [
            (r#"{"name": "joint"}"#, "listed"),
            (r#"{"name": "joint_set"}"#, "listed"),
            (r#"{"name": "gumbel_peel"}"#, "listed"),
            (r#"{"name": "permute_flip_joint"}"#, "listed"),
            (r#"{"name": "permute_flip_peel"}"#, "listed"),
            (r#"{"name": "gamma"}"#, "listed"),
            (r#"{"name": "laplace_top_k"}"#, "listed"),
            (r#"{"name": "limit_domain"}"#, "unknown"),
            (r#"{"name": "discover", "share": 0.5, "ordered": true}"#, "unknown"),
        ] {
            let report = report(mechanism, domain).unwrap();
            let mut read = TopKReport::from_json(&report.to_json().unwrap()).unwrap();
            assert!(TopKReport::is_meant(&report.to_json().unwrap()));
            assert_eq!(read.check().unwrap(), Vec::<String>::new(), "{mechanism}");
            read.calibration.rate *= 1.5;
            read.calibration.counts_rate = Some(3.0);
            assert_eq!(read.check().unwrap().len(), 2);
            read.version = "99".into();
            assert!(read.check().is_err());
        }
        let mut other = report(r#"{"name": "joint"}"#, "listed").unwrap();
        other.top_k.columns = None;
        let said = other.check().unwrap();
        other.top_k.sensitivity = 3;
        other.top_k.neighbours = crate::top_k::Neighbours::Any;
        assert_eq!((said.len(), other.check().unwrap().len()), (0, 2));
        other.top_k.counts = super::super::PublishedCounts::Noise {
            privacy: crate::accounting::Privacy::Zcdp { rho: 0.1, delta: 1e-9 },
        };
        assert_eq!(other.check().unwrap().len(), 3);
        assert!(matches!(report(r#"{"name": "joint"}"#, "unknown"), Err(Error::Incompatible { .. })));
        assert!(matches!(report(r#"{"name": "limit_domain"}"#, "listed"), Err(Error::Incompatible { .. })));
    }
}
