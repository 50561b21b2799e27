//! Packed contributions become sums of what a list covers: users with all, some or none of their items in it, and rows.
//!
//! All items that a user holds are here, also those beyond its bound. So each user is in one class.

use arrow_array::RecordBatch;
use dpsel_core::counting::RestNoise;
use dpsel_exact::Result;
use dpsel_rows::contributions::Contributions;

use super::gather::OnUsers;
use crate::exchange::wire::{ReleasedSet, packed_batch};

/// The stage that sums up what a list covers.
#[derive(Debug)]
pub struct CountRest {
    /// The items of the list.
    pub(crate) listed: ReleasedSet,
    pub(crate) noise: RestNoise,
}

impl OnUsers for CountRest {
    fn run(&self, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let vocabulary = &contributions.vocabulary;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let is_listed: Vec<bool> = digests.iter().map(|item| self.listed.contains(*item)).collect();
        let mut sums = self.noise.sums();
        for held in contributions.items_by_user() {
            // Rows of one item stand side by side.
            let of_item = held.chunk_by(|a, b| a == b);
            sums.add(of_item.map(|rows| (is_listed[rows[0] as usize], rows.len())));
        }
        Ok(vec![packed_batch(&sums.to_bytes().collect::<Vec<u8>>())?])
    }
}
