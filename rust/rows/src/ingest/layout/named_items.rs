//! The types of the items that are named in the releases of a series.

use arrow_schema::DataType;
use dpsel_exact::{Error, Result};

use super::column_layout::ColumnLayout;
use super::listed_types::ListedTypes;
use crate::ingest::items::ItemSchema;

impl ColumnLayout {
    /// The layout after a list of items was named in a series. Only the first list can leave the types to the data. `name` is
    /// the argument that has the list.
    ///
    /// # Errors
    /// [`Error::Schema`] if no type holds the items of all lists.
    pub fn with_listed(mut self, list: &ListedTypes, is_first: bool, name: &str) -> Result<Self> {
        if is_first && list.0.iter().any(Option::is_some) {
            self.listed = list.clone();
            return Ok(self);
        }
        // Where the first items had declared types, these still hold.
        for (before, now) in self.listed.0.iter_mut().zip(&list.0) {
            if let (Some(before), Some(now)) = (before, now) {
                *before = before.after(now).ok_or_else(|| Self::no_common_type(name))?;
            }
        }
        Ok(self)
    }

    /// The columns in which named items are held, and the types in which they come out.
    ///
    /// # Errors
    /// None: the types were checked when the layout was made.
    pub fn listed_schema(&self) -> Result<(ItemSchema, &ListedTypes)> {
        let mut columns: Vec<(&str, &DataType)> = self.items().collect();
        for ((_, data_type), listed) in columns.iter_mut().zip(&self.listed.0) {
            if let Some(listed) = listed {
                *data_type = &listed.held;
            }
        }
        let schema = ItemSchema::new(columns)?;
        Ok((schema.with_undeclared(&self.undeclared), &self.listed))
    }

    /// The error for a list in the argument `name` that does not go with those before it.
    #[must_use]
    pub fn no_common_type(name: &str) -> Error {
        Error::Schema {
            what: format!("no type holds both the items of {name} and those that were named before"),
            fix: "give all lists of a series in one type".into(),
        }
    }
}
