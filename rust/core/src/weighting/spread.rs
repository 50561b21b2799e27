//! How one user spreads its weight in a scored round: by the importance of its items, with a norm for the round and a
//! cap on what one item gets over all rounds.

/// The largest importance of an item; an abandoned item has the importance 0.
pub const FULL_IMPORTANCE: u16 = 256;

/// The square of an importance.
#[inline]
pub(crate) fn square(importance: u16) -> u64 {
    u64::from(importance) * u64::from(importance)
}

/// The shares of all scored rounds add up to this.
pub const SHARES: u32 = 1 << 20;

/// The number of fractional bits that a user's scale has in addition to the bits of a weight.
const SCALE_BITS: u32 = 10;

/// The largest norm of a user over all rounds, in grid steps: two units.
pub(crate) const LARGEST_NORM: u64 = 1 << 31;

/// The bits of the counts in which a [`Drift`] measures a cap.
const DRIFT_BITS: u32 = 15;

/// What a user gave to one item so far, in steps of [`Allowance::step_bits`]. It is rounded up in every round.
pub(crate) type Drift = u16;

/// What a user may give over all scored rounds, in grid steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Allowance {
    /// The norm of the round t is its share of this.
    norm: u32,
    /// The most that one item gets, over all rounds.
    cap: u32,
}

impl Allowance {
    /// The allowance of this norm and cap.
    pub(crate) fn new(norm: u64, cap: u64) -> Self {
        Self { norm: norm.min(LARGEST_NORM) as u32, cap: cap.min(LARGEST_NORM) as u32 }
    }

    /// Whether the cap can limit a weight. Where it cannot, drifts need not be known: the norms of the rounds add up to
    /// at most the norm, and no weight exceeds the norm of its round.
    pub(crate) fn binds(self) -> bool {
        self.cap < self.norm
    }

    /// A drift counts in steps of 2^this grid steps, so that the cap has at most 2^15 of them.
    fn step_bits(self) -> u32 {
        (u32::BITS - self.cap.leading_zeros()).saturating_sub(DRIFT_BITS)
    }

    /// The part of the allowance for a round of this share, at most [`SHARES`].
    pub(crate) fn in_round(self, share: u32) -> RoundAllowance {
        let norm = (u64::from(self.norm) * u64::from(share.min(SHARES))) >> SHARES.ilog2();
        if self.binds() {
            let step_bits = self.step_bits();
            RoundAllowance { norm, cap: self.cap, step_bits, below_step: (1 << step_bits) - 1 }
        } else {
            RoundAllowance { norm, ..RoundAllowance::NOTHING }
        }
    }
}

/// A place without an allowance.
const NO_ALLOWANCE: u8 = u8::MAX;

/// The allowances of users by their number of items.
#[derive(Debug, Clone, Default)]
pub struct Allowances(Vec<(u32, Allowance)>);

impl Allowances {
    /// Each allowance is for users of at most this number of items, in ascending order.
    pub(crate) fn new(sizes: Vec<(u32, Allowance)>) -> Self {
        Self(sizes)
    }

    /// The place of the allowance of a user of `items` items. Beyond the last size there is none: such a user gives nothing.
    pub(crate) fn place(&self, items: usize) -> usize {
        self.0.partition_point(|(most, _)| (*most as usize) < items)
    }

    /// The same in a byte. Of places beyond a byte there is no allowance, so the user gives nothing.
    pub(crate) fn short_place(&self, items: usize) -> u8 {
        u8::try_from(self.place(items)).unwrap_or(NO_ALLOWANCE) // Otherwise: beyond a byte.
    }

    /// Whether a user whose allowance is at a place may give something.
    pub(crate) fn has(&self, place: u8) -> bool {
        usize::from(place) < self.0.len().min(NO_ALLOWANCE.into())
    }

    /// Whether the cap of the allowance at a place can limit a weight.
    pub(crate) fn binds(&self, place: usize) -> bool {
        self.0.get(place).is_some_and(|(_, allowance)| allowance.binds())
    }

    /// The allowances at all places of a byte, for a round of this share.
    pub(crate) fn in_round(&self, share: u32) -> Vec<RoundAllowance> {
        self.0.iter().take(NO_ALLOWANCE.into()).map(|(_, allowance)| allowance.in_round(share)).collect()
    }
}

/// A [`Allowance`] in one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundAllowance {
    norm: u64,
    cap: u32,
    /// A drift counts in steps of 2^this. Where the cap does not bind it is [`UNBOUND`]: no weight makes a step, a drift
    /// stays 0, and the cap is above all weights.
    step_bits: u32,
    /// One grid step less than such a step, or 0 where the cap does not bind.
    below_step: u32,
}

/// The bits of a step that no weight reaches.
const UNBOUND: u32 = u64::BITS - 1;

impl RoundAllowance {
    /// Of a user who gives nothing, and whose cap does not bind.
    pub(crate) const NOTHING: Self = Self { norm: 0, cap: u32::MAX, step_bits: UNBOUND, below_step: 0 };

    /// The spread of a user whose squared importances add up to `squares`.
    #[inline]
    pub(crate) fn spread(&self, squares: u64) -> Spread {
        let Self { norm, cap, step_bits, below_step } = *self;
        Spread { scale_and_step: scale(squares, norm) | u64::from(step_bits) << STEP_AT, cap, below_step }
    }
}

/// The weights of one user in one round. It has 16 bytes, because those of many users are read in no order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    /// The scale, and from the bit [`STEP_AT`] on the bits of a drift's step.
    scale_and_step: u64,
    /// The most that one item gets over all rounds.
    cap: u32,
    below_step: u32,
}

/// A scale has at most 42 bits. What stands here is beyond the 32 bits of a weight after the shift.
const STEP_AT: u32 = 44;
const _: () = assert!(STEP_AT >= u32::BITS + SCALE_BITS && size_of::<Spread>() == 16);

impl Spread {
    /// The weight of an item by its importance alone, where the cap does not bind. At most the norm of a user.
    ///
    /// # Contract
    /// The importance is one of those whose squares the spread was made of.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the bits beyond are those of the step")]
    pub(crate) fn uncapped(&self, importance: u16) -> u32 {
        // As `weight_at`, whose result is at most 2^31 by the contract. The product with the step stands above it, and has
        // no more than 64 bits. So nothing wraps; to say so spares a check.
        (u64::from(importance).wrapping_mul(self.scale_and_step) >> SCALE_BITS) as u32
    }

    /// The weight of an item that got `drift` in the earlier rounds; it is added to `drift`.
    ///
    /// # Contract
    /// Over all rounds the weights add up to at most the cap. The importance is as in [`Self::uncapped`].
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most the cap, which has 2^15 steps")]
    pub(crate) fn weight(&self, importance: u16, drift: &mut Drift) -> u32 {
        // At most 63, and a drift has at most 2^15 steps: nothing wraps or saturates below, and to say so spares checks.
        let step_bits = (self.scale_and_step >> STEP_AT) as u32;
        let given = u64::from(*drift).wrapping_shl(step_bits);
        let left = u64::from(self.cap).saturating_sub(given);
        let weight = u64::from(self.uncapped(importance)).min(left);
        let steps = (weight + u64::from(self.below_step)).wrapping_shr(step_bits);
        *drift = drift.saturating_add(steps as Drift);
        weight as u32
    }
}

/// The quotient in [`scale`] is below 2^42. Four operations round it, each by at most 2^-53 of it. So the error of the
/// quotient is below 1/256.
const MARGIN: f64 = 1.0 / 256.0;

/// floor(2^10 `norm` / sqrt(`squares`)) with `squares` the sum of a user's squared importances; 0 if that is 0.
///
/// `norm` is at most [`LARGEST_NORM`].
#[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 2^41")]
pub(crate) fn scale(squares: u64, norm: u64) -> u64 {
    if squares == 0 {
        // Without importances there are no weights to scale.
        return 0;
    }
    let whole = norm << SCALE_BITS;
    let is_within = |scale: u64| {
        let square = u128::from(scale) * u128::from(scale);
        square * u128::from(squares) <= u128::from(whole) * u128::from(whole)
    };
    // With signs: a signed integer becomes a float, and a float one, in one instruction.
    let quotient = whole.cast_signed() as f64 / (squares.cast_signed() as f64).sqrt();
    let floor = quotient as i64;
    if (MARGIN..1.0 - MARGIN).contains(&(quotient - floor as f64)) {
        return floor.cast_unsigned();
    }
    let floor = floor.cast_unsigned();
    // So close to an integer the result is the first of three numbers that is within the norm.
    let mut scale = floor + 1;
    while !is_within(scale) {
        scale -= 1;
    }
    scale
}

/// floor(importance scale / 2^10).
///
/// # Contract
/// With [`scale`] the squares of a user's weights add up to at most the square of the norm: each weight is at most
/// norm importance / sqrt(`squares`).
#[inline]
pub(crate) fn weight_at(importance: u64, scale: u64) -> u64 {
    (importance * scale) >> SCALE_BITS
}

#[cfg(test)]
mod tests {
    use dpsel_exact::numeric::UNIT;
    use proptest::prelude::*;

    use super::*;
    use crate::weighting::Weighting;

    /// Shares of rounds that add up to [`SHARES`].
    fn shares(rounds: u32) -> Vec<u32> {
        (0..rounds).map(|t| SHARES * (t + 1) / rounds - SHARES * t / rounds).collect()
    }

    proptest! {
        /// A sequence of rounds of any importances: the norm of every round, and the cap over all of them.
        #[test]
        fn no_user_exceeds_its_norms_or_its_cap(
            rounds in prop::collection::vec(prop::collection::vec(0_u16..=256, 7), 1..40),
            norm in 1..=LARGEST_NORM, part in 0.0..1.2_f64,
        ) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            let cap = (norm as f64 * part) as u64;
            let allowance = Allowance::new(norm, cap);
            let (mut drifts, mut given) = ([0; 7], [0_u64; 7]);
            let shares = shares(u32::try_from(rounds.len()).unwrap());
            for (importances, share) in rounds.iter().zip(shares) {
                let squares = importances.iter().map(|x| u64::from(*x).pow(2)).sum();
                let in_round = allowance.in_round(share);
                let spread = in_round.spread(squares);
                let mut square = 0;
                for (importance, (drift, given)) in importances.iter().zip(drifts.iter_mut().zip(&mut given)) {
                    let weight = spread.weight(*importance, drift);
                    *given += u64::from(weight);
                    square += u128::from(weight).pow(2);
                }
                // (norm share / SHARES)^2, as integers.
                prop_assert!(square << 40 <= (u128::from(norm) * u128::from(share)).pow(2));
            }
            prop_assert!(given.iter().all(|given| *given <= cap.min(norm)));
        }

        /// Weights and drifts by their definition, in wide integers.
        #[test]
        fn weights_are_those_of_the_definition(
            others in 0_u64..1 << 20, importance in 0_u16..=256, drift in 0..1_u16 << 15,
            norm in 0..=LARGEST_NORM, cap in 0..=LARGEST_NORM, share in 0..=SHARES,
        ) {
            let allowance = Allowance::new(norm, cap);
            let squares = others + square(importance);
            let whole = (u128::from(norm) * u128::from(share)) >> 20;
            let scale = ((whole << SCALE_BITS).pow(2)).checked_div(squares.into()).unwrap_or(0).isqrt();
            let uncapped = (u128::from(importance) * scale) >> SCALE_BITS;
            let step = if allowance.binds() { 1 << allowance.step_bits() } else { 0_u128 };
            let drift = if allowance.binds() { drift } else { 0 };
            let left = if allowance.binds() { u128::from(cap) } else { u128::MAX };
            let weight = uncapped.min(left.saturating_sub(u128::from(drift) * step));
            let after = u128::from(drift) + if step > 0 { weight.div_ceil(step) } else { 0 };
            let (spread, mut found) = (allowance.in_round(share).spread(squares), drift);
            prop_assert_eq!(u128::from(spread.weight(importance, &mut found)), weight);
            prop_assert_eq!(u128::from(found), after);
            prop_assert_eq!(u128::from(spread.uncapped(importance)), uncapped);
        }

        #[test]
        fn scales_are_the_exact_floors(squares in 1..=1_u64 << 40, norm in 1..=LARGEST_NORM) {
            let exact = ((u128::from(norm) << SCALE_BITS).pow(2) / u128::from(squares)).isqrt();
            prop_assert_eq!(u128::from(scale(squares, norm)), exact);
        }

        /// Quotients so close below an integer that arithmetic of 64 bits takes them for it, and integers.
        #[test]
        fn scales_near_integers_are_exact(quotient in 1..=1_u64 << 20, bits in 1_u32..32, less in 0..3_u64) {
            let (squares, whole) = ((1_u64 << (2 * bits)) - 1 + less, quotient << bits);
            let norm = (whole >> SCALE_BITS).clamp(1, LARGEST_NORM);
            let exact = ((u128::from(norm) << SCALE_BITS).pow(2) / u128::from(squares)).isqrt();
            prop_assert_eq!(u128::from(scale(squares, norm)), exact);
        }

        #[test]
        fn equal_importances_give_nearly_equal_shares(k in 1_u32..100_000, importance in 1_u64..=256) {
            let weight = weight_at(importance, scale(u64::from(k) * importance * importance, UNIT));
            let equal = Weighting::EqualL2.weight(k);
            prop_assert!(weight <= equal && equal - weight <= 1 + importance);
        }

        /// What is lost to the rounding of drifts is little: the whole cap is used up to one step for each round.
        #[test]
        fn a_cap_is_used_up(cap in 1_u64 << 20..UNIT, rounds in 1_u32..60) {
            let allowance = Allowance::new(LARGEST_NORM, cap);
            let mut drift = 0;
            let given: u64 = shares(rounds)
                .into_iter()
                .map(|share| allowance.in_round(share).spread(256 * 256).weight(256, &mut drift))
                .map(u64::from)
                .sum();
            prop_assert!(given <= cap && cap - given <= u64::from(rounds) * (cap >> 13));
        }
    }

    #[test]
    fn a_user_without_importances_gives_nothing() {
        assert_eq!(weight_at(0, scale(0, UNIT)), 0);
        assert_eq!(weight_at(1, scale(1, UNIT)), UNIT);
        assert_eq!(scale(7, 0), 0);
    }
}
