//! Partial counts become the number of users of each item.

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::sum::OnItems;
use crate::exchange::wire::Decisions;

/// The stage that adds up counts. It may keep only the largest of them.
#[derive(Debug)]
pub struct Total {
    /// The number of the largest counts to keep; `None` for all of them.
    most: Option<usize>,
    counts: Vec<(Digest, i64)>,
}

impl Total {
    pub(crate) fn new(most: Option<u32>) -> Self {
        let most = most.map(|most| most as usize);
        Self { most, counts: Vec::new() }
    }
}

impl OnItems for Total {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        for &(item, users) in items {
            let users = i64::try_from(users).map_err(|_| Error::Internal("a count beyond 63 bits"))?;
            if users > 0 {
                self.counts.push((item, users));
            }
        }
        match self.most {
            None => self.finish(packed),
            Some(most) if self.counts.len() / 2 >= most => keep_largest(&mut self.counts, most),
            Some(_) => {}
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

/// Keep the `most` items with the largest counts. Of items with equal counts, those with the smallest digests stay.
fn keep_largest(counts: &mut Vec<(Digest, i64)>, most: usize) {
    if most < counts.len() {
        counts.select_nth_unstable_by(most, |a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        counts.truncate(most);
    }
}
