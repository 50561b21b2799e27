//! What a task asks of an engine. Every task is written once, over these questions.
//!
//! ```text
//! Engine::read -> Held: users_by_size, users_per_item, filled_slots
//!                       released or counted -> ItemFacts: noisy_numbers, rest or users, names
//! ```

use std::fmt;

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::Digest;
use dpsel_rows::contributions::{ItemCode, Later, RowOrder};
use dpsel_rows::ingest::{Columns, NGrams, OpenSource, Source};
use dpsel_rows::runtime::Control;

use super::job::JobSpec;
use super::select::PublicLists;
use crate::counting::{CountNoise, RestNoise, RestSums};
use crate::weighting::{FilledSlots, MatchingSlots};

/// Reads rows, and answers what tasks ask of them.
pub trait Engine {
    /// How the job is observed and controlled.
    fn control(&self) -> &Control;

    /// The source once more, for an engine that may read it a second time.
    ///
    /// # Errors
    /// Those of a list of files.
    fn again(&self, _source: &Source) -> Result<Option<Source>> {
        Ok(None)
    }

    /// Read everything. `again` is what [`Engine::again`] gave.
    ///
    /// # Errors
    /// Those of the source; the limit of memory; an interruption.
    fn read<'e>(
        &'e self,
        source: OpenSource,
        again: Option<Source>,
        plan: &Plan<'e>,
    ) -> Result<Box<dyn Held<'e> + 'e>>;
}

/// What a task will ask, which an engine knows before it reads.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The columns of users and items.
    pub columns: &'a Columns,
    /// The order of the items of each user.
    pub order: &'a RowOrder,
    /// The items of these lists are taken out of the rows, and count only for the numbers of public items.
    pub lists: &'a PublicLists,
    /// Whether rounds find the items. Without rounds users are only counted.
    pub has_rounds: bool,
    /// What is counted of the items that rounds have found.
    pub after: AfterRounds,
    /// Whether the rows have to tell the names of items.
    pub names: bool,
    /// The n-grams that are items, if those inside one stand above it in the rounds.
    pub parts: Option<NGrams>,
    /// The bytes that the job takes beside its rows, if they are in memory.
    pub later: &'a Later<'a>,
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").finish_non_exhaustive()
    }
}

/// What is counted of the items that rounds have found.
#[derive(Debug, Clone, Copy)]
pub enum AfterRounds {
    /// Nothing.
    Nothing,
    /// Their users or rows, with noise, also those of public items; or what the list covers. So many rows of a user and an
    /// item count at most.
    NoisyNumbers(u32),
    /// All of their users, for a draw.
    Users,
}

impl Plan<'_> {
    /// Whether items stand above others.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.parts.is_some() || self.columns.levels.is_some()
    }

    /// The most rows of a user and an item that count, if rows are counted.
    pub(crate) fn counted_rows(&self) -> Option<u32> {
        match self.after {
            AfterRounds::NoisyNumbers(most) => Some(most).filter(|most| *most > 1),
            AfterRounds::Nothing | AfterRounds::Users => None,
        }
    }

    /// How rows are grouped when they are read.
    #[must_use]
    pub fn read_order(&self) -> RowOrder {
        self.counted_rows().map_or_else(|| self.order.clone(), |most| self.order.with_rows(most))
    }
}

/// Items that an engine found, each with a number: a noisy weight in grid steps, or its users.
#[derive(Debug, Default)]
pub struct Found {
    /// Their digests.
    pub digests: Vec<Digest>,
    /// The codes by which the engine knows the items; none on engines that know them by digest.
    pub codes: Vec<ItemCode>,
    /// Their numbers.
    pub numbers: Vec<i64>,
}

impl Found {
    /// Items of an engine that knows them by digest.
    pub fn by_digest(items: impl Iterator<Item = (Digest, i64)>) -> Self {
        let (digests, numbers) = items.unzip();
        Self { digests, codes: Vec::new(), numbers }
    }

    /// The items at these places, in their order.
    #[must_use]
    pub(crate) fn at(&self, places: impl Iterator<Item = usize>) -> Self {
        let mut found = Self::default();
        for place in places {
            found.digests.push(self.digests[place]);
            found.codes.extend(self.codes.get(place)); // Otherwise: the engine has no codes.
            found.numbers.push(self.numbers[place]);
        }
        found
    }
}

/// Which items are counted, where there are no rounds.
#[derive(Debug, Clone, Copy)]
pub enum ToCount<'a> {
    /// All items. An engine may leave out all but so many of the largest counts.
    All(Option<u32>),
    /// These. Users choose among them.
    Listed(&'a [Digest]),
}

/// All rows of a job.
pub trait Held<'e> {
    /// The exact numbers of users by their numbers of items, see [`users_by_size`](crate::look::users_by_size).
    ///
    /// # Errors
    /// Those of the engine.
    fn users_by_size(&self, sizes: &[u32]) -> Result<Vec<u64>>;

    /// What a matching fills where users keep at most so many items, and the rows again.
    ///
    /// # Errors
    /// As [`Held::released`]; [`dpsel_exact::Error::Internal`] beyond memory, where no request asks for it.
    fn filled_slots(
        self: Box<Self>,
        seen: L0Bound,
        slots: MatchingSlots,
    ) -> Result<(FilledSlots, Box<dyn Held<'e> + 'e>)>;

    /// How many items have how many users, as (users, items) in ascending order.
    ///
    /// # Errors
    /// Those of the engine.
    fn users_per_item(self: Box<Self>) -> Result<Vec<(u32, u64)>>;

    /// Run the rounds. The numbers are noisy weights if they are asked for.
    ///
    /// # Errors
    /// Those of the engine; the limit of memory; an interruption.
    fn released(self: Box<Self>, job: &JobSpec) -> Result<(Found, Box<dyn ItemFacts + 'e>)>;

    /// The users of wanted items that somebody holds, or under a bound those who keep the item.
    ///
    /// # Errors
    /// As [`Held::released`].
    fn counted(
        self: Box<Self>,
        job: &JobSpec,
        wanted: ToCount<'_>,
    ) -> Result<(Found, Box<dyn ItemFacts + 'e>)>;
}

/// What an engine still knows when the items are found.
pub trait ItemFacts {
    /// The noisy numbers of users or rows of these items and then of the public ones.
    ///
    /// # Contract
    /// All of them are counted together: a user has one norm for all.
    ///
    /// # Errors
    /// As [`Held::released`].
    fn noisy_numbers(&self, released: &Found, noise: &CountNoise) -> Result<Vec<i64>>;

    /// How many users have all, some or none of their items among these and the public ones, and their rows.
    ///
    /// # Errors
    /// As [`Held::released`].
    fn rest(&self, released: &Found, noise: &RestNoise) -> Result<RestSums>;

    /// The number of users of each of these items.
    ///
    /// # Errors
    /// As [`Held::released`].
    fn users(&self, released: &Found) -> Result<Vec<i64>>;

    /// Fresh columns of these items, in their order.
    ///
    /// # Errors
    /// As for the reading.
    fn names(self: Box<Self>, items: &Found) -> Result<RecordBatch>;
}
