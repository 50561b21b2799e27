//! Which columns are read and what they make: checked against every schema before any row is read.

use arrow_schema::{DataType, Field, Schema};

use super::ItemSchema;
use super::columns::{key_kind, value_type};
use crate::ingest::{Columns, NGrams};
use crate::random::KeyKind;
use crate::{Error, Result};

/// The name of the Arrow extension type of pandas periods.
const PERIOD: &str = "pandas.period";
/// Most column names that an error lists.
const LISTED: usize = 20;

/// The checked types of the user and item columns of one source.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    user: (String, DataType),
    items: Vec<(String, DataType)>,
    /// Of each item column, whether its source declares no type, so that values were looked at.
    found: Vec<bool>,
    ngrams: Option<NGrams>,
}

/// Positions of the user and item columns in one schema.
#[derive(Debug, Clone)]
pub(super) struct Positions {
    pub(super) user: usize,
    pub(super) items: Vec<usize>,
}

impl Plan {
    /// Check the types of the needed columns of one schema.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column: missing, ambiguous, or of a type that is not accepted.
    pub(super) fn new(schema: &Schema, columns: &Columns, source: &str) -> Result<(Self, Positions)> {
        let positions = Positions::find(schema, columns, source)?;
        let user = schema.field(positions.user);
        refuse_periods("user", user, source)?;
        let user_type = value_type(user.data_type());
        if key_kind(user_type).is_none() {
            return Err(refused("user", user.name(), user_type, source));
        }
        let single = positions.items.len() == 1;
        let items: Vec<_> = positions
            .items
            .iter()
            .map(|&at| item_type(schema.field(at), single, columns.ngrams, source))
            .collect::<Result<_>>()?;
        let found = vec![false; items.len()];
        let user = (user.name().clone(), user_type.clone());
        Ok((Self { user, items, found, ngrams: columns.ngrams }, positions))
    }

    /// The same plan, where the source declares no type for these columns.
    pub(super) fn found_out(mut self, is_found: impl Fn(&str) -> bool) -> Self {
        self.found = self.items.iter().map(|(name, _)| is_found(name)).collect();
        self
    }

    /// The plan for rows of both sources: the wider type where the families agree.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the column and the two types.
    pub(super) fn merge(self, other: &Self, source: &str) -> Result<Self> {
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
        let user = join(self.user, &other.user.1, true)?;
        let items = self.items.into_iter().zip(&other.items).map(|(a, b)| join(a, &b.1, false));
        let found = self.found.iter().zip(&other.found).map(|(a, b)| *a || *b).collect();
        Ok(Self { user, items: items.collect::<Result<_>>()?, found, ngrams: self.ngrams })
    }

    /// Names and types of the item columns of the release.
    ///
    /// # Errors
    /// None for a plan that was made.
    pub(super) fn item_schema(&self) -> Result<ItemSchema> {
        let schema = ItemSchema::new(self.items.iter().map(|(name, t)| (name.as_str(), t)))?;
        Ok(schema.with_found(&self.found))
    }

    /// Names and types of the item columns.
    pub(super) fn items(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.items.iter().map(|(name, data_type)| (name.as_str(), data_type))
    }

    /// Of each item column, whether its source declares no type.
    pub(super) fn found(&self) -> impl Iterator<Item = bool> {
        self.found.iter().copied()
    }

    pub(super) fn ngrams(&self) -> Option<NGrams> {
        self.ngrams
    }

    pub(super) fn user_name(&self) -> &str {
        &self.user.0
    }
}

impl Positions {
    pub(super) fn find(schema: &Schema, columns: &Columns, source: &str) -> Result<Self> {
        let user = position(schema, Role::User, &columns.user, source)?;
        let item = |name: &String| position(schema, Role::Item, name, source);
        let items = columns.items.iter().map(item).collect::<Result<_>>()?;
        Ok(Self { user, items })
    }

    /// All positions, ascending.
    pub(super) fn ascending(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.items.iter().copied().chain([self.user]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where the columns are after a projection to [`Self::ascending`].
    pub(super) fn projected(&self) -> Self {
        let all = self.ascending();
        let rank = |at: usize| all.partition_point(|other| *other < at);
        Self { user: rank(self.user), items: self.items.iter().map(|&at| rank(at)).collect() }
    }
}

/// What a column is read as, and so which argument names it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    User,
    Item,
}

impl Role {
    /// Why the column is needed, for errors.
    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::User => "to tell users apart",
            Self::Item => "to take items from",
        }
    }

    /// The argument that names the column.
    pub(super) fn argument(self) -> &'static str {
        match self {
            Self::User => "user=",
            Self::Item => "item=",
        }
    }
}

/// All needed columns with their roles: the items in order, then the user.
pub(super) fn roles(columns: &Columns) -> impl Iterator<Item = (Role, &String)> {
    columns.items.iter().map(|name| (Role::Item, name)).chain([(Role::User, &columns.user)])
}

fn position(schema: &Schema, role: Role, name: &str, source: &str) -> Result<usize> {
    let mut found = schema.fields().iter().enumerate().filter(|(_, f)| f.name() == name).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Error::Schema {
            what: format!(
                "{source} has several columns named '{name}', and one is needed {}",
                role.purpose()
            ),
            fix: format!("rename them so that {} names one of them", role.argument()),
        }),
        (None, _) => Err(Error::Schema {
            what: format!("{source} has no column '{name}' {}", role.purpose()),
            fix: format!(
                "set {} to one of its columns: {}",
                role.argument(),
                list(schema.fields().iter().map(|f| f.name().as_str()))
            ),
        }),
    }
}

/// Names in quotes, cut after the first few.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("'{n}'")).collect();
    match names.get(LISTED..) {
        Some(more) if !more.is_empty() => format!("{}, and {} more", names[..LISTED].join(", "), more.len()),
        _ if names.is_empty() => "(there are none)".into(),
        _ => names.join(", "),
    }
}

/// The element type of a list column, if it is one.
pub(super) fn element_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => Some(field.data_type()),
        _ => None,
    }
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
    let kind = key_kind(data_type).ok_or_else(|| refused("item", name, data_type, source))?;
    if ngrams.is_some() && kind != KeyKind::Text && data_type != &DataType::Null {
        return Err(Error::Schema {
            what: format!("ngrams= needs text, but item column '{name}' of {source} has type {data_type}"),
            fix: "name a text column, or leave ngrams= out".into(),
        });
    }
    Ok((name.clone(), data_type.clone()))
}

/// The error for a column type that cannot identify a user or an item.
pub(super) fn refused(role: &str, name: &str, data_type: &DataType, source: &str) -> Error {
    let fix = match data_type {
        t if t.is_floating() => {
            "floating-point numbers have no exact equality; cast the column to integer or string".to_owned()
        }
        t if element_type(t).is_some() && role == "user" => {
            "one row belongs to one user; unnest it first".to_owned()
        }
        DataType::Struct(_) => "name its fields as columns of their own".to_owned(),
        _ => "use an integer, string, binary, boolean, date or timestamp column, or cast it to string"
            .to_owned(),
    };
    Error::Schema {
        what: format!("{role} column '{name}' of {source} has type {data_type}, which is not supported"),
        fix,
    }
}

/// pandas hands on a period as a bare number, and what it counts (months, days) in the metadata of its column: the number
/// would be released without its meaning.
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

/// For users only the kind matters: equal values are equal whatever their width.
fn same_family(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::Null, t) | (t, DataType::Null) => Some(t.clone()),
        _ if key_kind(a) == key_kind(b) => Some(a.clone()),
        _ => None,
    }
}

/// The type that holds the values of both, or `None`.
fn widest(a: &DataType, b: &DataType) -> Option<DataType> {
    if a == b {
        return Some(a.clone());
    }
    match (same_family(a, b)?, key_kind(a), a, b) {
        (t, ..) if *a == DataType::Null || *b == DataType::Null => Some(t),
        (_, Some(KeyKind::Integer), ..) => widest_integer(a, b),
        (_, Some(KeyKind::Text), ..) => Some(DataType::LargeUtf8),
        (_, Some(KeyKind::Binary), ..) => Some(DataType::LargeBinary),
        (_, Some(KeyKind::Date), ..) => Some(DataType::Date64),
        _ => None,
    }
}

fn widest_integer(a: &DataType, b: &DataType) -> Option<DataType> {
    let width = DataType::primitive_width;
    if a.is_unsigned_integer() == b.is_unsigned_integer() {
        return Some(if width(a)? >= width(b)? { a.clone() } else { b.clone() });
    }
    let (unsigned, signed) = if a.is_unsigned_integer() { (a, b) } else { (b, a) };
    match (2 * width(unsigned)?).max(width(signed)?) {
        2 => Some(DataType::Int16),
        4 => Some(DataType::Int32),
        8 => Some(DataType::Int64),
        _ => None,
    }
}
