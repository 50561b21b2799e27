//! What the columns of a Parquet file declare, in the terms of the one table of kinds (`columns/kinds.rs`).
//!
//! The file's own annotations decide, and neither its pages nor the Arrow schema that writers store beside them.
//!
//! The decoder knows text by one annotation only, `STRING`. Other text it does not check, and in a dictionary it decodes
//! it as bytes. So every column of text is given that annotation before anything is decoded.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use dpsel_exact::random::KeyKind;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{BasicTypeInfo, SchemaDescriptor, Type, TypePtr};

use crate::ingest::columns::{JSON, UUID, element, key_kind, value_type};

/// The same file with every column of text annotated as `STRING`.
///
/// # Errors
/// Errors of the reader.
pub(super) fn with_strings(footer: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let texts = texts(&footer);
    if texts.is_empty() {
        return Ok(footer);
    }
    let metadata = footer.metadata();
    let file = metadata.file_metadata();
    let root = annotated(footer.parquet_schema().root_schema(), &texts, &mut 0)?;
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(file, metadata.row_groups().to_vec());
    ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new())
}

/// The leaves that hold text without that annotation: JSON, enumerations, and bytes that the Arrow schema in the file
/// calls text.
fn texts(footer: &ArrowReaderMetadata) -> HashSet<usize> {
    let schema = footer.parquet_schema();
    let is_text = |leaf: &usize| {
        let column = schema.column(*leaf);
        let field = footer.schema().fields().get(schema.get_column_root_idx(*leaf));
        let annotation = Annotation::of(column.self_type().get_basic_info());
        column.physical_type() == Physical::BYTE_ARRAY
            && column.converted_type() != ConvertedType::UTF8
            && (matches!(annotation, Annotation::Json | Annotation::Enum)
                || (annotation == Annotation::Plain && field.is_some_and(|field| holds_text(field))))
    };
    (0..schema.num_columns()).filter(is_text).collect()
}

fn holds_text(field: &Field) -> bool {
    let plain = value_type(field.data_type());
    let plain = element(plain).map_or(plain, |element| value_type(element.data_type()));
    key_kind(plain) == Some(KeyKind::Text)
}

/// A type whose leaves in `texts` are strings. `leaf` counts the leaves so far.
fn annotated(of: &Type, texts: &HashSet<usize>, leaf: &mut usize) -> Result<Type, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if let Type::GroupType { fields, .. } = of {
        let fields = fields.iter().map(|field| annotated(field, texts, leaf).map(TypePtr::new));
        let group = Type::group_type_builder(info.name())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(fields.collect::<Result<_, _>>()?)
            .with_id(id);
        return if info.has_repetition() { group.with_repetition(info.repetition()) } else { group }.build();
    }
    let at = *leaf;
    *leaf += 1;
    if !texts.contains(&at) {
        return Ok(of.clone());
    }
    Type::primitive_type_builder(info.name(), of.get_physical_type())
        .with_repetition(info.repetition())
        .with_logical_type(Some(LogicalType::String))
        .with_id(id)
        .build()
}

/// The Arrow schema of a file, where fields have the names of the extension types that the file's annotations stand
/// for. `declared` is the file before its texts became strings.
pub(super) fn schema(declared: &ArrowReaderMetadata, arrow: &Schema) -> Schema {
    let geometries = geometries(declared);
    let fields = arrow.fields().iter().zip(declared.parquet_schema().root_schema().get_fields());
    let fields = fields.map(|(field, root)| match extension(root) {
        None if geometries.contains(field.name()) => named(field, "GEOMETRY"),
        None => FieldRef::clone(field),
        Some(name) => named(field, name),
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), arrow.metadata().clone())
}

/// The columns that a `GeoParquet` file declares beside its schema.
fn geometries(declared: &ArrowReaderMetadata) -> HashSet<String> {
    let pairs = declared.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let geo = pairs.filter(|pair| pair.key == "geo").filter_map(|pair| pair.value.as_deref());
    let geo = geo.filter_map(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let columns =
        geo.filter_map(|geo| Some(geo.get("columns")?.as_object()?.keys().cloned().collect::<Vec<_>>()));
    columns.flatten().collect()
}

/// The extension type of a column, which is annotated itself or through the only leaf below it.
fn extension(of: &Type) -> Option<&'static str> {
    let name = Annotation::of(of.get_basic_info()).extension();
    match (name, of) {
        (None, Type::GroupType { fields, .. }) => match fields.as_slice() {
            [field] => extension(field),
            _ => None,
        },
        _ => name,
    }
}

/// The field, or the elements of its lists, with the name of an extension type.
fn named(field: &FieldRef, name: &str) -> FieldRef {
    let named_element = |element: &FieldRef| named(element, name);
    let data_type = match field.data_type() {
        DataType::List(element) => DataType::List(named_element(element)),
        DataType::LargeList(element) => DataType::LargeList(named_element(element)),
        DataType::ListView(element) => DataType::ListView(named_element(element)),
        DataType::LargeListView(element) => DataType::LargeListView(named_element(element)),
        DataType::FixedSizeList(element, size) => DataType::FixedSizeList(named_element(element), *size),
        _ => {
            let mut field = Field::clone(field);
            field.metadata_mut().insert(EXTENSION_TYPE_NAME_KEY.into(), name.into());
            return Arc::new(field);
        }
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// What an annotation says beyond the Arrow type that the reader makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Annotation {
    /// Nothing: the Arrow type says all.
    Plain,
    Json,
    Enum,
    Uuid,
    /// A value that has several forms in bytes, or a meaning that is not known here.
    Other(&'static str),
}

impl Annotation {
    fn of(info: &BasicTypeInfo) -> Self {
        match (info.logical_type_ref(), info.converted_type()) {
            (Some(LogicalType::Json), _) | (None, ConvertedType::JSON) => Self::Json,
            (Some(LogicalType::Enum), _) | (None, ConvertedType::ENUM) => Self::Enum,
            (Some(LogicalType::Uuid), _) => Self::Uuid,
            (Some(LogicalType::Bson), _) | (None, ConvertedType::BSON) => Self::Other("BSON"),
            (Some(LogicalType::Geometry(_)), _) => Self::Other("GEOMETRY"),
            (Some(LogicalType::Geography(_)), _) => Self::Other("GEOGRAPHY"),
            (Some(LogicalType::Variant(_)), _) => Self::Other("VARIANT"),
            (Some(LogicalType::_Unknown { .. }), _) => Self::Other("a newer annotation of Parquet"),
            (
                Some(
                    LogicalType::String
                    | LogicalType::Map
                    | LogicalType::List
                    | LogicalType::Decimal(_)
                    | LogicalType::Date
                    | LogicalType::Time(_)
                    | LogicalType::Timestamp(_)
                    | LogicalType::Integer(_)
                    | LogicalType::Float16
                    | LogicalType::Unknown,
                )
                | None,
                _,
            ) => Self::Plain,
        }
    }

    /// The extension type in the table of kinds.
    fn extension(self) -> Option<&'static str> {
        match self {
            Self::Plain | Self::Enum => None,
            Self::Json => Some(JSON),
            Self::Uuid => Some(UUID),
            Self::Other(name) => Some(name),
        }
    }
}
