//! Files of every format in, through the whole pipeline: the same rows give the same release whatever holds them.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    ArrayRef, Int32Array, Int64Array, LargeStringArray, ListArray, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use dpsel_core::release::{write_table, write_text_atomically};
use dpsel_core::task::select_partitions;
use dpsel_core::task::{Request, SelectRequest};
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const USERS: i64 = 400;
const COMMON: i64 = 5;

/// Every user has the same few items, which are released, and one of their own, which is not.
fn pairs() -> Vec<(i64, i64)> {
    (0..USERS).flat_map(|u| (0..COMMON).map(move |i| (u, i)).chain([(u, 1000 + u)])).collect()
}

fn texts() -> RecordBatch {
    let (users, items): (Vec<_>, Vec<_>) =
        pairs().into_iter().map(|(u, i)| (format!("user {u}"), format!("item {i}, \"quoted\""))).unzip();
    let other: Vec<i64> = (0..).take(users.len()).collect();
    RecordBatch::try_from_iter([
        ("other", Arc::new(Int64Array::from(other)) as ArrayRef),
        ("item", Arc::new(StringArray::from(items))),
        ("user", Arc::new(StringArray::from(users))),
    ])
    .unwrap()
}

fn numbers(items: impl Fn(Vec<i64>) -> ArrayRef) -> RecordBatch {
    let (users, values): (Vec<_>, Vec<_>) = pairs().into_iter().unzip();
    RecordBatch::try_from_iter([
        ("user", Arc::new(Int64Array::from(users)) as ArrayRef),
        ("item", items(values)),
    ])
    .unwrap()
}

fn request(item: &str) -> SelectRequest {
    Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": ["{item}"]}},
            "privacy": {{"kind": "zcdp", "rho": 1000.0, "delta": 1e-5}}, "max_items_per_user": 10, "mechanism": {{"name": "weighted_gaussian"}},
            "with_weights": false}}"#
    ))
    .and_then(Request::into_select)
    .unwrap()
}

fn release(source: Source, threads: usize) -> dpsel_exact::Result<RecordBatch> {
    let control = Control::new(NonZeroUsize::new(threads), None);
    let key = ReleaseKey::insecure_test([9; 32]);
    Ok(select_partitions(source, &request("item"), &key, &control)?.items)
}

fn from_files(paths: Vec<PathBuf>) -> RecordBatch {
    let one = release(Source::Files(paths.clone(), None), 1).unwrap();
    assert_eq!(release(Source::Files(paths, None), 4).unwrap(), one);
    one
}

fn from_memory(batch: &RecordBatch) -> RecordBatch {
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    release(Source::Stream(Box::new(reader)), 2).unwrap()
}

fn parquet(batch: &RecordBatch, path: &Path, group: usize, dictionary: bool, compression: Compression) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_dictionary_enabled(dictionary)
        .set_compression(compression)
        .build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn every_format_gives_the_same_release() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let batch = texts();
    let expected = from_memory(&batch);
    assert_eq!(expected.num_rows(), usize::try_from(COMMON).unwrap());
    let items = LargeStringArray::from_iter(expected.column(0).as_string::<i32>());
    let large =
        RecordBatch::try_from_iter_with_nullable([("item", Arc::new(items) as ArrayRef, true)]).unwrap();
    for name in [
        "a.csv",
        "a.csv.gz",
        "a.csv.zst",
        "a.ndjson",
        "a.jsonl.gz",
        "a.ndjson.zst",
        "a.parquet",
        "a.arrow",
        "a.arrows",
    ] {
        write_table(&batch, &at(name)).unwrap();
        let found = from_files(vec![at(name)]);
        // NDJSON declares no types: its texts have the type that all such texts have.
        let expected = if name.contains("json") { &large } else { &expected };
        assert_eq!(&found, expected, "{name}");
    }
    parquet(&batch, &at("plain.parquet"), 700, false, Compression::SNAPPY);
    assert_eq!(from_files(vec![at("plain.parquet")]), expected);
    parquet(&batch, &at("dict.parquet"), 900, true, Compression::UNCOMPRESSED);
    assert_eq!(from_files(vec![at("dict.parquet")]), expected);
    let lz4 = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
    let file = File::create(at("lz4.feather")).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), lz4).unwrap();
    (0..batch.num_rows()).step_by(100).for_each(|row| {
        writer.write(&batch.slice(row, 100.min(batch.num_rows() - row))).unwrap();
    });
    writer.finish().unwrap();
    assert_eq!(from_files(vec![at("lz4.feather")]), expected);
    let mut writer = StreamWriter::try_new(File::create(at("raw.arrows")).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_eq!(from_files(vec![at("raw.arrows")]), expected);
}

#[test]
fn patterns_split_sources_and_duplicates_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let batch = texts();
    for (n, row) in (0..batch.num_rows()).step_by(500).enumerate() {
        let part = batch.slice(row, 500.min(batch.num_rows() - row));
        write_table(&part, &folder.path().join(format!("part-{n}.parquet"))).unwrap();
    }
    let pattern = folder.path().join("part-*.parquet");
    let again = folder.path().join("part-1.parquet");
    assert_eq!(from_files(vec![pattern, again]), from_memory(&batch));
}

#[test]
fn integer_widths_may_mix_and_come_out_widest() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let long = numbers(|v| Arc::new(Int64Array::from(v)));
    let short = numbers(|v| {
        Arc::new(Int32Array::from(v.iter().map(|&x| i32::try_from(x).unwrap()).collect::<Vec<_>>()))
    });
    let unsigned = numbers(|v| {
        Arc::new(UInt32Array::from(v.iter().map(|&x| u32::try_from(x).unwrap()).collect::<Vec<_>>()))
    });
    let huge =
        numbers(|v| Arc::new(UInt64Array::from(v.iter().map(|&x| x.unsigned_abs()).collect::<Vec<_>>())));
    write_table(&long, &at("long.parquet")).unwrap();
    write_table(&short, &at("short.parquet")).unwrap();
    write_table(&unsigned, &at("unsigned.parquet")).unwrap();
    write_table(&huge, &at("huge.parquet")).unwrap();
    let expected = from_memory(&long);
    assert_eq!(from_files(vec![at("short.parquet"), at("long.parquet")]), expected);
    assert_eq!(from_files(vec![at("short.parquet"), at("unsigned.parquet")]), expected);
    assert_eq!(from_memory(&huge).column(0).data_type(), &DataType::UInt64);
    let refused = release(Source::Files(vec![at("long.parquet"), at("huge.parquet")], None), 1).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("'item'") && text.contains("UInt64") && text.contains("Int64"), "{text}");
}

#[test]
fn a_large_row_group_is_shared_between_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.parquet");
    let rows = 3_000_000_i64;
    let users = Int64Array::from_iter_values((0..rows).map(|r| r / 10));
    let items = LargeStringArray::from_iter_values((0..rows).map(|r| format!("{}", r % 10)));
    let batch = RecordBatch::try_from_iter([
        ("user", Arc::new(users) as ArrayRef),
        ("item", Arc::new(items) as ArrayRef),
    ])
    .unwrap();
    parquet(&batch, &path, usize::MAX, true, Compression::SNAPPY);
    let control = Control::new(NonZeroUsize::new(3), None);
    let key = ReleaseKey::insecure_test([9; 32]);
    let source = Source::Files(vec![path], None);
    let items = select_partitions(source, &request("item"), &key, &control).unwrap().items;
    assert_eq!((items.num_rows(), items.column(0).data_type()), (10, &DataType::LargeUtf8));
    let progress = control.progress();
    // Reading, grouping, bounding, one round; publishing is the caller's to call complete.
    assert_eq!(progress.done(), progress.total() / 5 * 4);
    assert!(progress.total() > 0);
}

#[test]
fn lists_in_parquet_and_ndjson_are_exploded() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let flat = numbers(|v| Arc::new(Int64Array::from(v)));
    let per_user = usize::try_from(COMMON + 1).unwrap();
    let users = usize::try_from(USERS).unwrap();
    let lists = ListArray::new(
        Arc::new(Field::new_list_field(DataType::Int64, true)),
        OffsetBuffer::from_lengths(std::iter::repeat_n(per_user, users)),
        flat.column(1).clone(),
        None,
    );
    let batch = RecordBatch::try_from_iter([
        ("user", Arc::new(Int64Array::from_iter_values(0..USERS)) as ArrayRef),
        ("item", Arc::new(lists) as ArrayRef),
    ])
    .unwrap();
    for name in ["lists.parquet", "lists.ndjson"] {
        write_table(&batch, &at(name)).unwrap();
        assert_eq!(from_files(vec![at(name)]), from_memory(&flat), "{name}");
    }
}

#[test]
fn csv_is_text_and_empty_fields_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codes.csv");
    let mut text = String::from("\u{feff}item,user\r\n");
    for u in 0..USERS {
        write!(text, "007,{u}\r\n,{u}\r\n7,{u}\r\n\"a,b\"\"c\",{u}\r\n").unwrap();
    }
    write_text_atomically(&path, &text).unwrap();
    let items = from_files(vec![path]);
    assert_eq!(items.column(0).as_ref(), &StringArray::from(vec!["007", "7", "a,b\"c"]));
}

#[test]
fn a_table_without_rows_releases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let batch = texts().slice(0, 0);
    for name in ["none.csv", "none.parquet", "none.arrow", "none.arrows"] {
        let path = folder.path().join(name);
        write_table(&batch, &path).unwrap();
        let items = from_files(vec![path]);
        assert_eq!((items.num_rows(), items.schema().field(0).name().as_str()), (0, "item"), "{name}");
    }
    assert_eq!(from_memory(&batch).num_rows(), 0);
}

/// The message of reading one file; it must never hold the data, which always contains "secret".
fn message(path: &Path) -> String {
    let error = release(Source::Files(vec![path.to_owned()], None), 2).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains(path.file_name().unwrap().to_str().unwrap()), "{text}");
    text
}

fn message_of(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    File::create(&path).unwrap().write_all(bytes).unwrap();
    message(&path)
}

#[test]
fn malformed_text_names_file_and_line() {
    let cases: &[(&str, &[u8], &str)] = &[
        ("fields.csv", b"user,item\nsecret,1\nsecret\n", "line 3"),
        ("more.csv", b"user,item\nsecret,1,2\n", "line 2"),
        (
            "utf8.csv",
            b"user,item\na,b\nsecret\xff,1\n",
            "line 3 (quoted line breaks not counted) is not valid UTF-8",
        ),
        ("header.csv", b"secret,1\n2,3\n", "2 columns, none named 'item'"),
        ("twice.csv", b"user,item,item\n1,2,3\n", "several columns named 'item'"),
        ("empty.csv", b"", "the file is empty"),
        ("user.csv", b"user,item\n1,2\n,3\n", "user column 'user' is null in row 2"),
        (
            "broken.ndjson",
            b"{\"user\": 1, \"item\": 2}\n{\"user\": \"secret\n",
            "line 2 is not a JSON object",
        ),
        ("utf8.ndjson", b"{\"user\": 1, \"item\": \"secret\xff\"}\n", "line 1 is not valid UTF-8"),
        (
            "type.ndjson",
            b"{\"user\": 1, \"item\": 2}\n\n{\"user\": 1, \"item\": \"secret\"}\n",
            "field 'item' in line 3",
        ),
        ("float.ndjson", b"{\"user\": 1, \"item\": 2.5}\n", "Float64"),
        ("object.ndjson", b"{\"user\": 1, \"item\": {\"a\": 1}}\n", "name its fields"),
        ("missing.ndjson", b"{\"user\": 1, \"other\": \"secret\"}\n", "no record of"),
        ("array.ndjson", b"[1, 2]\n", "line 1 is not a JSON object"),
        ("empty.ndjson", b"\n\n", "the file is empty"),
        ("user.ndjson", b"{\"item\": 1, \"user\": 1}\n{\"item\": 1}\n", "is null in row 2"),
        ("short.csv.gz", b"\x1f\x8b\x08\x00\x00", "truncated"),
        ("short.csv.zst", b"\x28\xb5\x2f\xfd\x00", "cannot read"),
    ];
    for (name, bytes, expected) in cases {
        let text = message_of(name, bytes);
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[test]
fn late_type_changes_and_long_gaps_in_ndjson() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.ndjson");
    let nulls = "{\"user\": 1}\n".repeat(150);
    let mut rows = String::new();
    for u in 0..USERS {
        writeln!(rows, "{{\"user\": {u}, \"item\": [\"x\"], \"note\": {u}}}").unwrap();
    }
    fs::write(&path, nulls + &rows).unwrap();
    assert_eq!(from_files(vec![path.clone()]).column(0).as_ref(), &LargeStringArray::from(vec!["x"]));
    fs::write(&path, rows + "{\"user\": 1, \"item\": \"secret\"}\n").unwrap();
    assert!(message(&path).contains("field 'item' in line 401"));
}

#[test]
fn malformed_binary_files_are_errors_wherever_they_break() {
    let folder = tempfile::tempdir().unwrap();
    let batch = texts();
    for name in ["cut.parquet", "cut.arrow"] {
        let path = folder.path().join(name);
        write_table(&batch, &path).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in [0, 1, 4, 11, whole.len() / 3, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            message(&path);
        }
        // Flipped bytes give an error or some rows, but never a panic.
        for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x5a;
            fs::write(&path, &bytes).unwrap();
            if let Err(error) = release(Source::Files(vec![path.clone()], None), 2) {
                assert!(!matches!(error, dpsel_exact::Error::Internal(_)), "byte {at} of {name}: {error}");
            }
        }
    }
    assert!(message_of("not.parquet", b"user,item\nsecret,1\n").contains("not a Parquet file"));
    assert!(message_of("old.feather", b"FEA1....").contains("Feather version 1"));
}

#[test]
fn missing_files_columns_and_formats() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(message(&at("absent.parquet")).contains("No such file"));
    assert!(message(&at("*.parquet")).contains("no file matches"));
    assert!(message(folder.path()).contains("there is no file in this folder"));
    assert!(message_of("data.xlsx", b"secret").contains(".ndjson"));
    let batch = RecordBatch::try_from_iter([
        ("user", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ("query", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
    ])
    .unwrap();
    write_table(&batch, &at("columns.parquet")).unwrap();
    let text = message(&at("columns.parquet"));
    assert!(text.contains("no column 'item'") && text.contains("'user', 'query'"), "{text}");
    let none = release(Source::Files(Vec::new(), None), 1).unwrap_err();
    assert!(none.to_string().contains("no input files"), "{none}");
}

#[test]
fn an_interrupted_job_stops() {
    let control = Control::default();
    control.progress().cancel();
    let batch = texts();
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let key = ReleaseKey::insecure_test([9; 32]);
    let stopped = select_partitions(Source::Stream(Box::new(reader)), &request("item"), &key, &control);
    assert!(matches!(stopped, Err(dpsel_exact::Error::Interrupted)));
}
