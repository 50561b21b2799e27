//! Output files: their text, and what failures leave behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, Int64Array, RecordBatch, StructArray,
    TimestampMicrosecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field};
use dpsel_exact::Error;

use super::atomic::{create, replace};
use super::{OutputFormat, check_table_path, write_table, write_table_to, write_text_atomically};

fn table(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("item", column)]).unwrap()
}

fn ints() -> RecordBatch {
    table(Arc::new(Int64Array::from(vec![1, 2])))
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn text_formats_are_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, json) = (folder.path().join("a.csv"), folder.path().join("a.ndjson"));
    write_table(&ints(), &csv).unwrap();
    write_table(&ints(), &json).unwrap();
    assert_eq!(fs::read_to_string(&csv).unwrap(), "item\n1\n2\n");
    assert_eq!(fs::read_to_string(&json).unwrap(), "{\"item\":1}\n{\"item\":2}\n");
    write_table(&ints().slice(0, 0), &csv).unwrap();
    assert_eq!(fs::read_to_string(&csv).unwrap(), "item\n");
    let mut out = Vec::new();
    write_table_to(&ints(), OutputFormat::Csv, &mut out, "stdout").unwrap();
    assert_eq!(out, b"item\n1\n2\n");
}

/// The lines of a column in both text formats, without the quotes of JSON.
fn lines(column: impl Array + 'static) -> Vec<String> {
    let column: ArrayRef = Arc::new(column);
    let written = |format| {
        let mut out = Vec::new();
        write_table_to(&table(Arc::clone(&column)), format, &mut out, "stdout").unwrap();
        String::from_utf8(out).unwrap()
    };
    let csv: Vec<String> = written(OutputFormat::Csv).lines().skip(1).map(str::to_owned).collect();
    let json = written(OutputFormat::NdJson);
    let json = json.lines().map(|line| line.replace("{\"item\":", "").replace(['}', '"'], ""));
    assert_eq!(csv, json.collect::<Vec<_>>());
    csv
}

#[test]
fn text_formats_hold_every_time() {
    const MICROSECONDS: i64 = 1_577_836_800_000_000;
    let zoned = |zone: &str| {
        let column = TimestampMicrosecondArray::from(vec![MICROSECONDS, MICROSECONDS + 5]);
        lines(column.with_timezone(zone))
    };
    assert_eq!(zoned("UTC"), ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000005Z"]);
    assert_eq!(zoned("Europe/Paris")[0], "2020-01-01T01:00:00+01:00");
    assert_eq!(zoned("-02:30")[0], "2019-12-31T21:30:00-02:30");
    assert_eq!(zoned("Mars/Base"), zoned("UTC"), "an unknown zone");
    assert_eq!(lines(Date32Array::from(vec![0, -1])), ["1970-01-01", "1969-12-31"]);
    let far = 1 << 62;
    for zone in [None, Some("UTC"), Some("Mars/Base")] {
        let column = TimestampSecondArray::from(vec![0, far]).with_timezone_opt(zone);
        assert_eq!(lines(column), ["0", "4611686018427387904"], "{zone:?}");
    }
    assert_eq!(lines(Date32Array::from(vec![i32::MAX])), ["2147483647"]);
    assert_eq!(lines(Date64Array::from(vec![far])), ["4611686018427387904"]);
    let none = TimestampSecondArray::from(Vec::<i64>::new()).with_timezone("Mars/Base");
    assert!(lines(none).is_empty());
}

#[test]
fn a_failure_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    write_text_atomically(&path, "old").unwrap();
    let inner = Field::new("x", DataType::Int64, true);
    let nested = StructArray::from(vec![(Arc::new(inner), Arc::new(Int64Array::from(vec![7])) as ArrayRef)]);
    assert!(matches!(write_table(&table(Arc::new(nested)), &path), Err(Error::File { .. })));
    assert_eq!(
        (names(folder.path()), fs::read_to_string(&path).unwrap()),
        (vec!["a.csv".into()], "old".into())
    );
    let failed = replace(&path, |out| {
        out.write_all(b"half")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    });
    assert!(failed.is_err());
    assert_eq!(
        (names(folder.path()), fs::read_to_string(&path).unwrap()),
        (vec!["a.csv".into()], "old".into())
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_gives_the_system_reason() {
    let mut full = File::options().write(true).open("/dev/full").unwrap();
    for format in [OutputFormat::Csv, OutputFormat::NdJson, OutputFormat::Parquet, OutputFormat::IpcFile] {
        let error = write_table_to(&ints(), format, &mut full, "full").unwrap_err().to_string();
        assert!(error.contains("No space left"), "{format:?}: {error}");
    }
}

#[test]
fn paths_are_checked_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    assert!(check_table_path(&folder.path().join("a.parquet")).is_ok());
    assert!(check_table_path(Path::new("a.csv.gz")).is_ok());
    for bad in ["a.xlsx", "a.parquet.gz", "none/a.csv"] {
        assert!(matches!(check_table_path(&folder.path().join(bad)), Err(Error::File { .. })), "{bad}");
    }
    assert!(check_table_path(folder.path()).is_err());
}

#[test]
#[cfg(unix)]
fn modes_and_links_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("a.csv"), folder.path().join("link.csv"));
    write_text_atomically(&path, "old").unwrap();
    assert_ne!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o044,
        0,
        "readable as other new files are"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write_text_atomically(&link, "new").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn what_is_made_at_the_same_time_by_another_process_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let made = create(&path, |out| {
        fs::write(&path, "theirs")?;
        out.write_all(b"ours")
    });
    assert!(!made.unwrap());
    assert!(!create(&path, |_| unreachable!()).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(names(folder.path()), ["ledger"]);
    let other = folder.path().join("other");
    assert!(create(&other, |out| out.write_all(b"ours")).unwrap());
    assert_eq!(fs::read_to_string(&other).unwrap(), "ours");
}
