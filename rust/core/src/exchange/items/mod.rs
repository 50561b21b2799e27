//! Stages on items: all weights, counts or messages of an item come together here.

mod decide;
mod false_positives;
mod frequent;
mod noisy_counts;
mod steer;
mod sum;
mod total;

pub use decide::Decide;
pub use false_positives::{FalsePositives, partition_decisions};
pub use frequent::FrequentItems;
pub use noisy_counts::NoisyCounts;
pub use steer::Steer;
pub use sum::{OnItems, Sum};
pub(crate) use sum::{checked_weight, sum_up};
pub use total::Total;
