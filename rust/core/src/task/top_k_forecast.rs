//! What a budget buys, before any data is read: how much an answer can lose.

use super::top_k_request::TopKRequest;
use crate::Result;
use crate::numeric::Interval;

/// A bound of what an answer loses, among `items` items, that holds with `probability`; none if the mechanism has no such
/// bound without data.
///
/// For the joint mechanisms and peeling it is in users: the count of the item at each place is below the true one of that place by
/// no more. There are at most N = d! / (d - k)! sequences (or d! / (k! (d - k)!) sets), each of weight e^-(rate loss) at most
/// beside the best one of weight 1, so the loss exceeds x with probability at most N e^-(rate x). For peeling each pick
/// does so with probability d e^-(rate x), permute-and-flip with no more.
///
/// # Errors
/// As [`TopKRequest::calibrate`].
pub fn loss_bound(request: &TopKRequest, items: u64, probability: f64) -> Result<Option<f64>> {
    let rate = request.calibrate()?.rate;
    let failure = Interval::ONE - Interval::point(probability.clamp(0.0, 1.0));
    let k = u64::from(request.k).min(items);
    let Some(answers) = request.mechanism.as_mechanism().log_answers(items, k) else { return Ok(None) };
    let bound = (answers - failure.ln()) / Interval::point(rate);
    Ok(Some(bound.hi().max(0.0).ceil()).filter(|bound| bound.is_finite()))
}
