//! Settled contributions become the weights of one round, added up within the task and routed by item.

use arrow_array::RecordBatch;

use super::Stage;
use super::at_items::add_up;
use super::census::can_release;
use super::known::Known;
use super::packing::push_weight;
use super::routing::{Routed, Routes, unrouted};
use super::settle::{Settled, Written};
use crate::Result;
use crate::accounting::L0Bound;
use crate::numeric::widths::{clipped, index};
use crate::random::{Digest, Words};
use crate::rounds::{Decider, Round};

/// Weights added up before they are sent. The more there are, the fewer move.
const HELD: usize = 1 << 22;
/// A packed value of more bytes ends.
const PACKED_BYTES: usize = 1 << 22;

/// See the module.
#[derive(Debug)]
pub struct Weigh {
    routes: Routes,
    bound: u32,
    /// What earlier rounds released.
    gone: Known,
    rule: Decider,
    words: Words,
    weights: Weights,
    sums: Vec<(Digest, u64)>,
}

impl Weigh {
    pub(super) fn new(
        routes: Routes,
        bound: L0Bound,
        round: &Round,
        rule: Decider,
        words: Words,
        gone: Known,
    ) -> Self {
        let weights = Weights::new(round);
        Self { routes, bound: bound.get(), gone, rule, words, weights, sums: Vec::new() }
    }

    /// Add the weights of items that the round can release.
    fn weigh(&mut self, packed: &[u8]) -> Result<()> {
        let settled = Settled::unpack(packed)?;
        let gone: Vec<bool> = settled.dictionary.iter().map(|(item, _)| self.gone.contains(*item)).collect();
        let mut sums = vec![0_u64; gone.len()];
        let (bound, weights) = (u64::from(self.bound), &mut self.weights);
        settled.each_user(self.bound, |items, written| {
            let left = items - written.iter().filter(|item| gone[item.place]).count() as u64;
            let weight = weights.of(left.min(bound));
            let mut gone_before = 0;
            for &Written { place, rank } in written {
                if gone[place] {
                    gone_before += 1;
                } else if rank - gone_before < bound {
                    sums[place] = sums[place].saturating_add(weight);
                }
            }
        })?;
        self.keep_possible(&settled.dictionary, &sums);
        Ok(())
    }

    fn keep_possible(&mut self, dictionary: &[(Digest, u32)], sums: &[u64]) {
        let digests: Vec<Digest> = dictionary.iter().map(|(item, _)| *item).collect();
        let mut drawn = vec![0; digests.len()];
        self.words.fill(&digests, &mut drawn);
        for ((&(item, users), &sum), word) in dictionary.iter().zip(sums).zip(drawn) {
            if sum > 0 && (users == 0 || can_release(&self.rule, users, word)) {
                self.sums.push((item, sum));
            }
        }
    }

    fn send(&mut self) -> Result<Vec<RecordBatch>> {
        add_up(&mut self.sums);
        pack(std::mem::take(&mut self.sums), self.routes).into_batches()
    }
}

impl Stage for Weigh {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (_, packed) in unrouted(&batch)? {
            self.weigh(packed)?;
            if self.sums.len() >= HELD {
                add_up(&mut self.sums);
            }
        }
        if self.sums.len() < HELD / 2 { Ok(Vec::new()) } else { self.send() }
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.send()
    }
}

/// What a user gives to each of k items, as far as it was asked for.
#[derive(Debug)]
struct Weights {
    round: Round,
    known: Vec<u64>,
}

impl Weights {
    fn new(round: &Round) -> Self {
        Self { round: round.clone(), known: Vec::new() }
    }

    fn of(&mut self, items: u64) -> u64 {
        let at = index(items);
        for k in self.known.len()..=at {
            // Users of more items give less to each.
            let k = clipped(k);
            self.known.push(self.round.weighting.weight_in_quanta(k, self.round.rule.quantum()));
        }
        self.known[at]
    }
}

/// All items, those of a route together.
pub(super) fn pack(weighed: Vec<(Digest, u64)>, routes: Routes) -> Routed {
    let with_route = weighed.into_iter().map(|(item, weight)| (routes.of(item), item, weight));
    let mut order: Vec<(i32, Digest, u64)> = with_route.collect();
    order.sort_unstable_by_key(|(route, ..)| *route);
    let mut made = Routed::default();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let mut packed = Vec::new();
        for &(route, item, weight) in group {
            push_weight(item, weight, &mut packed);
            if packed.len() >= PACKED_BYTES {
                made.push(route, std::mem::take(&mut packed));
            }
        }
        made.push(group[0].0, packed);
    }
    made
}
