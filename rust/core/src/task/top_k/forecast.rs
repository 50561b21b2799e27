//! A forecast without data: how much an answer can lose.

use dpsel_exact::Result;
use dpsel_exact::numeric::Interval;

use super::request::TopKRequest;

/// An upper bound of the loss of an answer among `items` items. It holds with `probability`. Mechanisms without such a
/// bound give `None`.
///
/// The loss is in users: at each place, the true count of that place minus the count of the item there. The bound holds
/// for all places at once.
///
/// - Joint mechanisms: there are at most N = d! / (d - k)! sequences, or N = d! / (k! (d - k)!) sets. The best one has
///   weight 1, one of loss x at most e^-(rate x). So the loss exceeds x with probability at most N e^-(rate x).
/// - Peeling: each pick exceeds x with probability at most d e^-(rate x), also with permute-and-flip.
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
