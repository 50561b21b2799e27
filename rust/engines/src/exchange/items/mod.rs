//! Stages on items: all weights or counts of an item come together here.

mod false_positives;
mod frequent;
mod noisy_counts;
mod sum;
mod total;

pub use false_positives::{FalsePositives, bucket_decisions};
pub use frequent::FrequentItems;
pub use noisy_counts::NoisyCounts;
pub use sum::{OnItems, Sum};
pub use total::Total;
