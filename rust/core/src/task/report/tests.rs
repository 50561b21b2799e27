//! Honest reports check, and changed ones do not.

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
    select(&mut other).request.mechanism = MechanismSpec::CountLaplace(crate::mechanisms::CountLaplace {});
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
    assert!(field(again("\"neighbours\": \"add_remove\"", "\"neighbours\": \"swap\"")).starts_with("cost."));
    assert!(field(again("\"user\": \"u\"", "\"user\": \"v\"")).starts_with("the fingerprint"));
    assert!(field(again("\"cost\": {", "\"cost\": {\"own\": 1,")).starts_with("cost has an unknown field"));
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
    top_k(&mut other).request.counts =
        PublishedCounts::Noise { privacy: dpsel_exact::accounting::Privacy::Zcdp { rho: 0.1, delta: 1e-9 } };
    assert_eq!(other.check().unwrap().len(), 3);
    let refused = |mechanism, domain| top_k_report(mechanism, domain).unwrap_err();
    assert!(matches!(refused(r#"{"name": "joint"}"#, "unknown"), Error::Incompatible { .. }));
    assert!(matches!(refused(r#"{"name": "limit_domain"}"#, "listed"), Error::Incompatible { .. }));
}
