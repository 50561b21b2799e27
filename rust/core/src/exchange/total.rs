//! Packed counts become the number of users of each item, where all counts of an item have come together.

use super::at_items::Verdict;
use super::decide::Decisions;
use super::top_k::keep_largest;
use crate::random::Digest;
use crate::{Error, Result};

/// Keeps counts, or the largest of them. See the module.
#[derive(Debug)]
pub struct Total {
    /// How many of the largest counts are wanted; none for all.
    most: Option<usize>,
    counts: Vec<(Digest, i64)>,
}

impl Total {
    pub(super) fn new(most: Option<u32>) -> Self {
        let most = most.map(|most| most as usize);
        Self { most, counts: Vec::new() }
    }
}

impl Verdict for Total {
    fn decide(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        for &(item, users) in items {
            let users = i64::try_from(users).map_err(|_| Error::Internal("a count beyond 63 bits"))?;
            if users > 0 {
                self.counts.push((item, users));
            }
        }
        let Some(most) = self.most else {
            packed.extend(Decisions::pack(self.counts.drain(..)));
            return Ok(());
        };
        if self.counts.len() / 2 >= most {
            keep_largest(&mut self.counts, most);
        }
        Ok(())
    }

    fn finish(&mut self, packed: &mut Vec<u8>) {
        if let Some(most) = self.most {
            keep_largest(&mut self.counts, most);
        }
        packed.extend(Decisions::pack(self.counts.drain(..)));
    }
}
