//! New rows reach the accounts of their users.

use dpsel_exact::random::{CodedWords, Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{Contributions, Digests, ItemCode};

use super::account::Account;
use super::plan::SeriesPlan;
use super::scores::{Item, Scores, SeriesState, Status};
use crate::bounding::Priorities;

/// Stands for no item or user.
const NONE: u32 = u32::MAX;

/// Reads the rows of a table into a state.
struct Arrivals<'a> {
    plan: &'a SeriesPlan,
    contributions: &'a Contributions,
    digests: Digests<'a>,
    priorities: Priorities,
    /// The place of the item of each code, if a user holds it.
    places: Vec<u32>,
    /// Of each item, the last user of whom it is known that it has the pair.
    seen_by: Vec<u32>,
    /// Items up to here are sorted by digest.
    known: usize,
}

/// New pairs join the queues of their users, those of one release in the order of their priorities. Pairs that are known
/// are ignored, and so are users that are forgotten.
///
/// # Errors
/// [`Error::Capacity`] for more items or users than have places.
pub(super) fn arrive(
    state: &mut SeriesState,
    contributions: &Contributions,
    (plan, release): (&SeriesPlan, u32),
    secret: &ReleaseKey,
) -> Result<()> {
    let mut arrivals = Arrivals {
        plan,
        contributions,
        digests: contributions.vocabulary.digests(),
        priorities: Priorities::new(secret),
        places: vec![NONE; contributions.vocabulary.code_bound()],
        seen_by: vec![NONE; state.kept.items.len()],
        known: state.kept.items.len(),
    };
    let SeriesState { kept: Scores { items, accounts, .. }, forgotten, .. } = state;
    let before = accounts.len();
    let mut keyed = CodedWords::default();
    for (user, digest) in contributions.users.iter().enumerate() {
        if forgotten.binary_search(digest).is_ok() {
            continue;
        }
        let known = accounts[..before].binary_search_by_key(digest, |account| account.digest);
        let at = known.unwrap_or_else(|_| {
            accounts.push(Account::new(*digest, plan, release));
            accounts.len() - 1
        });
        let number = u32::try_from(at).ok().filter(|at| *at < NONE).ok_or(full("users"))?;
        let account = &mut accounts[at];
        arrivals.of_user((user, number), account, items, &mut keyed)?;
    }
    Ok(())
}

impl Arrivals<'_> {
    /// The new pairs of one user.
    fn of_user(
        &mut self,
        (user, number): (usize, u32),
        account: &mut Account,
        items: &mut Vec<Item>,
        keyed: &mut CodedWords,
    ) -> Result<()> {
        if account.is_full(self.plan) {
            return Ok(());
        }
        account.items().for_each(|item| self.seen_by[item as usize] = number);
        let mut new = Vec::new();
        for code in self.contributions.items_of(user) {
            let item = self.place(ItemCode(*code), items)?;
            let is_new = std::mem::replace(&mut self.seen_by[item as usize], number) != number;
            if is_new && !items[item as usize].was_out() {
                new.push(item);
            }
        }
        let all = new.len();
        self.priorities.order(account.digest, &mut new, |item| items[item as usize].digest, all, keyed);
        account.queue.extend(new);
        Ok(())
    }

    /// The place of the item of a code.
    fn place(&mut self, code: ItemCode, items: &mut Vec<Item>) -> Result<u32> {
        let place = self.places[code.index()];
        if place != NONE {
            return Ok(place);
        }
        let digest: Digest = self.digests.get(code);
        let found = items[..self.known].binary_search_by_key(&digest, |item| item.digest);
        let place = found.unwrap_or(items.len()); // Otherwise: it is a new one, at the end.
        if place == items.len() {
            let key = self.contributions.vocabulary.key(code).long.map(Into::into);
            items.push(Item { digest, status: Status::InPlay, key, walk: None });
            self.seen_by.push(NONE);
        }
        let place = u32::try_from(place).ok().filter(|place| *place < NONE).ok_or(full("items"))?;
        self.places[code.index()] = place;
        Ok(place)
    }
}

fn full(what: &'static str) -> Error {
    let what = if what == "users" { "users of a series" } else { "items of a series" };
    Error::Capacity { what, limit: NONE.into() }
}
