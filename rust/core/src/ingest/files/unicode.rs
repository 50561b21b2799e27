//! The first bytes of a text file: a mark of UTF-8, or of another encoding.

use crate::{Error, Result};

/// The length of the byte order mark of UTF-8 at the start of a file.
///
/// # Errors
/// [`Error::Data`] for UTF-16: its bytes, with a NUL in every character of ASCII, would pass for other texts.
pub(super) fn mark(start: &[u8], source: &str) -> Result<usize> {
    let with_mark = start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]);
    if with_mark || start.iter().take(2).any(|&byte| byte == 0) {
        return Err(Error::Data {
            source_name: source.to_owned(),
            what: "it is text in UTF-16".into(),
            fix: "convert the file to UTF-8, for example with iconv -f UTF-16 -t UTF-8",
        });
    }
    Ok(if start.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 })
}
