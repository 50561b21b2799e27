//! Any text as a report: `check` says that it holds, how it differs, or that it is none.

use dpsel_core::Error;
use dpsel_core::task::{Report, TopKReport};

pub(crate) fn checked(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let differences = if TopKReport::is_meant(text) { top_k(text) } else { partitions(text) };
    match differences {
        Err(Error::Internal(what)) => panic!("an internal error: {what}"),
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(_) => (),
    }
}

fn top_k(text: &str) -> dpsel_core::Result<Vec<String>> {
    let report = TopKReport::from_json(text)?;
    let again = TopKReport::from_json(&report.to_json()?)?;
    assert_eq!((again.top_k, again.calibration), (report.top_k.clone(), report.calibration.clone()));
    TopKReport::check_text(text)
}

fn partitions(text: &str) -> dpsel_core::Result<Vec<String>> {
    let report = Report::from_json(text)?;
    let again = Report::from_json(&report.to_json()?)?;
    assert_eq!((again.request, again.calibration), (report.request.clone(), report.calibration.clone()));
    Report::check_text(text)
}
