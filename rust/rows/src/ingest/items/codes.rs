//! Dense codes of users and items.
//!
//! Which user or item gets which code depends on timing. Nothing that is released depends on a code.

/// Which column a code stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The column of users.
    User,
    /// The column or columns of items.
    Item,
}

/// A dense code of a user or of an item.
pub trait Code: Copy + Default + std::fmt::Debug {
    /// Whether the code stands for a user or for an item.
    const SIDE: Side;
    /// The code with a number.
    fn new(number: u32) -> Self;
    /// The number of the code. Numbers of interned keys roughly follow the order of first appearance, so frequent ones
    /// have small numbers.
    fn number(self) -> u32;
}

/// Dense code of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ItemCode(pub u32);

impl ItemCode {
    /// The code at a position of arrays indexed by item.
    #[expect(clippy::cast_possible_truncation, reason = "codes fit 32 bits by construction")]
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// Position in arrays indexed by item.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Dense code of a user while rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UserCode(pub u32);

impl Code for ItemCode {
    const SIDE: Side = Side::Item;
    fn new(number: u32) -> Self {
        Self(number)
    }
    fn number(self) -> u32 {
        self.0
    }
}

impl Code for UserCode {
    const SIDE: Side = Side::User;
    fn new(number: u32) -> Self {
        Self(number)
    }
    fn number(self) -> u32 {
        self.0
    }
}
