//! What the caller asks for, as one value that entry points may not rebuild.

use serde::{Deserialize, Serialize};

use crate::accounting::{L0Bound, Privacy};
use crate::mechanisms::MechanismSpec;
use crate::{Error, Result};

/// One call of `select_partitions`, apart from the data and the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Which columns hold what.
    pub columns: Columns,
    /// The guarantee.
    pub privacy: Privacy,
    /// The most distinct items that one user may contribute.
    pub max_items_per_user: L0Bound,
    /// The mechanism and its parameters.
    pub mechanism: MechanismSpec,
    /// Whether the noisy weight of each released item is returned.
    pub with_weights: bool,
}

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

impl Request {
    /// Read from JSON and check every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] or [`Error::Incompatible`] for parameters out of range,
    /// [`Error::Report`] for JSON that is not a request.
    pub fn from_json(json: &str) -> Result<Self> {
        let request: Self = serde_json::from_str(json).map_err(|e| Error::Report(e.to_string()))?;
        request.validate()
    }

    /// Check every parameter.
    ///
    /// # Errors
    /// As [`Request::from_json`].
    pub fn validate(self) -> Result<Self> {
        self.privacy.validate()?;
        L0Bound::new(self.max_items_per_user.get().into())?;
        self.mechanism.validate()?;
        self.columns.validate()?;
        Ok(self)
    }
}

impl Columns {
    fn validate(&self) -> Result<()> {
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
            _ => Ok(()),
        }
    }
}
