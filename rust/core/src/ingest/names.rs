//! The names of the columns that hold users and items.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of the input in errors, where it has no path.
pub(super) const INPUT_NAME: &str = "the input";

/// Names of the columns of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The column that identifies the user (the unit of privacy).
    pub user: String,
    /// The column or columns that make up the item.
    pub items: Vec<String>,
    /// If set, the item column is text and its n-grams are the items.
    #[serde(default)]
    pub ngrams: Option<NGrams>,
}

/// Which n-grams of a text are items: all lengths from `min` to `max` words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NGrams {
    /// Fewest words.
    pub min: u8,
    /// Most words.
    pub max: u8,
}

impl Columns {
    pub(crate) fn validate(&self) -> Result<()> {
        const FIX: &str = "name at least one item column, each once, and not the user column";
        let mut names: Vec<&str> = self.items.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        if self.items.is_empty() || names.len() < self.items.len() || self.items.contains(&self.user) {
            return Err(Error::parameter("item", "one or more distinct columns", self.items.join(", "), FIX));
        }
        match self.ngrams {
            Some(_) if self.items.len() > 1 => Err(Error::Incompatible {
                what: "ngrams= needs exactly one item column".into(),
                fix: "name the text column alone as item=",
            }),
            Some(NGrams { min, max }) if min == 0 || max < min || max > 8 => Err(Error::parameter(
                "ngrams",
                "(min, max) with 1 <= min <= max <= 8",
                format!("({min}, {max})"),
                "(1, 1) makes single words, (1, 2) words and pairs",
            )),
            Some(NGrams { min: _, max: _ }) | None => Ok(()),
        }
    }
}
