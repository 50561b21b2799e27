//! Any text as a report: `check` says that it holds, how it differs, or that it is none.

use dpsel_core::task::Report;
use dpsel_exact::Error;

pub(crate) fn checked(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match check(text) {
        Err(Error::Internal(what)) => panic!("an internal error: {what}"),
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(_) => (),
    }
}

fn check(text: &str) -> dpsel_exact::Result<Vec<String>> {
    let report = Report::from_json(text)?;
    let again = Report::from_json(&report.to_json()?)?;
    assert_eq!(again.enforced, report.enforced);
    Report::check_text(text)
}
