//! What the greedy mechanisms share: by what users put their items in order.

use serde::{Deserialize, Serialize};

/// Which of its items a user fills first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FillingOrder {
    /// Those of which it has the most rows.
    #[default]
    Counts,
    /// Those that a public table prefers.
    Prior,
}
