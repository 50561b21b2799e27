//! Decisions: items, each with a number.

use dpsel_core::rounds::Released;
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::digest_maps::ByDigest;
use dpsel_exact::random::bytes::push_digest;

/// Bytes of a packed decision: a digest and a number.
const DECISION: usize = size_of::<u128>() + size_of::<i64>();

/// Items, each with a number. The number is a noisy weight in grid steps (0 where no weights were asked for), or a
/// count of users.
#[derive(Debug, Clone, Default)]
pub struct Decisions(ByDigest<i64>);

impl Decisions {
    /// Read packed decisions, one after the other.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged, or if an item occurs twice.
    pub fn unpack(packed: &[u8]) -> Result<Self> {
        let decisions = Self::each(packed)?;
        let mut found = Self::default();
        found.0.reserve(decisions.len());
        for (item, number) in decisions {
            if found.0.insert(item, number).is_some() {
                return Err(Error::Internal("an item was decided twice"));
            }
        }
        Ok(found)
    }

    /// Read packed decisions without a table of them.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged.
    pub(crate) fn each(packed: &[u8]) -> Result<impl ExactSizeIterator<Item = (Digest, i64)> + '_> {
        let (decisions, rest) = packed.as_chunks::<DECISION>();
        let decisions = decisions.iter().map(|decision| {
            let (digest, number) = decision.split_at(size_of::<u128>());
            let (mut bytes, mut steps) = ([0; size_of::<u128>()], [0; size_of::<i64>()]);
            bytes.copy_from_slice(digest);
            steps.copy_from_slice(number);
            (Digest(u128::from_le_bytes(bytes)), i64::from_le_bytes(steps))
        });
        if rest.is_empty() { Ok(decisions) } else { Err(Error::Internal("decisions are damaged")) }
    }

    /// Append one packed decision.
    pub(crate) fn push(item: Digest, number: i64, packed: &mut Vec<u8>) {
        push_digest(item, packed);
        packed.extend(number.to_le_bytes());
    }

    /// Append the packed decisions of these items.
    pub(crate) fn push_released<N>(items: &[Released<N>], packed: &mut Vec<u8>) {
        for item in items {
            Self::push(item.digest, item.weight, packed);
        }
    }

    /// Pack items and numbers, one after the other.
    pub(crate) fn pack(items: impl IntoIterator<Item = (Digest, i64)>) -> Vec<u8> {
        let mut packed = Vec::new();
        items.into_iter().for_each(|(item, number)| Self::push(item, number, &mut packed));
        packed
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, item: Digest) -> bool {
        self.0.contains_key(&item)
    }

    pub(crate) fn get(&self, item: Digest) -> Option<i64> {
        self.0.get(&item).copied()
    }

    /// All items with their numbers, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Digest, i64)> + '_ {
        self.0.iter().map(|(item, number)| (*item, *number))
    }
}
