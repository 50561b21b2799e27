//! The checked types of the user and item columns.

use arrow_schema::{DataType, Field, Schema};

use super::common_type::{same_family, widest};
use super::positions::Positions;
use crate::ingest::columns::{element_type, key_kind, unsupported_type, value_type};
use crate::ingest::items::ItemSchema;
use crate::ingest::names::{Columns, NGrams};
use crate::random::KeyKind;
use crate::{Error, Result};

/// The name of the Arrow extension type of pandas periods.
const PERIOD: &str = "pandas.period";

/// The checked types of the user and item columns of one source.
#[derive(Debug, Clone)]
pub(crate) struct ColumnLayout {
    users: Vec<(String, DataType)>,
    items: Vec<(String, DataType)>,
    /// For each item column, whether its source declares no type, so that the type was inferred from values.
    undeclared: Vec<bool>,
    ngrams: Option<NGrams>,
}

impl ColumnLayout {
    /// Check the types of the needed columns of one schema.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column: missing, ambiguous, or of a type that is not accepted.
    pub(in crate::ingest) fn new(
        schema: &Schema,
        columns: &Columns,
        source: &str,
    ) -> Result<(Self, Positions)> {
        let positions = Positions::find(schema, columns, source)?;
        let users = positions.users.iter().map(|&at| user_type(schema.field(at), source));
        let users = users.collect::<Result<_>>()?;
        let single = positions.items.len() == 1;
        let items: Vec<_> = positions
            .items
            .iter()
            .map(|&at| item_type(schema.field(at), single, columns.ngrams, source))
            .collect::<Result<_>>()?;
        let undeclared = vec![false; items.len()];
        Ok((Self { users, items, undeclared, ngrams: columns.ngrams }, positions))
    }

    /// The same layout, where the source declares no type for some columns.
    pub(in crate::ingest) fn with_undeclared(mut self, is_undeclared: impl Fn(&str) -> bool) -> Self {
        self.undeclared = self.items.iter().map(|(name, _)| is_undeclared(name)).collect();
        self
    }

    /// The layout for rows of both sources: the wider type if the families agree.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column and the two types.
    pub(in crate::ingest) fn merge(self, other: &Self, source: &str) -> Result<Self> {
        let join = |(name, ours): (String, DataType), theirs: &DataType, user: bool| {
            let both = if user { same_family(&ours, theirs) } else { widest(&ours, theirs) };
            match both {
                Some(data_type) => Ok((name, data_type)),
                None => Err(Error::Schema {
                    what: format!(
                        "column '{name}' of {source} has type {theirs}, but {ours} in files before it"
                    ),
                    fix: "give all files of one source the same column types".into(),
                }),
            }
        };
        let users = self.users.into_iter().zip(&other.users).map(|(a, b)| join(a, &b.1, true));
        let users = users.collect::<Result<_>>()?;
        let items = self.items.into_iter().zip(&other.items).map(|(a, b)| join(a, &b.1, false));
        let undeclared = self.undeclared.iter().zip(&other.undeclared).map(|(a, b)| *a || *b).collect();
        Ok(Self { users, items: items.collect::<Result<_>>()?, undeclared, ngrams: self.ngrams })
    }

    /// Names and types of the item columns of the release.
    ///
    /// # Errors
    /// None: the types were checked when the layout was made.
    pub(crate) fn item_schema(&self) -> Result<ItemSchema> {
        let schema = ItemSchema::new(self.items.iter().map(|(name, t)| (name.as_str(), t)))?;
        Ok(schema.with_undeclared(&self.undeclared))
    }

    /// Names and types of the item columns.
    pub(in crate::ingest) fn items(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.items.iter().map(|(name, data_type)| (name.as_str(), data_type))
    }

    /// For each item column, whether its source declares no type.
    pub(in crate::ingest) fn undeclared(&self) -> impl Iterator<Item = bool> {
        self.undeclared.iter().copied()
    }

    pub(in crate::ingest) fn ngrams(&self) -> Option<NGrams> {
        self.ngrams
    }

    /// The names of the user columns.
    pub(in crate::ingest) fn users(&self) -> impl Iterator<Item = &str> {
        self.users.iter().map(|(name, _)| name.as_str())
    }
}

fn user_type(field: &Field, source: &str) -> Result<(String, DataType)> {
    refuse_periods("user", field, source)?;
    let data_type = value_type(field.data_type());
    if key_kind(data_type).is_none() {
        return Err(unsupported_type("user", field.name(), data_type, source));
    }
    Ok((field.name().clone(), data_type.clone()))
}

fn item_type(
    field: &Field,
    single: bool,
    ngrams: Option<NGrams>,
    source: &str,
) -> Result<(String, DataType)> {
    let name = field.name();
    refuse_periods("item", field, source)?;
    let data_type = match element_type(value_type(field.data_type())) {
        Some(_) if !single => {
            return Err(Error::Schema {
                what: format!(
                    "item column '{name}' of {source} is a list, but there are several item columns"
                ),
                fix: "a list can only be the single item column; unnest it first".into(),
            });
        }
        Some(element) => value_type(element),
        None => value_type(field.data_type()),
    };
    let kind = key_kind(data_type).ok_or_else(|| unsupported_type("item", name, data_type, source))?;
    if ngrams.is_some() && kind != KeyKind::Text && data_type != &DataType::Null {
        return Err(Error::Schema {
            what: format!("ngrams= needs text, but item column '{name}' of {source} has type {data_type}"),
            fix: "name a text column, or leave ngrams= out".into(),
        });
    }
    Ok((name.clone(), data_type.clone()))
}

/// Refuses pandas periods. In Arrow a period is a bare number, and its unit (months, days) stands in the metadata of
/// the column. The number would be released without its unit.
fn refuse_periods(role: &str, field: &Field, source: &str) -> Result<()> {
    let element = match value_type(field.data_type()) {
        DataType::List(element) | DataType::LargeList(element) => Some(element.as_ref()),
        _ => None,
    };
    if [Some(field), element].into_iter().flatten().all(|field| field.extension_type_name() != Some(PERIOD)) {
        return Ok(());
    }
    Err(Error::Schema {
        what: format!(
            "{role} column '{}' of {source} holds pandas periods, which are bare numbers in Arrow",
            field.name()
        ),
        fix: "convert it in pandas with astype(str), or with dt.to_timestamp()".into(),
    })
}
