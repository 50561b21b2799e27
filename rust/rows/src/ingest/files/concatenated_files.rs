//! Files behind each other, as `cat` joins them. The footer at the end speaks of the last of them, and its positions count
//! from the start of that file. So a reader that counts from the start of all leaves rows out, and mixes the files up.

/// The most bytes that a footer may leave out at the end of its file, such as an end mark.
const SLACK: u64 = 256;

/// Why such a file is not read.
pub(super) const JOINED: &str =
    "malformed: other bytes stand before its data, such as a second file; keep each file by itself";

/// Whether a file with this magic starts at a position, or up to [`SLACK`] bytes before it.
///
/// The position is the number of bytes by which the footer lies behind the end of what it describes. A file behind others
/// starts there.
///
/// # Errors
/// Those of `read`, which returns some bytes from a position on.
pub(super) fn starts_near<E>(
    position: u64,
    magic: &[u8],
    read: impl FnOnce(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<bool, E> {
    if position == 0 {
        return Ok(false);
    }
    // The magic of the first file is its own.
    let from = position.saturating_sub(SLACK).max(1);
    let bytes = position.saturating_add(magic.len() as u64).saturating_sub(from).min(2 * SLACK);
    // Otherwise: a length that memory cannot have, which the line above rules out.
    let window = read(from, usize::try_from(bytes).unwrap_or(usize::MAX))?;
    Ok(window.windows(magic.len()).any(|bytes| bytes == magic))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn found(bytes: &[u8], position: u64) -> bool {
        let read = |from: u64, length: usize| -> io::Result<Vec<u8>> {
            let from = usize::try_from(from).unwrap();
            Ok(bytes[from..bytes.len().min(from + length)].to_vec())
        };
        starts_near(position, b"PAR1", read).unwrap()
    }

    #[test]
    fn a_second_file_is_found_and_the_first_is_none() {
        let bytes = [b"PAR1", [7; 600].as_slice(), b"PAR1", &[7; 600]].concat();
        for position in [604, 610, 604 + SLACK] {
            assert!(found(&bytes, position), "{position}");
        }
        for position in [0, 1, 3, 100, SLACK, 603, 900, 1204] {
            assert!(!found(&bytes, position), "{position}");
        }
    }
}
