//! A column of Parquet has one kind of key, which its schema declares: neither pages, codecs nor versions change a user
//! or an item, in one file and over several.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use dpsel_core::task::{Request, SelectRequest, select_partitions};
use dpsel_exact::Error;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Users, and items that each of them has.
const USERS: i32 = 60;
const ITEMS: i32 = 4;

/// Physical types with their annotations, and the Arrow types of items that come back.
const KINDS: [(&str, &str, DataType); 27] = [
    ("BYTE_ARRAY", "(STRING)", DataType::Utf8),
    ("BYTE_ARRAY", "(UTF8)", DataType::Utf8),
    ("BYTE_ARRAY", "(JSON)", DataType::Utf8),
    ("BYTE_ARRAY", "(ENUM)", DataType::Utf8),
    ("BYTE_ARRAY", "", DataType::Binary),
    ("BYTE_ARRAY", "(DECIMAL(20, 0))", DataType::Decimal128(20, 0)),
    ("FIXED_LEN_BYTE_ARRAY (16)", "(UUID)", DataType::FixedSizeBinary(16)),
    ("FIXED_LEN_BYTE_ARRAY (4)", "", DataType::FixedSizeBinary(4)),
    ("FIXED_LEN_BYTE_ARRAY (7)", "", DataType::FixedSizeBinary(7)),
    ("FIXED_LEN_BYTE_ARRAY (9)", "(DECIMAL(20, 0))", DataType::Decimal128(20, 0)),
    ("INT32", "", DataType::Int32),
    ("INT32", "(INTEGER(8, true))", DataType::Int8),
    ("INT32", "(INTEGER(16, true))", DataType::Int16),
    ("INT32", "(INTEGER(8, false))", DataType::UInt8),
    ("INT32", "(INTEGER(16, false))", DataType::UInt16),
    ("INT32", "(INTEGER(32, false))", DataType::UInt32),
    ("INT32", "(UINT_8)", DataType::UInt8),
    ("INT32", "(DECIMAL(9, 0))", DataType::Decimal128(9, 0)),
    ("INT32", "(DATE)", DataType::Date32),
    ("INT64", "", DataType::Int64),
    ("INT64", "(INTEGER(64, false))", DataType::UInt64),
    ("INT64", "(DECIMAL(18, 0))", DataType::Decimal128(18, 0)),
    ("INT64", "(TIMESTAMP(MILLIS, false))", DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, None)),
    ("INT64", "(TIMESTAMP(MICROS, false))", DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, None)),
    ("INT64", "(TIMESTAMP(NANOS, false))", DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None)),
    ("BOOLEAN", "", DataType::Boolean),
    ("INT96", "", DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, None)),
];

/// Declarations without a kind, and a word of the error.
const REFUSED: [(&str, &str, &str); 11] = [
    ("BYTE_ARRAY", "(BSON)", "BSON"),
    ("BYTE_ARRAY", "(GEOMETRY)", "GEOMETRY"),
    ("BYTE_ARRAY", "(GEOGRAPHY)", "GEOGRAPHY"),
    ("BYTE_ARRAY", "(DECIMAL(9, 2))", "Decimal128(9, 2)"),
    ("FIXED_LEN_BYTE_ARRAY (8)", "", "FixedSizeBinary(8)"),
    ("FIXED_LEN_BYTE_ARRAY (12)", "(INTERVAL)", "Interval"),
    ("FIXED_LEN_BYTE_ARRAY (2)", "(FLOAT16)", "Float16"),
    ("INT32", "(TIME(MILLIS, true))", "Time32"),
    ("INT64", "(TIME(MICROS, false))", "Time64"),
    ("INT64", "(DECIMAL(18, 2))", "Decimal128(18, 2)"),
    ("DOUBLE", "", "Float64"),
];

/// How the pages of a file are written.
#[derive(Debug, Clone, Copy)]
struct Pages {
    /// `None` for a dictionary.
    encoding: Option<Encoding>,
    codec: Compression,
    version: WriterVersion,
}

fn all_pages(physical: Physical) -> Vec<Pages> {
    let encodings: &[_] = match physical {
        Physical::BYTE_ARRAY => {
            &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
        }
        Physical::FIXED_LEN_BYTE_ARRAY => {
            &[Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT]
        }
        Physical::INT32 | Physical::INT64 => {
            &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]
        }
        Physical::BOOLEAN => &[Encoding::PLAIN, Encoding::RLE],
        Physical::INT96 | Physical::FLOAT | Physical::DOUBLE => &[Encoding::PLAIN],
    };
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4_RAW,
    ];
    let encodings = encodings.iter().copied().map(Some).chain([None]);
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    encodings
        .flat_map(|encoding| versions.map(|version| (encoding, version)))
        .enumerate()
        .map(|(at, (encoding, version))| Pages { encoding, codec: codecs[at % codecs.len()], version })
        .collect()
}

fn bytes(value: i32, length: usize) -> Vec<u8> {
    let text = format!("{{\"u\": {value}}}, and more than fits a view");
    if length == 0 {
        text.into_bytes()
    } else {
        (0..length).map(|at| if at + 1 == length { value.to_le_bytes()[0] } else { 0 }).collect()
    }
}

/// Write a row group of the values of two columns of one type.
fn write(path: &Path, (physical, annotation): (&str, &str), pages: Pages) -> PathBuf {
    let message = format!(
        "message rows {{ REQUIRED {physical} user {annotation}; REQUIRED {physical} item {annotation}; }}"
    );
    let schema = Arc::new(parse_message_type(&message).unwrap());
    let properties = WriterProperties::builder()
        .set_writer_version(pages.version)
        .set_compression(pages.codec)
        .set_dictionary_enabled(pages.encoding.is_none());
    let properties = match pages.encoding {
        Some(encoding) => properties.set_encoding(encoding),
        None => properties,
    };
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let rows = (0..USERS).flat_map(|user| (0..ITEMS).map(move |item| (user, item)));
    let (users, items): (Vec<i32>, Vec<i32>) = rows.unzip();
    let is_decimal = annotation.contains("DECIMAL");
    for values in [users, items] {
        let mut column = group.next_column().unwrap().unwrap();
        write_values(column.untyped(), &values, physical, is_decimal);
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    path.to_owned()
}

fn write_values(column: &mut ColumnWriter<'_>, values: &[i32], physical: &str, is_decimal: bool) {
    let all = |of: &dyn Fn(i32) -> Vec<u8>| values.iter().map(|value| of(*value)).collect::<Vec<_>>();
    match column {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let length = if is_decimal { 2 } else { 0 };
            let values: Vec<ByteArray> =
                all(&|value| bytes(value, length)).into_iter().map(Into::into).collect();
            writer.write_batch(&values, None, None).unwrap();
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
            let digits: String = physical.chars().filter(char::is_ascii_digit).collect();
            let length = digits.parse().unwrap();
            let values = all(&|value| bytes(value, length)).into_iter();
            let values: Vec<FixedLenByteArray> = values.map(|value| ByteArray::from(value).into()).collect();
            writer.write_batch(&values, None, None).unwrap();
        }
        ColumnWriter::Int32ColumnWriter(writer) => {
            writer.write_batch(values, None, None).unwrap();
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
            writer.write_batch(&values, None, None).unwrap();
        }
        ColumnWriter::Int96ColumnWriter(writer) => {
            let day = |value: &i32| vec![0, 0, 2_440_588 + value.unsigned_abs()].into();
            let values: Vec<parquet::data_type::Int96> = values.iter().map(day).collect();
            writer.write_batch(&values, None, None).unwrap();
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let values: Vec<bool> = values.iter().map(|value| value % 2 == 1).collect();
            writer.write_batch(&values, None, None).unwrap();
        }
        ColumnWriter::FloatColumnWriter(_) => unreachable!("no kind is a FLOAT"),
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            writer.write_batch(&values, None, None).unwrap();
        }
    }
}

fn request() -> SelectRequest {
    Request::from_json(
        r#"{"task": "select", "columns": {"user": "user", "items": ["item"]},
            "privacy": {"kind": "zcdp", "rho": 1000.0, "delta": 0.4}, "max_items_per_user": 10,
            "mechanism": {"name": "weighted_gaussian"}, "with_weights": true}"#,
    )
    .and_then(Request::into_select)
    .unwrap()
}

fn release(paths: &[PathBuf]) -> Result<RecordBatch, Error> {
    let key = ReleaseKey::insecure_test([9; 32]);
    let source = Source::Files(paths.to_vec(), None);
    Ok(select_partitions(source, &request(), &key, &Control::new(None, None))?.items)
}

#[test]
fn one_value_is_one_key_in_every_encoding_codec_and_version() {
    let folder = tempfile::tempdir().unwrap();
    for (place, (physical, annotation, comes_back)) in KINDS.into_iter().enumerate() {
        let word = physical.split(' ').next().unwrap();
        let pages = all_pages(word.parse().unwrap());
        let paths: Vec<PathBuf> = pages
            .iter()
            .enumerate()
            .map(|(at, pages)| {
                write(&folder.path().join(format!("{place}-{at}.parquet")), (physical, annotation), *pages)
            })
            .collect();
        let expected = release(&paths[..1]).unwrap();
        let items = if word == "BOOLEAN" { 2 } else { ITEMS };
        assert_eq!(expected.num_rows(), usize::try_from(items).unwrap(), "{physical} {annotation}");
        assert_eq!(expected.column(0).data_type(), &comes_back, "{physical} {annotation}");
        for (path, pages) in paths.iter().zip(&pages) {
            let one = release(std::slice::from_ref(path)).unwrap();
            assert_eq!(one, expected, "{physical} {annotation} {pages:?}");
            // A user who is in both files is one user.
            let both = release(&[path.clone(), paths[0].clone()]).unwrap();
            assert_eq!(both, expected, "{physical} {annotation} {pages:?}");
        }
        assert_eq!(release(&paths).unwrap(), expected, "{physical} {annotation}");
    }
}

#[test]
fn other_declarations_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (physical, annotation, word) in REFUSED {
        let pages = Pages {
            encoding: Some(Encoding::PLAIN),
            codec: Compression::UNCOMPRESSED,
            version: WriterVersion::PARQUET_1_0,
        };
        let path = write(&folder.path().join("refused.parquet"), (physical, annotation), pages);
        let Err(Error::Schema { what, .. }) = release(&[path]) else { panic!("{physical} {annotation}") };
        assert!(what.contains("column 'user'") && what.contains(word), "{what}");
    }
}

#[test]
fn texts_of_all_annotations_are_equal_and_no_other_kinds_meet() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (place, (physical, annotation, data_type)) in KINDS.into_iter().enumerate() {
        for encoding in [None, Some(Encoding::PLAIN)] {
            let codec = Compression::UNCOMPRESSED;
            let pages = Pages { encoding, codec, version: WriterVersion::PARQUET_1_0 };
            let path = folder.path().join(format!("{place}-{}.parquet", encoding.is_some()));
            files.push((write(&path, (physical, annotation), pages), data_type.clone(), physical));
        }
    }
    for (ours, kind, physical) in &files {
        let expected = release(std::slice::from_ref(ours)).unwrap();
        for (theirs, other, other_physical) in &files {
            let both = release(&[ours.clone(), theirs.clone()]);
            match both {
                // Different types of one kind: equal users count once, and their items come back widened.
                Ok(both) => assert!(family(kind) == family(other), "{ours:?} {theirs:?} {both:?}"),
                Err(Error::Schema { what, .. }) => assert!(what.contains("has type"), "{what}"),
                Err(error) => panic!("{error}"),
            }
            if kind == other && physical == other_physical {
                let both = release(&[ours.clone(), theirs.clone()]).unwrap();
                assert_eq!(both, expected, "{ours:?} {theirs:?}");
            }
        }
    }
}

/// Types of one kind are in one family.
fn family(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Utf8 => "text",
        DataType::Binary | DataType::FixedSizeBinary(_) => "bytes",
        DataType::Boolean => "booleans",
        DataType::Date32 => "dates",
        DataType::Timestamp(..) => "times",
        _ => "integers",
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_whatever_its_annotation_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    for annotation in ["(STRING)", "(JSON)", "(ENUM)"] {
        for pages in all_pages(Physical::BYTE_ARRAY) {
            let path = folder.path().join("invalid.parquet");
            let message = format!(
                "message rows {{ REQUIRED BYTE_ARRAY user {annotation}; REQUIRED BYTE_ARRAY item {annotation}; }}"
            );
            let properties = WriterProperties::builder()
                .set_writer_version(pages.version)
                .set_dictionary_enabled(pages.encoding.is_none());
            let schema = Arc::new(parse_message_type(&message).unwrap());
            let file = File::create(&path).unwrap();
            let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
            let mut group = writer.next_row_group().unwrap();
            while let Some(mut column) = group.next_column().unwrap() {
                let ColumnWriter::ByteArrayColumnWriter(values) = column.untyped() else { panic!() };
                let invalid: Vec<ByteArray> = (0..50).map(|at| vec![0xff, at % 7].into()).collect();
                values.write_batch(&invalid, None, None).unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
            writer.close().unwrap();
            assert!(matches!(release(&[path]), Err(Error::File { .. })), "{annotation} {pages:?}");
        }
    }
}
