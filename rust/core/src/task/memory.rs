//! The engine that has all rows in memory.

use std::collections::HashSet;
use std::fmt;

use arrow_array::RecordBatch;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{self, Contributions, ItemCode, Keys, Lineage, Vocabulary};
use dpsel_rows::ingest::{OpenSource, Source};
use dpsel_rows::runtime::Control;

use super::engine::{AfterRounds, Engine, Found, Held, ItemFacts, Plan, ToCount};
use super::job::JobSpec;
use crate::bounding::BoundedContributions;
use crate::counting::{CountNoise, CountedItem, Holdings, RestNoise, RestSums};
use crate::look::users_by_size;
use crate::rounds::{Lowered, Released, run_rounds};
use crate::weighting::{FilledSlots, MatchingSlots, filled_slots};

const UNCOUNTED: Error = Error::Internal("nothing was kept to be counted");

/// Keeps all rows in memory.
pub(crate) struct MemoryEngine<'a> {
    pub key: &'a ReleaseKey,
    pub control: &'a Control,
}

impl Engine for MemoryEngine<'_> {
    fn control(&self) -> &Control {
        self.control
    }

    fn read<'e>(
        &'e self,
        source: OpenSource,
        _again: Option<Source>,
        plan: &Plan<'e>,
    ) -> Result<Box<dyn Held<'e> + 'e>> {
        let Self { key, control } = *self;
        let contributions = contributions::read_in_order(source, &plan.read_order(), key, control)?;
        Ok(Box::new(MemoryRows::new(contributions, plan, (key, control))?))
    }
}

/// All rows, in memory.
pub struct MemoryRows<'e> {
    contributions: Contributions,
    kept: KeptForCounts,
    key: &'e ReleaseKey,
    control: &'e Control,
}

impl fmt::Debug for MemoryRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRows").finish_non_exhaustive()
    }
}

/// What is counted of the items that rounds release, kept from before the lists and the rounds take items out.
enum KeptForCounts {
    Nothing,
    /// What users hold, and the public items.
    Holdings(Holdings, Vec<CountedItem>),
    /// The number of users of each code.
    Users(Vec<i64>),
}

impl<'e> MemoryRows<'e> {
    /// Rows as they were read: in [`Plan::read_order`].
    ///
    /// # Errors
    /// The limit of memory.
    pub fn new(
        mut contributions: Contributions,
        plan: &Plan<'_>,
        (key, control): (&'e ReleaseKey, &'e Control),
    ) -> Result<Self> {
        plan.lists.remove_excluded_from(&mut contributions);
        let kept = match plan.after {
            AfterRounds::Nothing => KeptForCounts::Nothing,
            AfterRounds::Users => KeptForCounts::Users(users_of_codes(&contributions)),
            AfterRounds::NoisyNumbers(most_rows) => {
                let holdings = Holdings::of(&contributions, most_rows, control)?;
                KeptForCounts::Holdings(holdings, plan.lists.counted(&contributions))
            }
        };
        if plan.counted_rows().is_some() {
            contributions.put_in_order(plan.order);
        }
        plan.lists.remove_from(&mut contributions);
        Ok(Self { contributions, kept, key, control })
    }
}

impl<'e> Held<'e> for MemoryRows<'e> {
    fn users_by_size(&self, sizes: &[u32]) -> Result<Vec<u64>> {
        Ok(users_by_size(&self.contributions, sizes))
    }

    fn filled_slots(
        self: Box<Self>,
        seen: L0Bound,
        slots: MatchingSlots,
    ) -> Result<(FilledSlots, Box<dyn Held<'e> + 'e>)> {
        let Self { contributions, kept, key, control } = *self;
        let bounded = BoundedContributions::new(contributions, seen, key, control)?;
        let found = filled_slots(&bounded, slots, key, control)?;
        control.end_phase();
        Ok((found, Box::new(Self { contributions: bounded.into_contributions(), kept, key, control })))
    }

    fn users_per_item(self: Box<Self>) -> Result<Vec<(u32, u64)>> {
        Ok(self.contributions.users_per_item())
    }

    fn released(self: Box<Self>, job: &JobSpec) -> Result<(Found, Box<dyn ItemFacts + 'e>)> {
        let Self { mut contributions, kept, key, control } = *self;
        if let Some(ngrams) = job.lines_of_ngrams() {
            contributions.find_parts(ngrams, key, control)?;
        }
        let bounded = BoundedContributions::new(contributions, job.kept()?, key, control)?;
        let publication = (job.with_weights, Lowered::to(job.min_users));
        let (items, keys) = run_rounds(bounded, &job.calibration, publication, key, control)?.into_parts();
        let items = with_those_above(items, keys.lineage().filter(|_| job.closes()));
        let each = |released: Released| (released.digest, (released.item, released.weight));
        let (digests, (codes, numbers)) = items.into_iter().map(each).unzip();
        Ok((Found { digests, codes, numbers }, Box::new(MemoryItems { keys, kept, key, control })))
    }

    fn counted(
        self: Box<Self>,
        job: &JobSpec,
        wanted: ToCount<'_>,
    ) -> Result<(Found, Box<dyn ItemFacts + 'e>)> {
        let Self { contributions, kept, key, control } = *self;
        let named: Option<HashSet<Digest>> = match wanted {
            ToCount::All(_) => None,
            ToCount::Listed(items) => Some(items.iter().copied().collect()),
        };
        let is_wanted = |item: Digest| named.as_ref().is_some_and(|named| named.contains(&item));
        let filter: Option<&dyn Fn(Digest) -> bool> = named.is_some().then_some(&is_wanted);
        let (counts, vocabulary) = count(contributions, (job.bound, filter), key, control)?;
        let known = vocabulary.digests();
        let codes = held_codes(&counts);
        let digests = codes.iter().map(|code| known.get(*code)).collect();
        let numbers = codes.iter().map(|code| counts[code.index()]).collect();
        drop(known);
        let (keys, _) = vocabulary.into_keys();
        Ok((Found { digests, codes, numbers }, Box::new(MemoryItems { keys, kept, key, control })))
    }
}

/// Released items, and all items above them: a function of the release. The latter have no noisy weight.
fn with_those_above(mut released: Vec<Released>, lineage: Option<&Lineage>) -> Vec<Released> {
    let above = lineage.map(|lineage| lineage.others_above(released.iter().map(|released| released.item)));
    let each = above.into_iter().flatten();
    released.extend(each.map(|(item, digest)| Released { item, digest, weight: 0 }));
    released
}

/// The keys of items, and what is counted of them.
struct MemoryItems<'e> {
    keys: Keys,
    kept: KeptForCounts,
    key: &'e ReleaseKey,
    control: &'e Control,
}

impl MemoryItems<'_> {
    /// What users hold, and the released and the public items.
    fn published(&self, released: &Found) -> Result<(&Holdings, Vec<CountedItem>)> {
        let KeptForCounts::Holdings(holdings, public) = &self.kept else { return Err(UNCOUNTED) };
        let known = released.digests.iter().zip(&released.codes);
        let known = known.map(|(digest, code)| CountedItem { digest: *digest, code: Some(*code) });
        Ok((holdings, known.chain(public.iter().copied()).collect()))
    }
}

impl ItemFacts for MemoryItems<'_> {
    fn noisy_numbers(&self, released: &Found, noise: &CountNoise) -> Result<Vec<i64>> {
        let (holdings, items) = self.published(released)?;
        holdings.noisy_counts(&items, noise, self.key, self.control)
    }

    fn rest(&self, released: &Found, noise: &RestNoise) -> Result<RestSums> {
        let (holdings, items) = self.published(released)?;
        holdings.rest(&items, noise, self.control)
    }

    fn users(&self, released: &Found) -> Result<Vec<i64>> {
        let KeptForCounts::Users(counts) = &self.kept else { return Err(UNCOUNTED) };
        Ok(released.codes.iter().map(|code| counts[code.index()]).collect())
    }

    fn names(self: Box<Self>, items: &Found) -> Result<RecordBatch> {
        named(&self.keys, items, self.key)
    }
}

/// Fresh columns of items whose keys are known by code, in their order.
///
/// # Errors
/// As [`ItemSchema::decode`](dpsel_rows::ingest::ItemSchema::decode).
pub(super) fn named(keys: &Keys, items: &Found, key: &ReleaseKey) -> Result<RecordBatch> {
    let known = items.codes.iter().zip(&items.digests).map(|(code, digest)| keys.key(*code, *digest));
    keys.schema().decode(known, key)
}

/// The number of users of each code.
fn users_of_codes(contributions: &Contributions) -> Vec<i64> {
    let mut counts = vec![0_i64; contributions.vocabulary.code_bound()];
    for item in contributions.items_by_user().flatten() {
        counts[*item as usize] += 1;
    }
    counts
}

/// The items of a table, such as a public list.
pub(super) fn held_items(contributions: &Contributions) -> Vec<ItemCode> {
    held_codes(&users_of_codes(contributions))
}

fn held_codes(counts: &[i64]) -> Vec<ItemCode> {
    let held = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    held.map(|(code, _)| ItemCode::from_index(code)).collect()
}

/// The number of users of each code, or, under a bound, of the users who keep it.
///
/// Under a bound users choose among the wanted items, or among all items if none are named. Without a bound other items
/// are counted, too.
///
/// # Errors
/// Interruption.
pub fn count(
    mut contributions: Contributions,
    (bound, is_wanted): (Option<L0Bound>, Option<&dyn Fn(Digest) -> bool>),
    key: &ReleaseKey,
    control: &Control,
) -> Result<(Vec<i64>, Vocabulary)> {
    let Some(bound) = bound else {
        let counts = users_of_codes(&contributions);
        control.end_phase();
        return Ok((counts, contributions.vocabulary));
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
    Ok((counts, bounded.into_vocabulary().0))
}
