//! A top-k from rows, which the ingest of every task reads and counts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, UInt32Array};

use super::draw::draw;
use super::request::{COUNT_COLUMN, Domain, PublishedCounts, RANK_COLUMN, TopKRequest};
use crate::accounting::L0Bound;
use crate::bounding::BoundedContributions;
use crate::contributions::{self, Contributions, ItemCode, Keys, Vocabulary};
use crate::ingest::{Columns, ListedTypes, Source, sorted};
use crate::random::{Digest, ReleaseKey};
use crate::release::with_column;
use crate::rounds::{Calibration, Lowered, select_rounds};
use crate::runtime::{Control, PHASES};
use crate::task::calibrated::{Calibrated, CalibratedTopK, Enforced};
use crate::task::report::{Release, Report};
use crate::top_k::{Counts, Place};
use crate::{Error, Result};

/// Reads the rows, counts the users of each item, and draws the answer.
///
/// With a public list other items do not count. The answer has the declared types of the rows, or, where these have
/// none, the types of the list.
///
/// # Errors
/// See [`crate::Error`].
pub fn top_k_from_rows(
    source: Source,
    request: &TopKRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    let calibrated = Calibrated { request: request.clone(), look: None, calibration: request.calibrate()? };
    let report = Report::new(Enforced::TopK(calibrated.clone()), key)?;
    Ok(Release { items: items_of_rows(source, &calibrated, key, control)?, report })
}

fn items_of_rows(
    source: Source,
    top_k: &CalibratedTopK,
    key: &ReleaseKey,
    control: &Control,
) -> Result<RecordBatch> {
    let columns = columns_of_rows(top_k)?;
    let list = top_k.request.listed.as_deref();
    control.plan(phases(top_k), 0);
    let (contributions, list) = contributions::read_with_list(source, list, columns, key, control)?;
    let listed = list
        .map(|(list, types)| Ok((contributions::read(list, &columns.of_list(), None, key, control)?, types)));
    items_of_contributions(contributions, listed.transpose()?.as_ref(), top_k, key, control)
}

/// The columns of a request whose rows are counted, if its list fits it.
///
/// # Errors
/// [`Error::Incompatible`] for a domain that is only a number.
pub(crate) fn columns_of_rows(top_k: &CalibratedTopK) -> Result<&Columns> {
    let request = &top_k.request;
    let Some(columns) = &request.columns else { return Err(Error::Internal("no columns were named")) };
    if let Domain::Sized { .. } = request.domain {
        return Err(Error::Incompatible {
            what: "from rows, domain= cannot be a number".into(),
            fix: "list the public items; those found in rows are secret",
        });
    }
    // Without its list, a mechanism for public items would name those of the data.
    if request.listed.is_some() != (request.domain == Domain::Listed) {
        return Err(Error::Internal("a list of items does not fit the request"));
    }
    Ok(columns)
}

/// The phases after the reading. A public list is grouped too.
pub(crate) fn phases(top_k: &CalibratedTopK) -> usize {
    let rounds = top_k.calibration.discovery.as_ref().map_or(0, |discovery| discovery.rounds.len());
    PHASES + rounds + usize::from(top_k.request.listed.is_some())
}

/// The answer from rows that are in memory. `listed` are the items of a public list, and the types in which they come
/// back.
///
/// # Errors
/// See [`crate::Error`].
pub(crate) fn items_of_contributions(
    contributions: Contributions,
    listed: Option<&(Contributions, ListedTypes)>,
    top_k: &CalibratedTopK,
    key: &ReleaseKey,
    control: &Control,
) -> Result<RecordBatch> {
    let Calibrated { request, calibration, .. } = top_k;
    if let Some(discovery) = &calibration.discovery {
        return discover(contributions, discovery, top_k, key, control);
    }
    let bound = request.max_items_per_user;
    let Some((listed, types)) = listed else {
        let counted = Counted::new(contributions, bound, None, key, control)?;
        return counted.items(None).publish(counted.vocabulary.keys(), &ListedTypes::default(), top_k, key);
    };
    let digests = listed.vocabulary.digests();
    let named: HashSet<Digest> = held_items(listed).into_iter().map(|item| digests.get(item)).collect();
    let is_listed = |item: Digest| named.contains(&item);
    let counted = Counted::new(contributions, bound, Some(&is_listed), key, control)?;
    counted.items(Some(listed)).publish(listed.vocabulary.keys(), types, top_k, key)
}

/// Run a partition selection, then a top-k of the released items.
fn discover(
    contributions: Contributions,
    rounds: &Calibration,
    top_k: &CalibratedTopK,
    key: &ReleaseKey,
    control: &Control,
) -> Result<RecordBatch> {
    let counts = count(&contributions);
    let Some(bound) = top_k.request.max_items_per_user else {
        return Err(Error::Internal("a discovery without a bound"));
    };
    let bounded = BoundedContributions::new(contributions, bound, key, control)?;
    let selected = select_rounds(bounded, rounds, (false, Lowered::NOT), key, control)?;
    let released = selected.items.iter();
    let items = Items {
        codes: released.clone().map(|released| released.item).collect(),
        counts: released.clone().map(|released| counts[released.item.index()]).collect(),
        digests: released.map(|released| released.digest).collect(),
    };
    items.publish(selected.keys(), &ListedTypes::default(), top_k, key)
}

/// The number of users of each code.
fn count(contributions: &Contributions) -> Vec<i64> {
    let mut counts = vec![0_i64; contributions.vocabulary.code_bound()];
    for item in contributions.items_by_user().flatten() {
        counts[*item as usize] += 1;
    }
    counts
}

/// The rows, counted.
pub(crate) struct Counted {
    /// The number of users of each item code.
    pub(crate) counts: Vec<i64>,
    /// The keys and digests of the codes.
    pub(crate) vocabulary: Vocabulary,
}

impl Counted {
    /// Count the users of each item, or, under a limit, the users who keep it.
    ///
    /// Under a limit users choose among the wanted items, or among all items if none are named. Without a limit other
    /// items are counted, too.
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
        Ok(Self { counts, vocabulary: bounded.into_vocabulary().0 })
    }

    /// The items that somebody holds, or the items of a public list, each with its number of users.
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

/// Items with their counts. Their order depends on timing; the draw does not.
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

    /// Draw, and copy the drawn items into fresh columns.
    fn publish(
        &self,
        keys: &Keys,
        types: &ListedTypes,
        top_k: &CalibratedTopK,
        key: &ReleaseKey,
    ) -> Result<RecordBatch> {
        let counts = Counts { counts: &self.counts, digests: Some(&self.digests), unseen: 0 };
        let picks = draw(counts, top_k, key)?;
        let places = picks.iter().filter_map(|pick| match pick.place {
            Place::Listed(position) => Some(keys.key(self.codes[position], self.digests[position])),
            Place::Unseen => None,
        });
        let noisy = picks.iter().map(|pick| pick.noisy).collect();
        answer(types.restore(keys.schema().decode(places, key)?)?, noisy, &top_k.request)
    }
}

/// The answer from fresh columns of the drawn items, in their order, and the noisy count of each.
///
/// An answer with an order has a column of ranks; another one is sorted by its own values (law 5).
///
/// # Errors
/// [`Error::Internal`] for columns that do not fit together.
pub(crate) fn answer(
    mut items: RecordBatch,
    mut noisy: Vec<Option<i64>>,
    request: &TopKRequest,
) -> Result<RecordBatch> {
    if request.mechanism.as_mechanism().is_ordered() {
        let last = u32::try_from(items.num_rows()).map_err(|_| Error::Internal("more ranks than 2^32"))?;
        let ranks = UInt32Array::from_iter_values(1..=last);
        items = with_column(&items, RANK_COLUMN, Arc::new(ranks))?;
    } else {
        let (in_order, order) = sorted(&items)?;
        items = in_order;
        noisy = order.iter().map(|i| noisy[*i as usize]).collect();
    }
    if request.counts != PublishedCounts::None {
        let counts = Int64Array::from_iter_values(noisy.into_iter().flatten());
        items = with_column(&items, COUNT_COLUMN, Arc::new(counts))?;
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Request;

    /// `Joint` would pick from the items that somebody holds, and name an item of one user.
    #[test]
    fn a_list_of_items_goes_with_a_request_for_one() {
        let given = |mechanism: &str, domain: &str| {
            let request = format!(
                r#"{{"task": "top_k", "columns": {{"user": "u", "items": ["i"]}}, "k": 1, {mechanism},
                     "privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}}, "domain": {{"kind": "{domain}"}}}}"#
            );
            let request = Request::from_json(&request).unwrap().into_top_k().unwrap();
            let source = Source::Files(vec![], None);
            top_k_from_rows(source, &request, &ReleaseKey::insecure_test([1; 32]), &Control::default())
        };
        let misfit =
            |given: Result<Release>| matches!(given, Err(Error::Internal(text)) if text.contains("list"));
        assert!(misfit(given(r#""mechanism": {"name": "joint"}"#, "listed")));
        assert!(!misfit(given(r#""mechanism": {"name": "limit_domain"}"#, "unknown")));
    }
}
