//! Any bytes as a file of any format: a release or an error that quotes nothing; no panic, no abort, no end of memory.
//! The same bytes through a pipe: the same release, or an error as well.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;

use arrow_array::RecordBatch;
use dpsel_core::release::{OutputFormat, write_table_to};
use dpsel_core::task::{Request, SelectRequest, select_partitions};
use dpsel_exact::Error;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::{Dialect, FileFormat, Source};
use dpsel_rows::runtime::Control;

/// Part of every value in the corpus (`corpus.py`), so that an error that quotes one is seen.
const MARK: &str = "zxqv";
/// What an encoder of Arrow writes where it has no text for a value.
const ENCODER: &[u8] = b"ERROR: Cast error";
/// What one read may hold, in bytes.
const MEMORY: u64 = 1 << 28;

/// Plain items, items of two columns, n-grams.
static REQUESTS: LazyLock<Vec<SelectRequest>> = LazyLock::new(|| {
    [
        r#""items": ["item"]"#,
        r#""items": ["item", "other"]"#,
        r#""items": ["item"], "ngrams": {"min": 1, "max": 2}"#,
    ]
    .map(|items| {
        Request::from_json(&format!(
            r#"{{"task": "select", "columns": {{"user": "user", {items}}}, "privacy": {{"kind": "zcdp", "rho": 1000.0,
                    "delta": 1e-5}}, "max_items_per_user": 10, "mechanism": {{"name": "weighted_gaussian"}},
                    "with_weights": true}}"#
        ))
        .and_then(Request::into_select)
        .expect("a valid request")
    })
    .into()
});

pub(crate) fn parquet(bytes: &[u8]) {
    read_all(bytes, FileFormat::Parquet);
}

pub(crate) fn ipc(bytes: &[u8]) {
    read_all(bytes, FileFormat::Ipc);
}

pub(crate) fn csv(bytes: &[u8]) {
    read_all(bytes, FileFormat::Csv(Dialect::COMMAS));
}

pub(crate) fn ndjson(bytes: &[u8]) {
    read_all(bytes, FileFormat::NdJson);
}

fn read_all(bytes: &[u8], format: FileFormat) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), bytes).expect("the file is written");
    for request in REQUESTS.iter() {
        let released = read(file.path(), format, request);
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            // The name of an open descriptor is read in one pass, as a pipe is.
            let pipe = format!("/proc/self/fd/{}", file.as_raw_fd());
            let piped = read(Path::new(&pipe), format, request);
            assert!(released == piped, "a pipe gives another release than its file");
        }
    }
}

fn read(path: &Path, format: FileFormat, request: &SelectRequest) -> Option<RecordBatch> {
    let control = Control::new(Some(NonZeroUsize::MIN), Some(MEMORY));
    let key = ReleaseKey::insecure_test([7; 32]);
    let source = Source::Files(vec![path.to_owned()], Some(format));
    match select_partitions(source, request, &key, &control) {
        Ok(release) => {
            for format in
                [OutputFormat::Parquet, OutputFormat::Csv, OutputFormat::NdJson, OutputFormat::IpcFile]
            {
                let mut file = Vec::new();
                write_table_to(&release.items, format, &mut file, "memory")
                    .expect("a release can be written");
                let wrong = file.windows(ENCODER.len()).any(|part| part == ENCODER);
                assert!(!wrong, "an error in place of a value");
            }
            Some(release.items)
        }
        Err(Error::Internal(what)) => panic!("an internal error: {what}"),
        Err(error) => {
            assert!(!error.to_string().contains(MARK), "an error quotes the data");
            None
        }
    }
}
