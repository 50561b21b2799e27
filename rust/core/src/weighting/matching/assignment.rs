//! Users assigned to slots of items, slot after slot, by augmenting paths.
//!
//! An item is named by its turn here, the place in the order of offers. The slots of an item are interchangeable, so the
//! search goes from item to item. It looks for a holder of the item who is free, or who can leave its item because that
//! item finds another holder, and so on.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::clipped;
use dpsel_rows::runtime::Control;

use super::holders::Holders;
use super::user_number::UserNumber;

/// Stands for no item: the user fills no slot.
const FREE: u32 = u32::MAX;
/// Stands for no user: there is no item before this one.
const NOBODY: u32 = u32::MAX;
/// Users looked at between two checks for an interruption.
const CHECKED: usize = 1 << 20;

/// What a search knows of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Not reached by the current search.
    Open,
    /// Reached by the current search.
    Reached,
    /// No free user can be reached from it, now or later.
    Closed,
}

/// An item that a search has reached.
#[derive(Debug, Clone, Copy)]
struct Step {
    item: u32,
    /// The place in the queue of the item that reached it.
    from: usize,
    /// The user who fills a slot of this item and whom the item before it would take over.
    taken: u32,
}

/// An assignment of users to slots.
#[derive(Debug)]
pub(super) struct Assignment<'a, N> {
    holders: &'a Holders<N>,
    /// The item whose slot each user fills, [`FREE`], or the number after all items if it may fill none.
    filled: Vec<u32>,
    /// Users who are free and keep an item.
    free: usize,
    /// Holders of each item before this place fill a slot. They never become free again.
    next: Vec<u32>,
    marks: Vec<Mark>,
    queue: Vec<Step>,
    /// Users looked at since the last check for an interruption.
    looked: usize,
    control: &'a Control,
}

/// Bytes for each item and for each user.
pub(super) const BYTES: (usize, usize) =
    (size_of::<u32>() + size_of::<Mark>() + size_of::<Step>(), size_of::<u32>());

impl<'a, N: UserNumber> Assignment<'a, N> {
    /// No slot is filled. `free` of the `users` keep an item.
    pub(super) fn new(holders: &'a Holders<N>, users: usize, free: usize, control: &'a Control) -> Self {
        let items = holders.items();
        Self {
            holders,
            filled: vec![FREE; users],
            free,
            next: vec![0; items],
            marks: [vec![Mark::Open; items], vec![Mark::Closed]].concat(),
            queue: Vec::with_capacity(items),
            looked: 0,
            control,
        }
    }

    /// Let a free user who keeps an item fill no slot, as if it filled one of an item that nobody can take over.
    pub(super) fn leave_out(&mut self, user: usize) {
        self.filled[user] = self.nothing();
        self.free -= 1;
    }

    /// The item of each kept slot.
    pub(super) fn into_filled(self) -> Vec<u32> {
        let nothing = self.nothing();
        let mut filled = self.filled;
        filled.retain(|item| *item < nothing);
        filled
    }

    /// The number after those of all items. It stands for no item, and is closed.
    fn nothing(&self) -> u32 {
        clipped(self.holders.items())
    }

    /// Whether every user who keeps an item fills a slot, so that no further slot is kept.
    pub(super) fn is_complete(&self) -> bool {
        self.free == 0
    }

    /// Offer one more slot of an item; returns whether it is kept.
    ///
    /// # Contract
    /// The slot is kept if and only if the assignment can grow by it with all earlier kept slots still filled. Which
    /// users fill them may depend on codes; which slots are kept does not.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn offer(&mut self, item: u32) -> Result<bool> {
        if self.is_complete() || self.marks[item as usize] == Mark::Closed {
            return Ok(false);
        }
        let kept = if let Some(user) = self.free_holder(item) {
            self.filled[user as usize] = item;
            true
        } else {
            self.search(item)?
        };
        if kept {
            self.free -= 1;
        }
        Ok(kept)
    }

    /// A holder of the item who is free.
    #[inline]
    fn free_holder(&mut self, item: u32) -> Option<u32> {
        let users = self.holders.users_of(item);
        let next = &mut self.next[item as usize];
        while let Some(user) = users.get(*next as usize).map(|user| user.get()) {
            if self.filled[user as usize] == FREE {
                return Some(user);
            }
            *next += 1;
        }
        None
    }

    /// Look for an augmenting path from an item without free holders, and move the users along it.
    fn search(&mut self, item: u32) -> Result<bool> {
        self.queue.clear();
        self.reach(Step { item, from: 0, taken: NOBODY });
        let mut at = 0;
        while let Some(&Step { item, .. }) = self.queue.get(at) {
            let users = self.holders.users_of(item);
            for taken in users.iter().map(|user| user.get()) {
                // All holders fill slots, because the item has no free holder.
                let other = self.filled[taken as usize];
                if self.marks[other as usize] != Mark::Open {
                    continue;
                }
                self.reach(Step { item: other, from: at, taken });
                if let Some(user) = self.free_holder(other) {
                    self.augment(user);
                    self.mark_reached(Mark::Open);
                    return Ok(true);
                }
            }
            at += 1;
            self.count(users.len())?;
        }
        self.mark_reached(Mark::Closed);
        Ok(false)
    }

    fn reach(&mut self, step: Step) {
        self.marks[step.item as usize] = Mark::Reached;
        self.queue.push(step);
    }

    fn mark_reached(&mut self, mark: Mark) {
        for step in &self.queue {
            self.marks[step.item as usize] = mark;
        }
    }

    /// Give a slot of the last item of the queue to a free user, the slot that this frees to the item before it, and so
    /// on, up to the first item.
    fn augment(&mut self, mut user: u32) {
        let mut at = self.queue.len() - 1;
        loop {
            let Step { item, from, taken } = self.queue[at];
            self.filled[user as usize] = item;
            if at == 0 {
                return;
            }
            (user, at) = (taken, from);
        }
    }

    /// Check for an interruption after every [`CHECKED`] users.
    fn count(&mut self, users: usize) -> Result<()> {
        self.looked += users;
        if self.looked >= CHECKED {
            self.looked = 0;
            self.control.check()?;
        }
        Ok(())
    }
}
