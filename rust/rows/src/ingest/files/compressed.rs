//! Decompresses text: gzip of one or several members, Zstandard of one or several frames.

use std::io::{self, BufRead, BufReader, Read};

use dpsel_exact::Error;
use flate2::bufread::GzDecoder;

use super::magic;
use super::reason::Damaged;

/// The bytes as they are, or decompressed if their start says so.
///
/// # Errors
/// Those of the operating system, and of the decoder of Zstandard.
pub(super) fn decompressed(
    mut raw: impl BufRead + Send + 'static,
    buffer: usize,
) -> io::Result<Box<dyn BufRead + Send>> {
    let start = raw.fill_buf()?;
    if start.starts_with(magic::GZIP) {
        let decoder = Reworded { decoder: GzipMembers::new(raw), words: gzip_words };
        Ok(Box::new(BufReader::with_capacity(buffer, decoder)))
    } else if start.starts_with(magic::ZSTD) || is_skippable(start) {
        let decoder = Reworded { decoder: zstd::Decoder::with_buffer(raw)?, words: zstd_words };
        Ok(Box::new(BufReader::with_capacity(buffer, decoder)))
    } else {
        Ok(Box::new(raw))
    }
}

/// Whether it starts with a frame without data, as parallel compressors write for themselves.
fn is_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The members of a gzip file, one after the other. Zeros may follow them, as tapes and block devices add them.
struct GzipMembers<R> {
    /// `None` after the last one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(raw: R) -> Self {
        Self { member: Some(GzDecoder::new(raw)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            self.member = self.member.take().map(GzDecoder::into_inner).map_or(Ok(None), next_member)?;
        }
        Ok(0)
    }
}

fn next_member<R: BufRead>(mut rest: R) -> io::Result<Option<GzDecoder<R>>> {
    let mut padded = false;
    loop {
        let bytes = rest.fill_buf()?;
        match (bytes.first(), bytes.iter().position(|byte| *byte != 0)) {
            (None, _) => return Ok(None),
            (Some(0), None) => {
                let zeros = bytes.len();
                rest.consume(zeros);
                padded = true;
            }
            (Some(0x1f), _) if !padded => return Ok(Some(GzDecoder::new(rest))),
            _ => return Err(Damaged::error("other bytes follow the gzip data in it; take them away")),
        }
    }
}

/// A decoder whose errors are told in words of this crate.
struct Reworded<D> {
    decoder: D,
    words: fn(&io::Error) -> &'static str,
}

impl<D: Read> Read for Reworded<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            let own = error.get_ref().is_some_and(|inner| inner.is::<Error>() || inner.is::<Damaged>());
            let of_decoder = matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other
            );
            if own || !of_decoder || error.raw_os_error().is_some() {
                return error;
            }
            Damaged::error((self.words)(&error))
        })
    }
}

fn gzip_words(_: &io::Error) -> &'static str {
    "its gzip data is damaged: a header, a code or a checksum in it is wrong"
}

/// The names of its errors are all that the library tells.
fn zstd_words(error: &io::Error) -> &'static str {
    let told = error.to_string();
    let tells = |word: &str| told.contains(word);
    if tells("ictionary") {
        "it was compressed by Zstandard with a dictionary, which is needed to read it; compress it without one"
    } else if tells("memory") {
        "it was compressed by Zstandard with a window of more than 128 MiB; compress it without --long or --ultra"
    } else if tells("frame descriptor") {
        "other bytes follow the Zstandard data in it; take them away"
    } else {
        "its Zstandard data is damaged: a header, a code or a checksum in it is wrong"
    }
}
