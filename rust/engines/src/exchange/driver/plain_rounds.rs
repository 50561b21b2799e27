//! Plain rounds are decided on the driver, from the weights that tasks send there.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use zeroize::Zeroize;

use super::job::ExchangeJob;
use crate::exchange::wire::{Decisions, Packed, add_up, push_weight, unpack_weights};

/// The least bytes of a packed weight.
pub(super) const WEIGHT: usize = size_of::<u128>() + 1;

/// The weights of a round that some tasks sent to the driver, and those of more tasks: one weight for each item.
///
/// # Errors
/// [`Error::Internal`](dpsel_exact::Error::Internal) if they are damaged.
pub fn added_up(sent: &Packed, more: &Packed) -> Result<Packed> {
    let bytes = sent.bytes().len() + more.bytes().len();
    // Allocated once each. Growing would leave a copy behind that is not wiped.
    let (mut weights, mut sums) = (Vec::with_capacity(bytes / WEIGHT), Vec::with_capacity(bytes));
    let read = [sent, more].iter().try_for_each(|sent| unpack_weights(sent.bytes(), &mut weights));
    add_up(&mut weights);
    for (item, weight) in &weights {
        push_weight(*item, *weight, &mut sums);
    }
    wipe(&mut weights);
    read.map(|()| sums.into())
}

/// The decisions of a round, counted from 0, on the weights that all tasks sent to the driver.
///
/// # Errors
/// [`Error::Internal`](dpsel_exact::Error::Internal) if they are damaged, or if there is no such round;
/// [`Error::Capacity`](dpsel_exact::Error::Capacity) for more users than noise may be added for.
pub fn decided(job: &ExchangeJob, round: u32, sent: &Packed) -> Result<Packed> {
    let deciding = job.turn(round)?.deciding()?;
    // Allocated once. Growing would leave a copy behind that is not wiped.
    let (mut weights, mut decided) = (Vec::with_capacity(sent.bytes().len() / WEIGHT), Vec::new());
    let read = unpack_weights(sent.bytes(), &mut weights);
    add_up(&mut weights);
    let mut push = |at: usize, noisy| Decisions::push(weights[at].0, noisy, &mut decided);
    let done = read.and_then(|()| deciding.each_released(&weights, &mut push));
    wipe(&mut weights);
    done.map(|()| decided.into())
}

/// Overwrite weights, also those behind the end.
pub(super) fn wipe<N: Clone + Default + Zeroize>(weights: &mut Vec<(Digest, N)>) {
    weights.resize(weights.capacity(), Default::default());
    for (item, weight) in weights {
        item.0.zeroize();
        weight.zeroize();
    }
}
