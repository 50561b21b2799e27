//! The counts that a top-k starts from.

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

/// The largest count, and the negative of the smallest.
pub const MAX_COUNT: i64 = 1 << 62;
/// Items that may be in a domain.
pub const MAX_ITEMS: u64 = 1 << 52;

/// The counts of one release.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'a> {
    /// The count of each listed item.
    pub counts: &'a [i64],
    /// The digests that order items of equal count. `None` orders them by position.
    pub digests: Option<&'a [Digest]>,
    /// Further items of the domain that nobody holds. All counts are at least 0 then.
    pub unseen: u64,
}

impl Counts<'_> {
    /// Number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.counts.len() as u64 + self.unseen
    }

    /// Check the counts.
    ///
    /// # Errors
    /// [`Error::Data`] for a count out of range, [`Error::InvalidParameter`] for too large a domain.
    pub fn validate(self) -> Result<Self> {
        let least = if self.unseen > 0 { 0 } else { -MAX_COUNT };
        // Whether the two highest bits of some count differ, or its sign is set where it must not be: no branches.
        let suspect =
            self.counts.iter().fold(0, |bits, c| bits | (c ^ (c << 1)) | if least == 0 { *c } else { 0 });
        if suspect < 0
            && let Some(position) = self.counts.iter().position(|c| !(least..=MAX_COUNT).contains(c))
        {
            let what = if least == 0 {
                format!("the count at position {position} is negative or above 2^62, and domain= is a size")
            } else {
                format!("the count at position {position} is not between -2^62 and 2^62")
            };
            return Err(Error::Data { source_name: "counts".into(), what, fix: "give counts of users" });
        }
        if self.items() > MAX_ITEMS {
            let fix = "give the number of items that could be named";
            return Err(Error::parameter("domain", "at most 2^52 items", self.items(), fix));
        }
        Ok(self)
    }
}

/// Where the items of some ranks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At this position of the counts.
    Listed(usize),
    /// Among the unseen items.
    Unseen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_out_of_range_are_refused() {
        let check = |counts: &[i64], unseen| Counts { counts, digests: None, unseen }.validate().map(|_| ());
        assert!(check(&[MAX_COUNT, -MAX_COUNT], 0).is_ok());
        assert!(matches!(check(&[0, MAX_COUNT + 1], 0), Err(Error::Data { .. })));
        assert!(matches!(check(&[-1], 1), Err(Error::Data { .. })));
        assert!(matches!(check(&[1], MAX_ITEMS), Err(Error::InvalidParameter { .. })));
    }
}
