//! The first bytes of a text file: a mark of UTF-8, or of another encoding.

use dpsel_exact::{Error, Result};

/// The name of another encoding, by a byte order mark or a character of ASCII at the start. That of more bytes comes first.
fn other_encoding(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, _, ..] | [_, 0, 0, 0, ..] => {
            Some("UTF-32")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..] => Some("UTF-16"),
        _ => None,
    }
}

/// The length of the byte order mark of UTF-8 at the start of a file.
///
/// # Errors
/// [`Error::Data`] for UTF-16 and UTF-32: their bytes, with NULs in every character of ASCII, would pass for other texts.
pub(super) fn mark(start: &[u8], source: &str) -> Result<usize> {
    match other_encoding(start) {
        Some(name) => Err(Error::Data {
            source_name: source.to_owned(),
            what: format!("it is text in {name}"),
            fix: "convert the file to UTF-8, for example with iconv, and name the encoding with its option -f",
        }),
        None if start.starts_with(b"\xef\xbb\xbf") => Ok(3),
        None => Ok(0),
    }
}
