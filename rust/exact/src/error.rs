//! The one error type of the crate, and every message in it.
//!
//! A message states the problem, the reason and the argument to change. It may name columns, files and row positions.
//! It never contains a value of the data (law 5).

use std::fmt;
use std::path::{Path, PathBuf};

/// The name of the standard input in errors, in place of a path.
pub const STANDARD_INPUT_NAME: &str = "standard input";

/// Result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    #[error("{name} must be {rule}, got {got}; {fix}")]
    InvalidParameter {
        /// Name of the argument.
        name: &'static str,
        /// The rule it breaks.
        rule: &'static str,
        /// What was given.
        got: String,
        /// What to do.
        fix: &'static str,
    },
    /// Two arguments that do not fit each other.
    #[error("{what}; {fix}")]
    Incompatible {
        /// What does not fit.
        what: String,
        /// What to do.
        fix: &'static str,
    },
    /// The table does not have the columns or types needed.
    #[error("{what}; {fix}")]
    Schema {
        /// What is wrong with the table.
        what: String,
        /// What to do.
        fix: String,
    },
    /// The rows themselves break a rule (a null user, invalid UTF-8).
    #[error("{source_name}: {what}; {fix}")]
    Data {
        /// The file or "the input".
        source_name: String,
        /// What is wrong, by column and position, never by value.
        what: String,
        /// What to do.
        fix: &'static str,
    },
    /// Values of a column that cannot be keys. Whoever knows the column names it: [`Error::in_column`].
    #[error("a column {what}; {fix}")]
    Values {
        /// What is wrong with them, after the name of the column.
        what: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {reason}", quoted_path(path))]
    File {
        /// "read", "write" or "rename".
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The operating system's or the decoder's reason.
        reason: String,
    },
    /// An element of a list of paths names no file that can be read. It is not quoted: it may be data.
    #[error(
        "cannot read the file that element {place} of {count} names: {reason}; elements that name no file are not quoted, \
         because they may be data: a list of texts needs its users beside it, as pairs (user, text)"
    )]
    Element {
        /// Its place in the list, from 1.
        place: usize,
        /// The length of the list.
        count: usize,
        /// Whether there is no such file at all.
        missing: bool,
        /// The operating system's reason.
        reason: String,
    },
    /// More memory would be needed than `memory_limit` allows.
    #[error(
        "the job needs more than the memory limit of {} while {stage}; \
         raise memory_limit, take mechanism=dpsel.Sips(), whose rows go on to the disk of scratch=, or run it with dpsel.spark",
        Size(*.limit)
    )]
    MemoryLimit {
        /// The limit in bytes.
        limit: u64,
        /// What was being done.
        stage: &'static str,
    },
    /// Rounds on the disk hold more in memory than `memory_limit` allows.
    #[error(
        "the job holds {what} in memory with scratch=, too, and they exceed the memory limit of {}; \
         raise memory_limit to {}, or {instead}",
        Size(*.limit),
        Size(*.enough)
    )]
    DiskMemory {
        /// The limit in bytes.
        limit: u64,
        /// A limit that would do.
        enough: u64,
        /// What is held.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// More keys or rows than the integer codes can hold.
    #[error("{what} exceed the supported maximum of {limit}; split the job or use dpsel.spark")]
    Capacity {
        /// What was counted.
        what: &'static str,
        /// The maximum.
        limit: u64,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes ({0}); no release was made")]
    Entropy(String),
    /// No calibration satisfies the request at the arithmetic's precision.
    #[error("no calibration exists for {what}; {fix}")]
    Calibration {
        /// The request in words.
        what: String,
        /// What to do.
        fix: &'static str,
    },
    /// A report cannot be understood.
    #[error("not a dpsel report: {0}")]
    Report(String),
    /// The user interrupted the job.
    #[error("interrupted; nothing was released")]
    Interrupted,
    /// The source of the rows failed. The text is this crate's, because the message of a source may quote a value.
    #[error("the source of the data failed: {0}")]
    Source(String),
    /// A broken invariant of this crate. Please report it.
    #[error("internal error: {0}; please report this")]
    Internal(&'static str),
}

impl Error {
    /// A parameter outside its range.
    #[expect(clippy::needless_pass_by_value, reason = "callers give numbers and fresh strings")]
    pub fn parameter(name: &'static str, rule: &'static str, got: impl ToString, fix: &'static str) -> Self {
        Self::InvalidParameter { name, rule, got: got.to_string(), fix }
    }

    /// The error with the name of the column, if it is of the values of one.
    #[must_use]
    pub fn in_column(self, name: &str, source_name: &str) -> Self {
        let Self::Values { what, fix } = self else { return self };
        Self::Data { source_name: source_name.into(), what: format!("column '{name}' {what}"), fix }
    }

    /// The error of a failed source: the kind of failure and its place. Its own message is dropped (law 5).
    #[must_use]
    pub fn foreign(what: &str) -> Self {
        Self::Source(format!(
            "{what}; its message may quote a value and is left out, so read the source without dpsel to see it"
        ))
    }
}

/// The longest name and the longest path that errors quote, in characters.
const LONGEST_NAME: usize = 64;
const LONGEST_PATH: usize = 255;
/// Extensions of the files that this package reads and writes.
const EXTENSIONS: [&str; 20] = [
    "arrow", "arrows", "csv", "feather", "gz", "html", "ipc", "json", "jsonl", "ndjson", "parquet", "pdf",
    "png", "pq", "sql", "svg", "tab", "tsv", "txt", "zst",
];

/// A name that the caller gave, as errors show it: a column, an option, a word.
///
/// Callers pass rows by mistake: the text of a file in place of its path, a value in place of a column. So only one word is
/// quoted, as programs name things.
#[must_use]
pub fn quoted(name: &str) -> String {
    if is_word(name) { format!("'{name}'") } else { "(not quoted: it may be data)".into() }
}

/// Whether a text is a word of letters, digits and underscores that does not start with a digit.
#[must_use]
pub fn is_word(text: &str) -> bool {
    text.chars().count() <= LONGEST_NAME
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !text.chars().next().is_none_or(char::is_numeric)
}

/// A path that the caller gave, as errors show it.
///
/// It is quoted if it exists. Otherwise it may be a text: it is quoted if it is in one line, has nothing that stands in
/// records or addresses of mail, and has the extension of a file of ours or begins with a folder that exists.
#[must_use]
pub fn quoted_path(path: &Path) -> String {
    let text = path.display().to_string();
    let is_path = || is_plain(&text) && (has_extension(path) || is_in_a_folder(path));
    if text == STANDARD_INPUT_NAME || path.exists() || is_path() {
        text
    } else {
        "what was given as a path (not quoted: it names nothing and may be data)".into()
    }
}

fn is_plain(text: &str) -> bool {
    let is_of_text =
        |c: char| c.is_control() || matches!(c, '"' | ',' | ';' | '{' | '}' | '@' | '\u{2028}' | '\u{2029}');
    text.chars().count() <= LONGEST_PATH && !text.contains(is_of_text)
}

fn has_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.to_lowercase().as_str()))
}

fn is_in_a_folder(path: &Path) -> bool {
    path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && folder.is_dir())
}

/// A number of bytes as people write it: `64 MiB`, `1.5 GB`. A number that is not written so comes with its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u64);

/// Units from the largest on.
const UNITS: [(u64, &str); 6] = [
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1_000_000_000_000, "TB"),
    (1_000_000_000, "GB"),
    (1_000_000, "MB"),
];

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        let tenths = |unit: u64| u128::from(bytes) * 10 / u128::from(unit);
        let write = |formatter: &mut fmt::Formatter<'_>, unit: u64, name: &str| match tenths(unit) {
            whole if whole % 10 == 0 => write!(formatter, "{} {name}", whole / 10),
            tenths => write!(formatter, "{}.{} {name}", tenths / 10, tenths % 10),
        };
        let is_exact = |unit: u64| bytes >= unit && tenths(unit) * u128::from(unit) == u128::from(bytes) * 10;
        if let Some((unit, name)) = UNITS.iter().find(|(unit, _)| is_exact(*unit)) {
            return write(formatter, *unit, name);
        }
        let Some((unit, name)) = UNITS.iter().find(|(unit, _)| bytes >= *unit) else {
            return write!(formatter, "{bytes} bytes");
        };
        write(formatter, *unit, name)?;
        write!(formatter, " ({bytes} bytes)")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Size, quoted, quoted_path};

    #[test]
    fn a_text_that_may_be_data_is_not_quoted() {
        assert_eq!(quoted("user_id2"), "'user_id2'");
        for data in ["ann@x.org", "B20.1", "192.168.0.1", "2024", "hiv positive", "a-b", ""] {
            assert!(quoted(data).contains("not quoted"));
            assert!(quoted_path(Path::new(data)).contains("not quoted"));
        }
        for data in [
            "what is the diagnosis",
            "user,item\n1,tea",
            "tea with\nann.csv",
            "{\"user\": 1}",
            "1;tea",
            "1\ttea",
            "www.hiv-clinic.org",
            "aspirin 5.5mg",
            "ann.smith",
            "ann@x.org/rows.csv",
            &"tea ".repeat(50),
        ] {
            assert!(quoted(data).contains("not quoted"));
            assert!(quoted_path(Path::new(data)).contains("not quoted"));
        }
        assert!(quoted_path(Path::new("a secret diagnosis")).contains("not quoted"));
        let folder = tempfile::tempdir().unwrap();
        for path in
            [Path::new("absent.csv"), Path::new("absent/part-*.parquet"), &folder.path().join("absent")]
        {
            assert_eq!(quoted_path(path), path.display().to_string());
        }
        let odd = folder.path().join("user,item");
        assert!(quoted_path(&odd).contains("not quoted"));
        std::fs::write(&odd, "").unwrap();
        assert_eq!(quoted_path(&odd), odd.display().to_string());
    }

    #[test]
    fn sizes_are_written_as_people_write_them() {
        let written = |bytes: u64| Size(bytes).to_string();
        assert_eq!(written(64 << 20), "64 MiB");
        assert_eq!(written(3 << 29), "1.5 GiB");
        assert_eq!(written(500_000_000), "500 MB");
        assert_eq!(written(4_000_000_000), "4 GB");
        assert_eq!(written((64 << 20) - 1), "63.9 MiB (67108863 bytes)");
        assert_eq!(written(5_583_457_281), "5.1 GiB (5583457281 bytes)");
        assert_eq!(written(0), "0 bytes");
        assert_eq!(written(4096), "4096 bytes");
        assert_eq!(written(u64::MAX), "16777215.9 TiB (18446744073709551615 bytes)");
    }
}
