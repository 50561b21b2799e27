//! The types of the columns as text, for the releases of one series: what one table declares holds for those after it.

use arrow_schema::DataType;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::column_layout::{ColumnLayout, KeyColumn};
use super::listed_types::{ListedType, ListedTypes};
use crate::ingest::columns::key_kind;
use crate::ingest::names::Columns;

const DAMAGED: Error = Error::Internal("kept types of columns are damaged");

/// The types of the user columns and of the item columns, and whether these are declared.
#[derive(Serialize, Deserialize)]
struct TypeTexts {
    users: Vec<(String, String)>,
    items: Vec<(String, String)>,
    undeclared: Vec<bool>,
    /// The types in which public items come out, and in which they are held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listed: Vec<Option<(String, String)>>,
}

impl ColumnLayout {
    /// The layout as text.
    ///
    /// # Errors
    /// [`Error::Internal`] never in practice: every field serialises.
    pub fn to_text(&self) -> Result<String> {
        let text = |column: &KeyColumn| (column.name.clone(), column.data_type.to_string());
        let users = self.users.iter().map(text).collect();
        let items = self.items.iter().map(text).collect();
        let texts = |listed: &ListedType| (listed.given.to_string(), listed.held.to_string());
        let listed = self.listed.0.iter().map(|listed| listed.as_ref().map(texts)).collect();
        let kept = TypeTexts { users, items, undeclared: self.undeclared.clone(), listed };
        serde_json::to_string(&kept).map_err(|_| Error::Internal("types of columns do not serialise"))
    }

    /// The layout that [`Self::to_text`] wrote, of these columns.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is none.
    pub fn from_text(text: &str, columns: &Columns) -> Result<Self> {
        let TypeTexts { users, items, undeclared, listed } =
            serde_json::from_str(text).map_err(|_| DAMAGED)?;
        let known = |data_type: String| {
            let data_type: DataType = data_type.parse().map_err(|_| DAMAGED)?;
            let kind = key_kind(&data_type).ok_or(DAMAGED)?;
            Ok((data_type, kind))
        };
        let column = |(name, data_type): (String, String)| {
            let (data_type, kind) = known(data_type)?;
            Ok(KeyColumn { name, data_type, kind })
        };
        let users = users.into_iter().map(column).collect::<Result<_>>()?;
        let items: Vec<_> = items.into_iter().map(column).collect::<Result<_>>()?;
        let listed_type =
            |(given, held): (String, String)| Ok(ListedType { given: known(given)?.0, held: known(held)?.0 });
        let listed: Vec<_> =
            listed.into_iter().map(|listed| listed.map(listed_type).transpose()).collect::<Result<_>>()?;
        if items.len() != undeclared.len() || ![0, items.len()].contains(&listed.len()) {
            return Err(DAMAGED);
        }
        let (ngrams, levels) = (columns.ngrams, columns.levels.clone());
        Ok(Self { users, items, undeclared, listed: ListedTypes(listed), ngrams, levels })
    }

    /// The layout for the rows of a release and of those before it: the wider type if the families agree.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column and the two types.
    pub fn after(&self, before: Self) -> Result<Self> {
        const OTHERS: (&str, &str) =
            ("the releases before", "give the tables of all releases the same column types");
        before.merge(self, "the table", OTHERS)
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, Schema, TimeUnit};

    use super::*;

    fn layout(data_type: DataType) -> ColumnLayout {
        let fields = [Field::new("u", DataType::Int64, true), Field::new("i", data_type, true)];
        let columns = Columns { user: "u".into(), items: vec!["i".into()], ngrams: None, levels: None };
        ColumnLayout::new(&Schema::new(fields.to_vec()), &columns, "the table").unwrap().0
    }

    fn columns() -> Columns {
        Columns { user: "u".into(), items: vec!["i".into()], ngrams: None, levels: None }
    }

    /// A state is read by later versions, so the words of types stay.
    #[test]
    fn every_type_survives_and_its_word_is_known() {
        for (data_type, word) in [
            (DataType::Int8, "Int8"),
            (DataType::UInt64, "UInt64"),
            (DataType::Decimal128(20, 0), "Decimal128(20, 0)"),
            (DataType::Boolean, "Boolean"),
            (DataType::Null, "Null"),
            (DataType::Date32, "Date32"),
            (DataType::Date64, "Date64"),
            (DataType::Timestamp(TimeUnit::Second, None), "Timestamp(s)"),
            (
                DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Paris".into())),
                "Timestamp(ns, \"Europe/Paris\")",
            ),
            (DataType::Utf8, "Utf8"),
            (DataType::LargeUtf8, "LargeUtf8"),
            (DataType::Utf8View, "Utf8View"),
            (DataType::Binary, "Binary"),
            (DataType::LargeBinary, "LargeBinary"),
            (DataType::BinaryView, "BinaryView"),
            (DataType::FixedSizeBinary(16), "FixedSizeBinary(16)"),
        ] {
            let text = layout(data_type.clone()).to_text().unwrap();
            let again = ColumnLayout::from_text(&text, &columns()).unwrap();
            assert_eq!(again.items().collect::<Vec<_>>(), [("i", &data_type)]);
            assert!(text.contains(&serde_json::to_string(word).unwrap()), "{text}");
        }
    }

    #[test]
    fn types_of_named_items_are_kept_and_older_states_have_none() {
        let (given, held) = (DataType::LargeUtf8, DataType::Int64);
        let mut named = layout(DataType::Int64);
        assert!(!named.to_text().unwrap().contains("listed"));
        named.listed = ListedTypes(vec![Some(ListedType { given, held })]);
        let again = ColumnLayout::from_text(&named.to_text().unwrap(), &columns()).unwrap();
        assert_eq!(again.listed.0, named.listed.0);
        let later = layout(DataType::Int32).after(again).unwrap();
        assert_eq!(later.listed.0, named.listed.0);
        let old = r#"{"users":[["u","Int64"]],"items":[["i","Int64"]],"undeclared":[true]}"#;
        assert!(ColumnLayout::from_text(old, &columns()).unwrap().listed.0.is_empty());
        let two = old.replace("[true]}", r#"[true],"listed":[null,null]}"#);
        assert!(ColumnLayout::from_text(&two, &columns()).is_err());
    }

    #[test]
    fn kinds_stay_and_widths_grow() {
        let after = |now, before| layout(now).after(layout(before));
        let both = after(DataType::Int32, DataType::Int64).unwrap();
        assert_eq!(both.items().collect::<Vec<_>>(), [("i", &DataType::Int64)]);
        let none = after(DataType::Null, DataType::Utf8).unwrap();
        assert_eq!(none.items().collect::<Vec<_>>(), [("i", &DataType::Utf8)]);
        let error = after(DataType::Utf8, DataType::Int64).unwrap_err().to_string();
        assert_eq!(
            error,
            "column 'i' of the table has type Utf8, but Int64 in the releases before; \
             give the tables of all releases the same column types"
        );
        assert!(ColumnLayout::from_text("{}", &columns()).is_err());
    }
}
