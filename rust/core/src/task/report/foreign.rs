//! What is refused in a report that anybody may have written, and in which words.

use dpsel_exact::{Error, Result};
use serde_json::Value;

/// The format of reports that this version writes and reads.
///
/// Format 1 had neither a format nor a task. Its fields have had other names since, so it is refused by name.
pub const FORMAT: u32 = 2;

/// Refuse a report of another format. Only a number is quoted: other values are foreign text.
pub(super) fn check_format(report: &Value) -> Result<()> {
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
pub(super) fn without_quotes(said: &str) -> String {
    // The parser's own words stand last, so a quoted text cannot pass for them.
    let after = said.rfind(", expected ").max(said.rfind(", there are no "));
    match (said.find(['`', '"']), after) {
        (Some(from), Some(to)) if from < to => format!("{}{}", said[..from].trim_end(), &said[to..]),
        (_, None | Some(_)) => said.to_owned(),
    }
}

/// Refuse a report of another version of this library.
pub(super) fn check_version(version: &str) -> Result<()> {
    let known = env!("CARGO_PKG_VERSION");
    if version == known {
        return Ok(());
    }
    let told: String = version.chars().take(20).collect();
    Err(Error::Report(format!("it is of version {told:?}, this is version {known}; check it with that")))
}

/// The flaw in the form of a commitment. Its content is random to everybody but the owner of the key.
pub(super) fn flawed_commitment(commitment: &str) -> Option<String> {
    let digits = commitment.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (!digits || commitment.len() != 64).then(|| "the commitment is not 64 hexadecimal digits".into())
}
