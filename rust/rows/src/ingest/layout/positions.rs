//! Where the columns of users and items stand in a schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use dpsel_exact::error::{is_word, quoted};
use dpsel_exact::{Error, Result};

use crate::ingest::names::Columns;

/// Most column names that an error lists.
const LISTED: usize = 20;

/// Positions of the user and item columns in one schema.
#[derive(Debug, Clone)]
pub(in crate::ingest) struct Positions {
    pub(in crate::ingest) users: Vec<usize>,
    pub(in crate::ingest) items: Vec<usize>,
}

impl Positions {
    /// Finds the needed columns by their names.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that is missing or ambiguous.
    pub(in crate::ingest) fn find(schema: &Schema, columns: &Columns, source: &str) -> Result<Self> {
        let asked: Vec<&str> = roles(columns).map(|(_, name)| name.as_str()).collect();
        let all = |role, names: &[String]| {
            names.iter().map(|name| position(schema, role, name, &asked, source)).collect::<Result<_>>()
        };
        Ok(Self { users: all(Role::User, columns.user.names())?, items: all(Role::Item, &columns.items)? })
    }

    /// All positions, ascending.
    pub(in crate::ingest) fn ascending(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.items.iter().chain(&self.users).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The user columns and the item columns of a batch.
    pub(in crate::ingest) fn columns(&self, batch: &RecordBatch) -> (Vec<ArrayRef>, Vec<ArrayRef>) {
        let columns = |all: &[usize]| all.iter().map(|at| Arc::clone(batch.column(*at))).collect();
        (columns(&self.users), columns(&self.items))
    }

    /// The positions after a projection to [`Self::ascending`].
    pub(in crate::ingest) fn projected(&self) -> Self {
        let all = self.ascending();
        let ranks =
            |places: &[usize]| places.iter().map(|at| all.partition_point(|other| other < at)).collect();
        Self { users: ranks(&self.users), items: ranks(&self.items) }
    }
}

/// Whether a column holds users or items, and so which argument names it.
#[derive(Debug, Clone, Copy)]
pub(in crate::ingest) enum Role {
    User,
    Item,
}

impl Role {
    /// Why the column is needed, for errors.
    pub(in crate::ingest) fn purpose(self) -> &'static str {
        match self {
            Self::User => "to tell users apart",
            Self::Item => "to take items from",
        }
    }

    /// The argument that names the column.
    pub(in crate::ingest) fn argument(self) -> &'static str {
        match self {
            Self::User => "user=",
            Self::Item => "item=",
        }
    }
}

/// All needed columns with their roles: the items in order, then the users.
pub(in crate::ingest) fn roles(columns: &Columns) -> impl Iterator<Item = (Role, &String)> {
    columns
        .items
        .iter()
        .map(|name| (Role::Item, name))
        .chain(columns.user.names().iter().map(|name| (Role::User, name)))
}

/// The place of the one column with this name, of those that are asked for.
///
/// # Errors
/// [`Error::Schema`] if there is none, or several.
pub(in crate::ingest) fn position(
    schema: &Schema,
    role: Role,
    name: &str,
    asked: &[&str],
    source: &str,
) -> Result<usize> {
    let mut matches = schema.fields().iter().enumerate().filter(|(_, f)| f.name() == name).map(|(at, _)| at);
    match (matches.next(), matches.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Error::Schema {
            what: format!(
                "{source} has several columns named '{name}', and one is needed {}",
                role.purpose()
            ),
            fix: format!("rename them so that {} names one of them", role.argument()),
        }),
        (None, _) => Err(Error::Schema {
            what: format!("{source} has no column {} {}", quoted(name), role.purpose()),
            fix: format!("set {} to one of its columns{}", role.argument(), listed(schema, asked)),
        }),
    }
}

/// The names of the columns if they are few words, and one of them is asked for. Other names may be the first row of a
/// file without a header line, or values that were made columns.
fn listed(schema: &Schema, asked: &[&str]) -> String {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let is_asked = asked.iter().any(|name| names.contains(name));
    if is_asked && names.len() <= LISTED && names.iter().all(|name| is_word(name)) {
        format!(": {}", list_names(names.into_iter()))
    } else {
        String::new()
    }
}

/// Names in quotes, cut after the first few.
fn list_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quoted).collect();
    match names.get(LISTED..) {
        Some(more) if !more.is_empty() => format!("{}, and {} more", names[..LISTED].join(", "), more.len()),
        _ if names.is_empty() => "(there are none)".into(),
        _ => names.join(", "),
    }
}
