//! A top-k from counts, and from rows that are counted by the same ingest as everywhere.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, UInt32Array};

use super::top_k_report::TopKReport;
use super::top_k_request::{COUNT_COLUMN, Domain, PublishedCounts, RANK_COLUMN, TopKRequest, too_few};
use crate::accounting::L0Bound;
use crate::bounding::BoundedContributions;
use crate::contributions::{self, Contributions, ItemCode, Vocabulary};
use crate::ingest::{ListedTypes, PublicList, Source, sorted};
use crate::random::{Coins, Digest, Purpose, ReleaseKey};
use crate::release::with_column;
use crate::rounds::select_rounds;
use crate::runtime::{Control, PHASES};
use crate::top_k::{Counts, Pick, Place, gaussian, laplace};
use crate::{Error, Result};

/// What leaves the crate: the items, freshly built, and the report.
#[derive(Debug, Clone)]
pub struct TopKRelease {
    /// The items in order of rank, or, without an order, of their own values.
    pub items: RecordBatch,
    /// Parameters and calibrated values; no data.
    pub report: TopKReport,
}

/// Draw from counts: where each item is, and its noisy count if asked for.
///
/// # Errors
/// [`Error::InvalidParameter`] for more items than there are; [`Error::Data`] for counts out of range.
pub fn draw(counts: Counts<'_>, report: &TopKReport, key: &ReleaseKey) -> Result<Vec<Pick>> {
    let counts = counts.validate()?;
    let (request, mechanism) = (&report.top_k, report.top_k.mechanism.as_mechanism());
    check_size(request, counts.items())?;
    let k = usize::try_from(request.k).map_err(|_| too_few(request.k, counts.items(), "the list"))?;
    let mut picks = mechanism.select(counts, k, &report.calibration, key);
    match request.counts {
        PublishedCounts::None => picks.iter_mut().for_each(|pick| pick.noisy = None),
        PublishedCounts::Free => {}
        PublishedCounts::Laplace { .. } | PublishedCounts::Noise { .. } => {
            add_noise(&mut picks, counts, report, key)?;
        }
    }
    Ok(picks)
}

/// A public list has to have as many items as are asked for.
pub(crate) fn check_size(request: &TopKRequest, items: u64) -> Result<()> {
    if !request.mechanism.as_mechanism().finds_domain() && u64::from(request.k) > items {
        return Err(too_few(request.k, items, "the list"));
    }
    Ok(())
}

/// Noise on the counts of the answer, in its order.
fn add_noise(picks: &mut [Pick], counts: Counts<'_>, report: &TopKReport, key: &ReleaseKey) -> Result<()> {
    let mut coins = Coins::new(key, Purpose::TopKCounts, 0);
    let calibration = &report.calibration;
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

/// The answer from a vector of counts, whose items are known by position; the others of a sized domain come as `None`.
/// Without an order they are sorted by position.
///
/// # Errors
/// As [`draw`].
#[expect(clippy::type_complexity, reason = "a position and a noisy count for each item")]
pub fn top_k_from_counts(
    counts: &[i64],
    request: &TopKRequest,
    key: &ReleaseKey,
) -> Result<(Vec<(Option<usize>, Option<i64>)>, TopKReport)> {
    let report = TopKReport::new(request.clone(), key)?;
    let unseen = match request.domain {
        Domain::Sized { items } => items.checked_sub(counts.len() as u64).ok_or_else(|| {
            let fix = "it counts all items, also those that nobody holds";
            Error::parameter("domain", "at least the number of counts", items, fix)
        })?,
        Domain::Listed | Domain::Unknown => 0,
    };
    if unseen > 0 && request.mechanism.as_mechanism().needs_every_count() {
        return Err(Error::Incompatible {
            what: "this mechanism draws noise for every item, but domain= speaks of more items than there are counts".into(),
            fix: "list the counts of all items, zeros too, or use Joint or JointSet",
        });
    }
    let picks = draw(Counts { counts, digests: None, unseen }, &report, key)?;
    let mut items: Vec<(Option<usize>, Option<i64>)> = picks
        .into_iter()
        .map(|pick| match pick.place {
            Place::Listed(position) => (Some(position), pick.noisy),
            Place::Unseen => (None, pick.noisy),
        })
        .collect();
    if !request.mechanism.as_mechanism().is_ordered() {
        items.sort_unstable_by_key(|(position, noisy)| (position.is_none(), *position, *noisy));
    }
    Ok((items, report))
}

/// The answer from rows. `domain` has a row for each item of a public list; other items do not matter then. The answer has
/// the declared types of the rows, or where they have none those of the list.
///
/// # Errors
/// See [`crate::Error`].
pub fn top_k_from_rows(
    source: Source,
    domain: Option<&PublicList>,
    request: &TopKRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<TopKRelease> {
    let report = TopKReport::new(request.clone(), key)?;
    let Some(columns) = &request.columns else { return Err(Error::Internal("no columns were named")) };
    if let Domain::Sized { .. } = request.domain {
        return Err(Error::Incompatible {
            what: "from rows, domain= cannot be a number".into(),
            fix: "list the public items; those found in rows are secret",
        });
    }
    let rounds = report.calibration.discovery.as_ref().map_or(0, |discovery| discovery.rounds.len());
    // A public list is grouped too.
    control.plan(PHASES + rounds + usize::from(domain.is_some()));
    let (contributions, domain) = contributions::read_with_list(source, domain, columns, key, control)?;
    if report.calibration.discovery.is_some() {
        return discover(contributions, report, key, control);
    }
    let bound = request.max_items_per_user;
    let Some((domain, types)) = domain else {
        let counted = Counted::new(contributions, bound, None, key, control)?;
        return counted.items(None).publish(&counted.vocabulary, &ListedTypes::default(), report, key);
    };
    let listed = contributions::read(domain, columns, None, key, control)?;
    let digests = listed.vocabulary.digests();
    let named: HashSet<Digest> = held_items(&listed).into_iter().map(|item| digests.get(item)).collect();
    let is_listed = |item: Digest| named.contains(&item);
    let counted = Counted::new(contributions, bound, Some(&is_listed), key, control)?;
    counted.items(Some(&listed)).publish(&listed.vocabulary, &types, report, key)
}

/// Partition selection, then a top-k of what it released.
fn discover(
    contributions: Contributions,
    report: TopKReport,
    key: &ReleaseKey,
    control: &Control,
) -> Result<TopKRelease> {
    let counts = count(&contributions);
    let (Some(bound), Some(rounds)) = (report.top_k.max_items_per_user, &report.calibration.discovery) else {
        return Err(Error::Internal("a discovery without a bound"));
    };
    let bounded = BoundedContributions::new(contributions, bound, key, control)?;
    let selected = select_rounds(bounded, rounds, false, key, control)?;
    let items: Vec<(ItemCode, i64)> =
        selected.items.iter().map(|(item, _)| (*item, counts[item.index()])).collect();
    Items::new(items, selected.vocabulary()).publish(
        selected.vocabulary(),
        &ListedTypes::default(),
        report,
        key,
    )
}

/// How many users hold each code.
fn count(contributions: &Contributions) -> Vec<i64> {
    let mut counts = vec![0_i64; contributions.vocabulary.code_bound()];
    for (start, len) in contributions.starts.iter().zip(&contributions.lens) {
        for item in &contributions.items.as_slice()[*start..][..*len as usize] {
            counts[*item as usize] += 1;
        }
    }
    counts
}

/// The rows, counted.
pub(crate) struct Counted {
    /// The number of users of each item code.
    pub(crate) counts: Vec<i64>,
    /// What is known of the codes.
    pub(crate) vocabulary: Vocabulary,
}

impl Counted {
    /// How many users have each item, or keep it under a limit: users of many items choose among the wanted ones, all of them
    /// if nothing says which. Without a limit other items are counted, too.
    ///
    /// # Errors
    /// Interruption.
    pub(crate) fn new(
        mut contributions: Contributions,
        bound: Option<L0Bound>,
        is_wanted: Option<&dyn Fn(Digest) -> bool>,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Self> {
        let Some(bound) = bound else {
            let counts = count(&contributions);
            control.end_phase();
            return Ok(Self { counts, vocabulary: contributions.vocabulary });
        };
        // Before users are bounded, so that they never give a place to an item that cannot be picked.
        if let Some(is_wanted) = is_wanted {
            contributions.retain(is_wanted);
        }
        let bounded = BoundedContributions::new(contributions, bound, key, control)?;
        let mut counts = vec![0_i64; bounded.vocabulary().code_bound()];
        for item in (0..bounded.users()).flat_map(|user| bounded.kept_items(user)) {
            counts[*item as usize] += 1;
        }
        Ok(Self { counts, vocabulary: bounded.into_vocabulary() })
    }

    /// The items that somebody holds, or those of a public list with the number of their holders.
    fn items(&self, listed: Option<&Contributions>) -> Items {
        let held = held(&self.counts);
        let held = held.into_iter().map(|item| (item, self.counts[item.index()]));
        let Some(listed) = listed else { return Items::new(held.collect(), &self.vocabulary) };
        let digests = self.vocabulary.digests();
        let counts: HashMap<Digest, i64> = held.map(|(item, count)| (digests.get(item), count)).collect();
        let digests = listed.vocabulary.digests();
        let named = held_items(listed).into_iter();
        // Otherwise: nobody has the listed item.
        let items = named.map(|item| (item, counts.get(&digests.get(item)).copied().unwrap_or(0))).collect();
        Items::new(items, &listed.vocabulary)
    }
}

/// The items of a table, such as a public list.
pub(crate) fn held_items(contributions: &Contributions) -> Vec<ItemCode> {
    held(&count(contributions))
}

fn held(counts: &[i64]) -> Vec<ItemCode> {
    let held = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    held.map(|(code, _)| ItemCode::from_index(code)).collect()
}

/// Items with their counts, in an order that depends on timing; what is drawn does not.
struct Items {
    codes: Vec<ItemCode>,
    counts: Vec<i64>,
    digests: Vec<Digest>,
}

impl Items {
    fn new(items: Vec<(ItemCode, i64)>, vocabulary: &Vocabulary) -> Self {
        let digests = vocabulary.digests();
        let digests = items.iter().map(|(item, _)| digests.get(*item)).collect();
        let (codes, counts) = items.into_iter().unzip();
        Self { codes, counts, digests }
    }

    /// Draw, and copy what was drawn into fresh columns.
    fn publish(
        &self,
        vocabulary: &Vocabulary,
        types: &ListedTypes,
        report: TopKReport,
        key: &ReleaseKey,
    ) -> Result<TopKRelease> {
        let counts = Counts { counts: &self.counts, digests: Some(&self.digests), unseen: 0 };
        let picks = draw(counts, &report, key)?;
        let places = picks.iter().filter_map(|pick| match pick.place {
            Place::Listed(position) => Some(vocabulary.key(self.codes[position])),
            Place::Unseen => None,
        });
        let noisy = picks.iter().map(|pick| pick.noisy).collect();
        answer(types.restore(vocabulary.schema().decode(places)?)?, noisy, report)
    }
}

/// The answer from fresh columns of what was drawn, in its order, and the noisy count of each.
pub(crate) fn answer(
    mut items: RecordBatch,
    mut noisy: Vec<Option<i64>>,
    report: TopKReport,
) -> Result<TopKRelease> {
    if report.top_k.mechanism.as_mechanism().is_ordered() {
        let last = u32::try_from(items.num_rows()).map_err(|_| Error::Internal("more ranks than 2^32"))?;
        let ranks = UInt32Array::from_iter_values(1..=last);
        items = with_column(&items, RANK_COLUMN, Arc::new(ranks))?;
    } else {
        let (in_order, order) = sorted(&items)?;
        items = in_order;
        noisy = order.iter().map(|i| noisy[*i as usize]).collect();
    }
    if report.top_k.counts != PublishedCounts::None {
        let counts = Int64Array::from_iter_values(noisy.into_iter().flatten());
        items = with_column(&items, COUNT_COLUMN, Arc::new(counts))?;
    }
    Ok(TopKRelease { items, report })
}
