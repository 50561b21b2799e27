//! Where all weights of an item come together: they are added up, route after route.

use arrow_array::RecordBatch;
use num_traits::SaturatingAdd;

use super::Stage;
use super::packing::unpack_weights;
use super::routing::{InOrder, packed_batch, unrouted};
use crate::random::Digest;
use crate::weighting::UNIT;
use crate::{Error, Result};

/// A packed value of more bytes ends.
const PACKED_BYTES: usize = 1 << 22;

/// The largest weight that noise may be added to: 2^32 users of one unit each.
const LARGEST: u64 = UNIT << 32;
const TOO_MANY: Error = Error::Capacity { what: "users of one item", limit: 1 << 32 };

/// What becomes of the sums.
pub trait Verdict: Send {
    /// Look at all items of a route, in order of their digests; what is known of them is packed.
    ///
    /// # Errors
    /// Those of the stage.
    fn decide(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()>;

    /// Pack what was kept until the end.
    fn finish(&mut self, _packed: &mut Vec<u8>) {}
}

/// See the module.
///
/// # Contract
/// All weights of a route come one after the other in one task, so a verdict sees each item once, with its whole weight.
#[derive(Debug)]
pub struct AtItems<V> {
    verdict: V,
    weights: Vec<(Digest, u64)>,
    routes: InOrder,
    packed: Vec<u8>,
}

impl<V: Verdict> AtItems<V> {
    pub(super) fn new(verdict: V) -> Self {
        Self { verdict, weights: Vec::new(), routes: InOrder::default(), packed: Vec::new() }
    }

    /// Decide all items of the route that has ended. Every item here has weight: somebody holds it.
    fn end_route(&mut self) -> Result<()> {
        self.weights.sort_unstable_by_key(|(item, _)| *item);
        let items = self.weights.chunk_by(|a, b| a.0 == b.0).map(whole);
        let items: Vec<(Digest, u64)> = items.collect::<Result<_>>()?;
        self.weights.clear();
        self.verdict.decide(&items, &mut self.packed)
    }

    /// A batch of decisions if there are more than `limit` bytes of them.
    fn ready(&mut self, limit: usize) -> Result<Vec<RecordBatch>> {
        if self.packed.len() <= limit {
            return Ok(Vec::new());
        }
        Ok(vec![packed_batch(&std::mem::take(&mut self.packed))?])
    }
}

/// An item and the sum of its weights.
fn whole(parts: &[(Digest, u64)]) -> Result<(Digest, u64)> {
    let (Some((item, _)), sum) = (parts.first(), sum(parts.iter().map(|(_, weight)| *weight))?) else {
        return Err(Error::Internal("an item without parts"));
    };
    Ok((*item, sum))
}

/// The sum of the parts of one item's weight.
pub(super) fn sum(mut parts: impl Iterator<Item = u64>) -> Result<u64> {
    let sum = parts.try_fold(0_u64, u64::checked_add);
    sum.filter(|sum| *sum <= LARGEST).ok_or(TOO_MANY)
}

/// Sort by key, and put the numbers of equal keys together.
pub(super) fn add_up<K: Ord + Copy, N: SaturatingAdd>(parts: &mut Vec<(K, N)>) {
    parts.sort_unstable_by_key(|(key, _)| *key);
    parts.dedup_by(|next, sum| {
        let same = next.0 == sum.0;
        if same {
            sum.1 = sum.1.saturating_add(&next.1);
        }
        same
    });
}

impl<V: Verdict> Stage for AtItems<V> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (route, packed) in unrouted(&batch)? {
            if self.routes.is_next(route)? {
                self.end_route()?;
            }
            unpack_weights(packed, &mut self.weights)?;
        }
        self.ready(PACKED_BYTES)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.end_route()?;
        self.verdict.finish(&mut self.packed);
        self.ready(0)
    }
}
