//! The first bytes of a text file: a mark of UTF-8, or of another encoding.

use crate::{Error, Result};

/// How other encodings start: with their byte order mark, or with a character of ASCII. The longer ones come first.
const OTHERS: [(&str, fn(&[u8]) -> bool); 2] = [("UTF-32", is_utf_32), ("UTF-16", is_utf_16)];

fn is_utf_32(start: &[u8]) -> bool {
    matches!(start, [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, _, ..] | [_, 0, 0, 0, ..])
}

fn is_utf_16(start: &[u8]) -> bool {
    matches!(start, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..])
}

/// The length of the byte order mark of UTF-8 at the start of a file.
///
/// # Errors
/// [`Error::Data`] for UTF-16 and UTF-32: their bytes, with NULs in every character of ASCII, would pass for other texts.
pub(super) fn mark(start: &[u8], source: &str) -> Result<usize> {
    match OTHERS.into_iter().find(|(_, is_it)| is_it(start)) {
        Some((name, _)) => Err(Error::Data {
            source_name: source.to_owned(),
            what: format!("it is text in {name}"),
            fix: "convert the file to UTF-8, for example with iconv, and name the encoding with its option -f",
        }),
        None if start.starts_with(b"\xef\xbb\xbf") => Ok(3),
        None => Ok(0),
    }
}
