//! The draw from counts, which every source of counts shares.

use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::request::{PublishedCounts, TopKRequest, too_few};
use crate::task::calibration::{Calibrated, CalibratedTopK};
use crate::top_k::{Counts, Pick, Place, TopKCalibration, gaussian, laplace};

/// Draw from counts: the place of each item of the answer, and its noisy count if asked for.
///
/// # Errors
/// [`Error::InvalidParameter`] for more items than there are; [`Error::Data`] for counts out of range.
pub(super) fn draw(counts: Counts<'_>, top_k: &CalibratedTopK, key: &ReleaseKey) -> Result<Vec<Pick>> {
    let counts = counts.validate()?;
    let Calibrated { request, calibration, .. } = top_k;
    check_size(request, counts.items())?;
    let k = usize::try_from(request.k).map_err(|_| too_few(request.k, counts.items(), "the list"))?;
    let mut picks = request.mechanism.as_mechanism().select(counts, k, calibration, key);
    match request.counts {
        PublishedCounts::None => picks.iter_mut().for_each(|pick| pick.noisy = None),
        PublishedCounts::Free => {}
        PublishedCounts::Laplace { .. } | PublishedCounts::Noise { .. } => {
            add_noise(&mut picks, counts, calibration, key)?;
        }
    }
    Ok(picks)
}

/// Refuse a public list of fewer items than are asked for.
///
/// # Errors
/// [`Error::Incompatible`] if it has fewer.
pub(super) fn check_size(request: &TopKRequest, items: u64) -> Result<()> {
    if !request.mechanism.as_mechanism().finds_domain() && u64::from(request.k) > items {
        return Err(too_few(request.k, items, "the list"));
    }
    Ok(())
}

/// Add noise to the counts of the answer, in its order.
fn add_noise(
    picks: &mut [Pick],
    counts: Counts<'_>,
    calibration: &TopKCalibration,
    key: &ReleaseKey,
) -> Result<()> {
    let mut coins = Coins::new(key, Purpose::TopKCounts, 0);
    for pick in picks {
        let count = match pick.place {
            Place::Listed(position) => counts.counts[position],
            Place::Unseen => 0,
        };
        let added = match (calibration.counts_rate, calibration.counts_square_rate) {
            (Some(rate), None) => laplace(rate, &mut coins),
            (None, Some(square)) => gaussian(square, &mut coins),
            _ => return Err(Error::Internal("published counts without a kind of noise")),
        };
        let noisy = i128::from(count) + added;
        // Otherwise: cut off at the ends, which looks at the noisy count alone.
        pick.noisy = Some(i64::try_from(noisy).unwrap_or(if noisy < 0 { i64::MIN } else { i64::MAX }));
    }
    Ok(())
}
