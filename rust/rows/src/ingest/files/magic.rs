//! Formats that files are known by but not read as: by their first bytes, and compressions also by extension.

use std::io::Read;

/// A format that is not read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnreadFormat {
    name: &'static str,
    /// Extensions of compressed files, in lower case.
    extensions: &'static [&'static str],
    starts: &'static [&'static [u8]],
    way: &'static str,
}

const DECOMPRESS: &str = "decompress it first (text may stay compressed by gzip or Zstandard)";

const fn compressed(
    name: &'static str,
    extensions: &'static [&'static str],
    starts: &'static [&'static [u8]],
) -> UnreadFormat {
    UnreadFormat { name, extensions, starts, way: DECOMPRESS }
}

const fn table(name: &'static str, starts: &'static [&'static [u8]], way: &'static str) -> UnreadFormat {
    UnreadFormat { name, extensions: &[], starts, way }
}

/// The most bytes that a look at the start takes.
pub(super) const LONGEST: u64 = 16;
pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];
pub(super) const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

const KINDS: [UnreadFormat; 16] = [
    compressed("gzip", &[], &[GZIP]),
    compressed("Zstandard", &[], &[ZSTD]),
    compressed(
        "bzip2",
        &["bz2"],
        &[
            b"BZh11AY&SY",
            b"BZh21AY&SY",
            b"BZh31AY&SY",
            b"BZh41AY&SY",
            b"BZh51AY&SY",
            b"BZh61AY&SY",
            b"BZh71AY&SY",
            b"BZh81AY&SY",
            b"BZh91AY&SY",
            b"BZh9\x17rE8P\x90",
        ],
    ),
    compressed("xz", &["xz"], &[b"\xfd7zXZ\0"]),
    compressed("lzma", &["lzma"], &[b"\x5d\0\0"]),
    compressed("lzip", &["lz"], &[b"LZIP\x01"]),
    compressed("LZ4", &["lz4"], &[b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18"]),
    compressed("compress", &["z"], &[b"\x1f\x9d", b"\x1f\xa0"]),
    compressed("snappy", &["snappy", "sz"], &[b"\xff\x06\0\0sNaPpY"]),
    compressed("Brotli", &["br"], &[]),
    compressed("zip", &["zip"], &[b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"]),
    compressed("7-Zip", &["7z"], &[b"7z\xbc\xaf\x27\x1c"]),
    table("Parquet", &[b"PAR1"], "set file_format=\"parquet\", or give it the extension .parquet"),
    table("encrypted Parquet", &[b"PARE"], "decrypt it with a library and pass the result"),
    table("Arrow IPC", &[b"ARROW1\0\0"], "set file_format=\"ipc\", or give it the extension .arrow"),
    table("SQLite", &[b"SQLite format 3\0"], "read it with a library and pass the result"),
];

/// What the first bytes of a file say that it is, if it is a compressed file or a table.
pub(super) fn by_start(bytes: &[u8]) -> Option<UnreadFormat> {
    KINDS.into_iter().find(|kind| kind.starts.iter().any(|start| bytes.starts_with(start)))
}

/// As [`by_start`], for a file that was to be of the format with this magic, and is not.
pub(super) fn other_than(magic: &[u8], file: Option<impl Read>) -> Option<UnreadFormat> {
    let mut start = Vec::new();
    file?.take(LONGEST).read_to_end(&mut start).ok()?;
    if start.starts_with(magic) { None } else { by_start(&start) }
}

/// The compression that an extension names, and that is not read.
pub(super) fn by_extension(extension: &str) -> Option<UnreadFormat> {
    KINDS.into_iter().find(|kind| kind.extensions.contains(&extension))
}

impl UnreadFormat {
    /// Why such a file is not read, and what to do.
    pub(super) fn refusal(self) -> String {
        format!("it is {}, which is not read here; {}", self.name, self.way)
    }
}
