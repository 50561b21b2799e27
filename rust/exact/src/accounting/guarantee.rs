//! The guarantee of a mechanism, in words.

use serde::Serialize;

/// The guarantee of a mechanism, and the place of its proof (law 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Guarantee {
    /// The theorem in one sentence.
    pub statement: &'static str,
    /// Always "add or remove one user" today.
    pub neighbours: &'static str,
    /// Paper and theorem.
    pub source: &'static str,
    /// The page with the proof.
    pub proof: &'static str,
}
