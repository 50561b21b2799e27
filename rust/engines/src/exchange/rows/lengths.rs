//! Packed contributions become numbers of users by their numbers of distinct items, for a look.

use arrow_array::RecordBatch;
use dpsel_core::look::users_by_size;
use dpsel_exact::Result;
use dpsel_rows::contributions::Contributions;

use super::gather::OnUsers;
use crate::exchange::wire::packed_batch;

/// The stage that counts users by size.
#[derive(Debug, Clone)]
pub struct Lengths {
    /// The classes end with these sizes.
    pub(crate) sizes: Vec<u32>,
}

impl Lengths {
    /// The number of users in each class, from all packed values of the stage.
    pub(crate) fn total(&self, packed: &[u8]) -> Vec<u64> {
        let mut total = vec![0_u64; self.sizes.len() + 1];
        for part in packed.as_chunks().0.chunks(total.len()) {
            for (total, users) in total.iter_mut().zip(part) {
                *total += u64::from_le_bytes(*users);
            }
        }
        total
    }
}

impl OnUsers for Lengths {
    fn run(&self, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let users = users_by_size(&contributions, &self.sizes);
        let packed: Vec<u8> = users.into_iter().flat_map(u64::to_le_bytes).collect();
        Ok(vec![packed_batch(&packed)?])
    }
}
