//! The report: everything that was enforced, derived again by `check`; no count of users, rows or items.

use arrow_array::RecordBatch;
use dpsel_exact::accounting::{Cost, Guarantee};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calibration::Enforced;
use super::seal::{differences_of, parse, sealed};

/// The format of reports that this version writes and reads.
///
/// Format 1 had neither a format nor a task. Its fields have had other names since, so it is refused by name.
pub const FORMAT: u32 = 2;

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
        differences.extend(flawed_commitment(&self.key));
        if self.key.insecure_test_key {
            differences.push("made with insecure_test_key, so nothing is private".into());
        }
        Ok(differences)
    }
}

/// Refuse a report of another format. Only a number is quoted: other values are foreign text.
fn check_format(report: &Value) -> Result<()> {
    let format = match (report.get("format"), report.get("version")) {
        (Some(format), _) if format.as_u64() == Some(FORMAT.into()) => return Ok(()),
        (Some(format), _) => format.as_u64().map_or("an unknown format".into(), |n| format!("format {n}")),
        (None, Some(_)) => "format 1, which only builds before the first release of dpsel wrote".into(),
        (None, None) => return Err(Error::Report("it has no format".into())),
    };
    Err(Error::Report(format!(
        "it is of {format}, this dpsel reads format {FORMAT}; check it with the build that wrote it"
    )))
}

/// What the parser of JSON says, without the text that it quotes: a file that is no report may hold anything.
fn without_quotes(said: &str) -> String {
    // The parser's own words stand last, so a quoted text cannot pass for them.
    let after = said.rfind(", expected ").max(said.rfind(", there are no "));
    match (said.find(['`', '"']), after) {
        (Some(from), Some(to)) if from < to => format!("{}{}", said[..from].trim_end(), &said[to..]),
        (_, None | Some(_)) => said.to_owned(),
    }
}

/// Refuse a report of another version of this library.
fn check_version(version: &str) -> Result<()> {
    let known = env!("CARGO_PKG_VERSION");
    if version == known {
        return Ok(());
    }
    let told: String = version.chars().take(20).collect();
    Err(Error::Report(format!("it is of version {told:?}, this is version {known}; check it with that")))
}

/// The flaw in the form of a commitment. Its content is random to everybody but the owner of the key.
fn flawed_commitment(key: &KeyStamp) -> Option<String> {
    let digits = key.commitment.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (!digits || key.commitment.len() != 64).then(|| "the commitment is not 64 hexadecimal digits".into())
}

#[cfg(test)]
mod tests {
    use dpsel_exact::noise::Threshold;

    use super::*;
    use crate::mechanisms::MechanismSpec;
    use crate::rounds::Rule;
    use crate::task::calibration::{CalibratedSelect, CalibratedTopK};
    use crate::task::request::Request;
    use crate::task::top_k::PublishedCounts;
    use crate::top_k::Neighbours;

    fn of_json(request: &str) -> Result<Report> {
        let mut report =
            Report::new(Request::from_json(request)?.calibrate()?, &ReleaseKey::insecure_test([1; 32]))?;
        report.key.insecure_test_key = false;
        Ok(report)
    }

    fn report() -> Report {
        of_json(
            r#"{"task": "select", "columns": {"user": "u", "items": ["i"]}, "max_items_per_user": 10, "with_weights": false,
                "privacy": {"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6},
                "mechanism": {"name": "sips", "rounds": 2, "ratio": 0.5}}"#,
        )
        .unwrap()
    }

    fn select(report: &mut Report) -> &mut CalibratedSelect {
        match &mut report.enforced {
            Enforced::Select(select) => select,
            Enforced::TopK(_) => panic!("a top-k"),
        }
    }

    fn top_k(report: &mut Report) -> &mut CalibratedTopK {
        match &mut report.enforced {
            Enforced::TopK(top_k) => top_k,
            Enforced::Select(_) => panic!("a selection"),
        }
    }

    #[test]
    fn an_honest_report_checks_after_a_round_trip() {
        let report = Report::from_json(&report().to_json().unwrap()).unwrap();
        assert_eq!(report.check().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn every_changed_number_is_named() {
        let mut changed = report();
        let mut rule = select(&mut changed).calibration.rounds[1].rule.noisy().unwrap();
        rule.threshold = Threshold::from_steps(rule.threshold.steps() - 1);
        select(&mut changed).calibration.rounds[1].rule = Rule::Noisy(rule);
        let differences = changed.check().unwrap();
        assert!(differences[0].starts_with("round 2: threshold"), "{differences:?}");

        let mut fewer = report();
        select(&mut fewer).calibration.rounds.pop();
        assert_eq!(fewer.check().unwrap(), ["1 rounds instead of 2"]);

        let mut other = report();
        select(&mut other).request.mechanism =
            MechanismSpec::CountLaplace(crate::mechanisms::CountLaplace {});
        assert_ne!(other.check().unwrap(), Vec::<String>::new());

        let mut test_key = report();
        test_key.key.insecure_test_key = true;
        assert_eq!(test_key.check().unwrap(), ["made with insecure_test_key, so nothing is private"]);
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
        assert!(
            field(again("\"cost\": {", "\"cost\": {\"own\": 1,")).starts_with("cost has an unknown field")
        );
        assert!(field(again("\"commitment\": \"", "\"commitment\": \"x")).starts_with("the commitment"));
    }

    #[test]
    fn unknown_versions_are_refused() {
        let mut report = report();
        report.version = "99.0.0".into();
        assert!(matches!(report.check(), Err(Error::Report(text)) if text.contains("99.0.0")));
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        let text = report().to_json().unwrap();
        let refused = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            Report::check_text(&changed).unwrap_err().to_string()
        };
        let format = "\"format\": 2";
        // Format 1 is a report of 0.1.0, whatever else it says.
        let first = refused("  \"format\": 2,\n", "");
        assert!(first.contains("format 1") && first.contains("before the first release"), "{first}");
        assert!(refused(format, "\"format\": 3").contains("it is of format 3"));
        let quoted = refused(format, "\"format\": \"secret\"");
        assert!(quoted.contains("an unknown format") && !quoted.contains("secret"));
        assert!(Report::from_json("{}").unwrap_err().to_string().contains("no format"));
        // A task is never guessed.
        let task = "\"task\": \"select\"";
        assert!(refused(&format!("  {task},\n"), "").contains("task"));
        assert!(refused(task, "\"task\": \"top_k\"").starts_with("not a dpsel report"));
        assert!(refused(task, "\"task\": \"count\"").contains("`top_k`"));
    }

    #[test]
    fn a_report_that_cannot_be_read_is_not_quoted() {
        let text = report().to_json().unwrap();
        let secret = "secret`, expected one of `a\\u001b[31m, there are no fields";
        let said = |from: &str, to: &str| {
            let changed = text.replacen(from, &to.replace("SECRET", secret), 1);
            assert_ne!(changed, text);
            Report::check_text(&changed).unwrap_err().to_string()
        };
        for (from, to, kept) in [
            ("\"select\"", "\"SECRET\"", "`top_k`"),
            ("\"sips\"", "\"SECRET\"", "`count_laplace`"),
            ("\"approx_dp\"", "\"SECRET\"", "`pure_dp`"),
            ("\"ratio\"", "\"SECRET\"", "`ratio`"),
            ("\"sips\",", "\"one_item\", \"SECRET\": 1,", ""),
            ("\"with_weights\": false", "\"with_weights\": \"SECRET\"", "a boolean"),
            ("\"max_items_per_user\": 10", "\"max_items_per_user\": \"SECRET\"", "u32"),
        ] {
            let said = said(from, to);
            assert!(!said.contains("secret") && !said.contains('\u{1b}') && said.contains(kept), "{said}");
        }
    }

    fn top_k_report(mechanism: &str, domain: &str) -> Result<Report> {
        of_json(&format!(
            r#"{{"task": "top_k", "k": 10, "privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}},
                 "mechanism": {mechanism}, "max_items_per_user": 5, "domain": {{"kind": "{domain}"}},
                 "counts": {{"kind": "laplace", "epsilon": 0.5}}}}"#
        ))
    }

    #[test]
    fn honest_reports_of_a_top_k_check_and_changed_ones_do_not() {
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
            let text = top_k_report(mechanism, domain).unwrap().to_json().unwrap();
            assert_eq!(Report::check_text(&text).unwrap(), Vec::<String>::new(), "{mechanism}");
            let mut read = Report::from_json(&text).unwrap();
            top_k(&mut read).calibration.rate *= 1.5;
            top_k(&mut read).calibration.counts_rate = Some(3.0);
            assert_eq!(read.check().unwrap().len(), 2);
            read.version = "99".into();
            assert!(read.check().is_err());
        }
    }

    #[test]
    fn a_top_k_of_noisy_counts_says_how_these_are_paid() {
        let report = |share: f64| {
            of_json(&format!(
                r#"{{"task": "top_k", "columns": {{"user": "u", "items": ["i"]}}, "k": 10, "max_items_per_user": 5,
                     "privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}}, "domain": {{"kind": "unknown"}},
                     "mechanism": {{"name": "select_and_count", "share": {share}, "max_counted_items": 3}}}}"#
            ))
            .unwrap()
        };
        let text = report(0.3).to_json().unwrap();
        assert!(text.contains("one more adaptive Gaussian round") && !text.contains("\"rate\""));
        assert_eq!(Report::check_text(&text).unwrap(), Vec::<String>::new());
        let mut other = report(0.3);
        top_k(&mut other).calibration = top_k(&mut report(0.31)).calibration.clone();
        let said = other.check().unwrap();
        assert!(said.len() >= 2 && said.iter().any(|each| each.contains("noise of the counts")));
        let refused =
            top_k_report(r#"{"name": "select_and_count", "share": 0.3, "max_counted_items": 3}"#, "unknown");
        assert!(matches!(refused, Err(Error::Incompatible { fix, .. }) if fix.contains("free")));
    }

    #[test]
    fn every_parameter_of_a_top_k_counts() {
        let mut other = top_k_report(r#"{"name": "joint"}"#, "listed").unwrap();
        top_k(&mut other).request.columns = None;
        let said = other.check().unwrap();
        top_k(&mut other).request.sensitivity = 3;
        top_k(&mut other).request.neighbours = Neighbours::Any;
        assert_eq!((said.len(), other.check().unwrap().len()), (0, 2));
        top_k(&mut other).request.counts = PublishedCounts::Noise {
            privacy: dpsel_exact::accounting::Privacy::Zcdp { rho: 0.1, delta: 1e-9 },
        };
        assert_eq!(other.check().unwrap().len(), 3);
        let refused = |mechanism, domain| top_k_report(mechanism, domain).unwrap_err();
        assert!(matches!(refused(r#"{"name": "joint"}"#, "unknown"), Error::Incompatible { .. }));
        assert!(matches!(refused(r#"{"name": "limit_domain"}"#, "listed"), Error::Incompatible { .. }));
    }
}
