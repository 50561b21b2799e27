//! The checked types of the user and item columns.

use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};

use super::common_type::{same_family, widest};
use super::listed_types::ListedTypes;
use super::positions::Positions;
use crate::ingest::columns::{element_key_type, element_type, key_type, unsupported, value_type};
use crate::ingest::items::ItemSchema;
use crate::ingest::names::{Columns, Levels, NGrams};

/// A column of keys, and what its schema declares.
#[derive(Debug, Clone)]
pub(super) struct KeyColumn {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) kind: KeyKind,
}

/// The checked types of the user and item columns of one source.
#[derive(Debug, Clone)]
pub struct ColumnLayout {
    pub(super) users: Vec<KeyColumn>,
    pub(super) items: Vec<KeyColumn>,
    /// For each item column, whether its source declares no type, so that the type was inferred from values.
    pub(super) undeclared: Vec<bool>,
    /// For each item column, the types of the public items that were named so far. Empty if there are none.
    pub(super) listed: ListedTypes,
    pub(super) ngrams: Option<NGrams>,
    pub(super) levels: Option<Levels>,
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
            .map(|&at| item_type(schema.field(at), single, columns, source))
            .collect::<Result<_>>()?;
        let undeclared = vec![false; items.len()];
        Ok((
            Self {
                users,
                items,
                undeclared,
                listed: ListedTypes::default(),
                ngrams: columns.ngrams,
                levels: columns.levels.clone(),
            },
            positions,
        ))
    }

    /// The same layout, where the source declares no type for some columns.
    pub(in crate::ingest) fn with_undeclared(mut self, is_undeclared: impl Fn(&str) -> bool) -> Self {
        self.undeclared = self.items.iter().map(|column| is_undeclared(&column.name)).collect();
        self
    }

    /// The same layout, where item columns without a type have that of another layout, undeclared.
    pub(in crate::ingest) fn with_items_of(mut self, other: &Self) -> Self {
        for ((ours, undeclared), theirs) in self.items.iter_mut().zip(&mut self.undeclared).zip(&other.items)
        {
            if ours.data_type == DataType::Null {
                (ours.data_type, ours.kind) = (theirs.data_type.clone(), theirs.kind);
                *undeclared = true;
            }
        }
        self
    }

    /// Refuse a user column without a declared type: it has no user.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column.
    pub(in crate::ingest) fn check_users(self, source: &str) -> Result<Self> {
        match self.users.iter().find(|column| column.data_type == DataType::Null) {
            None => Ok(self),
            Some(KeyColumn { name, .. }) => Err(Error::Schema {
                what: format!("user column '{name}' of {source} has type Null, so no row of it has a user"),
                fix: "give it the type of its users, such as string".into(),
            }),
        }
    }

    /// The layout for rows of both sources: the wider type if the families agree. An error says where the other one comes
    /// from, and what to do.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column and the two types.
    pub(in crate::ingest) fn merge(
        self,
        other: &Self,
        source: &str,
        (before, fix): (&str, &str),
    ) -> Result<Self> {
        let join = |ours: KeyColumn, theirs: &KeyColumn, user: bool| {
            let both = if user { same_family } else { widest };
            match both(&ours.data_type, &theirs.data_type) {
                Some(data_type) if ours.data_type == DataType::Null => {
                    Ok(KeyColumn { data_type, kind: theirs.kind, ..ours })
                }
                Some(data_type) => Ok(KeyColumn { data_type, ..ours }),
                None => Err(Error::Schema {
                    what: format!(
                        "column '{}' of {source} has type {}, but {} in {before}",
                        ours.name, theirs.data_type, ours.data_type
                    ),
                    fix: fix.into(),
                }),
            }
        };
        let users = self.users.into_iter().zip(&other.users).map(|(a, b)| join(a, b, true));
        let users = users.collect::<Result<_>>()?;
        let items = self.items.into_iter().zip(&other.items).map(|(a, b)| join(a, b, false));
        let undeclared = self.undeclared.iter().zip(&other.undeclared).map(|(a, b)| *a || *b).collect();
        Ok(Self {
            users,
            items: items.collect::<Result<_>>()?,
            undeclared,
            listed: self.listed,
            ngrams: self.ngrams,
            levels: self.levels,
        })
    }

    /// Names and types of the item columns of the release.
    ///
    /// # Errors
    /// None: the types were checked when the layout was made.
    pub fn item_schema(&self) -> Result<ItemSchema> {
        let schema = ItemSchema::new(self.items())?;
        Ok(schema.with_undeclared(&self.undeclared).with_levels(self.levels.clone()))
    }

    /// Names and types of the item columns.
    pub(in crate::ingest) fn items(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.items.iter().map(|column| (column.name.as_str(), &column.data_type))
    }

    /// For each item column, whether its source declares no type.
    pub(in crate::ingest) fn undeclared(&self) -> impl Iterator<Item = bool> {
        self.undeclared.iter().copied()
    }

    pub(in crate::ingest) fn ngrams(&self) -> Option<NGrams> {
        self.ngrams
    }

    pub(in crate::ingest) fn levels(&self) -> Option<&Levels> {
        self.levels.as_ref()
    }

    /// The names of the user columns, and the kinds of key that they declare.
    pub(in crate::ingest) fn users(&self) -> impl Iterator<Item = (&str, KeyKind)> {
        self.users.iter().map(|column| (column.name.as_str(), column.kind))
    }

    /// The names of the item columns, and the kinds of key that they declare.
    pub(in crate::ingest) fn item_keys(&self) -> impl Iterator<Item = (&str, KeyKind)> {
        self.items.iter().map(|column| (column.name.as_str(), column.kind))
    }
}

fn user_type(field: &Field, source: &str) -> Result<KeyColumn> {
    let (data_type, kind) = key_type(field).map_err(|why| unsupported("user", field.name(), why, source))?;
    Ok(KeyColumn { name: field.name().clone(), data_type: data_type.clone(), kind })
}

fn item_type(field: &Field, single: bool, columns: &Columns, source: &str) -> Result<KeyColumn> {
    let name = field.name();
    if !single && element_type(value_type(field.data_type())).is_some() {
        return Err(Error::Schema {
            what: format!("item column '{name}' of {source} is a list, but there are several item columns"),
            fix: "a list can only be the single item column; unnest it first".into(),
        });
    }
    let (data_type, kind) = element_key_type(field).map_err(|why| unsupported("item", name, why, source))?;
    let option = match &columns.levels {
        Some(Levels::Separator(_)) => Some("levels="),
        Some(Levels::Columns) => None,
        None => columns.ngrams.map(|_| "ngrams="),
    };
    if let Some(option) = option.filter(|_| kind != KeyKind::Text && data_type != &DataType::Null) {
        return Err(Error::Schema {
            what: format!("{option} needs text, but item column '{name}' of {source} has type {data_type}"),
            fix: format!("name a text column, or leave {option} out"),
        });
    }
    Ok(KeyColumn { name: name.clone(), data_type: data_type.clone(), kind })
}
