use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StructArray};
use arrow_schema::{DataType, Field};

use super::*;
use crate::Error;

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
