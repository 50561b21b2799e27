//! The names of the columns that hold users and items.

use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

/// The name of the input in errors, where it has no path.
pub(super) const INPUT_NAME: &str = "the input";

/// Names of the columns of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The column or columns that identify the user (the unit of privacy).
    pub user: UserColumns,
    /// The column or columns that make up the item.
    pub items: Vec<String>,
    /// If set, the item column is text and its n-grams are the items.
    #[serde(default)]
    pub ngrams: Option<NGrams>,
    /// If set, an item is a node of a tree, and whoever has it has all nodes above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Levels>,
}

/// What makes the levels of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Levels {
    /// Each item column is a level. A null ends a path.
    Columns,
    /// The parts of one text, between separators.
    Separator(String),
}

/// The most levels. Error messages say it too.
pub const MOST_LEVELS: usize = 32;

/// The column that has the level of a released node, from 1.
pub const LEVEL_COLUMN: &str = "level";

/// The names of the columns that identify a user. In JSON one column is a text, and several are a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserColumns {
    /// The values of one column are users.
    One(String),
    /// Users are tuples with a value of each column.
    Several(Vec<String>),
}

impl UserColumns {
    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

impl<T: Into<String>> From<T> for UserColumns {
    fn from(name: T) -> Self {
        Self::One(name.into())
    }
}

/// The longest n-gram, in words or characters. An error message says it too.
pub const LONGEST_NGRAM: u8 = 8;

/// Which n-grams of a text are items: all lengths from `min` to `max` words or characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NGrams {
    /// Fewest words.
    pub min: u8,
    /// Most words.
    pub max: u8,
    /// What an n-gram is made of.
    #[serde(default, skip_serializing_if = "Unit::is_usual")]
    pub unit: Unit,
}

/// What n-grams are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Words.
    #[default]
    Words,
    /// Characters: Unicode scalar values.
    Chars,
    /// Characters of one word and of the spaces around it.
    Subwords,
}

impl Unit {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        matches!(self, Self::Words)
    }
}

fn are_distinct(names: &[String]) -> bool {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// How many names there are, for errors. A column of rows, given in place of its name, must not be quoted.
fn number_of(names: &[String]) -> String {
    match names.len() {
        1 => "one name".into(),
        count => format!("{count} names"),
    }
}

impl Columns {
    /// The columns of a public list of items: whole items, beside one column that nobody reads.
    #[must_use]
    pub fn of_list(&self) -> Self {
        let user = self.user.names().iter().take(1).cloned().collect::<String>().into();
        Self { user, items: self.items.clone(), ngrams: None, levels: self.levels.clone() }
    }

    /// Whether items stand above others: the nodes of a tree, and n-grams of several lengths.
    #[must_use]
    pub fn have_lines(&self) -> bool {
        self.levels.is_some() || self.ngrams.is_some_and(|ngrams| ngrams.min < ngrams.max)
    }

    /// Check that each column has one part, and that n-grams can be made.
    ///
    /// # Errors
    /// A column that is named twice, none for the item, or sizes of n-grams out of their range.
    pub fn validate(&self) -> Result<()> {
        const FIX: &str = "name at least one item column, each once, and not the user column";
        const FIX_USERS: &str = "name each column once; a user of one column is a text and not a list";
        let users = self.user.names();
        if matches!(self.user, UserColumns::Several(_)) && (users.len() < 2 || !are_distinct(users)) {
            return Err(Error::parameter(
                "user",
                "one or more distinct columns",
                number_of(users),
                FIX_USERS,
            ));
        }
        let is_user = |name: &String| users.contains(name);
        if self.items.is_empty() || !are_distinct(&self.items) || self.items.iter().any(is_user) {
            return Err(Error::parameter(
                "item",
                "one or more distinct columns",
                number_of(&self.items),
                FIX,
            ));
        }
        self.check_levels()?;
        match self.ngrams {
            Some(_) if self.items.len() > 1 => Err(Error::Incompatible {
                what: "ngrams= needs exactly one item column".into(),
                fix: "name the text column alone as item=",
            }),
            Some(NGrams { min, max, unit: _ }) if min == 0 || max < min || max > LONGEST_NGRAM => {
                Err(Error::parameter(
                    "ngrams",
                    "(min, max) with 1 <= min <= max <= 8",
                    format!("({min}, {max})"),
                    "(1, 1) makes single words, (1, 2) words and pairs",
                ))
            }
            Some(NGrams { min: _, max: _, unit: _ }) | None => Ok(()),
        }
    }

    /// Check that the item columns can make a tree.
    fn check_levels(&self) -> Result<()> {
        let Some(levels) = &self.levels else { return Ok(()) };
        let refused = |what: &str, fix| Err(Error::Incompatible { what: what.into(), fix });
        let columns = self.items.len();
        match levels {
            _ if self.ngrams.is_some() => {
                refused("levels= makes a tree of items, and ngrams= makes items of texts", "leave one out")
            }
            _ if self.items.iter().any(|name| name == LEVEL_COLUMN) => refused(
                "levels= adds a column 'level', but item= names a column of that name too",
                "rename the item column",
            ),
            Levels::Columns if columns < 2 => refused(
                "levels=True needs several item columns, from the top of the tree, and item= names one",
                "name the columns of all levels, or give the separator of the parts of a text, such as levels=\"/\"",
            ),
            Levels::Columns if columns > MOST_LEVELS => {
                refused("levels=True takes 32 item columns at most", "leave out the lowest levels")
            }
            Levels::Separator(text) if text.is_empty() => refused(
                "levels= is an empty text, which separates nothing",
                "give the separator, such as \"/\"",
            ),
            Levels::Separator(_) if columns != 1 => refused(
                "levels= is a separator of the parts of one text column, and item= names several columns",
                "name one text column, or pass levels=True if each column is a level",
            ),
            Levels::Columns | Levels::Separator(_) => Ok(()),
        }
    }
}
