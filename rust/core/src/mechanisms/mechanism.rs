//! The interface of every mechanism. No method reads data.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_rows::contributions::ItemOrder;
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::rounds::Calibration;

/// A mechanism of partition selection: it turns a budget into the numbers of its rounds.
pub trait Mechanism {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::InvalidParameter`] or [`dpsel_exact::Error::Incompatible`].
    fn validate(&self) -> Result<()>;

    /// Weighting, noise and threshold of every round, meeting `privacy` for users who keep at most `bound` items.
    ///
    /// # Contract
    /// Running the rounds in order, each on the items that earlier rounds did not release, satisfies
    /// `privacy` for adding or removing one user. Scales and thresholds are rounded up.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Incompatible`] if the mechanism has no guarantee of that kind,
    /// [`dpsel_exact::Error::Calibration`] if no finite scale or threshold meets it.
    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration>;

    /// As [`Mechanism::calibrate`], for rounds and numbers about what they release.
    ///
    /// A mechanism without a theorem for both gives them budgets that add up, by `apart`.
    ///
    /// # Contract
    /// Rounds and numbers together satisfy `privacy`, with contributions of each user within the norms of `asked`, and the
    /// noise that the calibration has for numbers.
    ///
    /// # Errors
    /// As [`Mechanism::calibrate`]; [`dpsel_exact::Error::Incompatible`] under pure DP.
    fn calibrate_beside(&self, privacy: Privacy, bound: L0Bound, asked: &NumbersAsked)
    -> Result<Calibration>;

    /// The guarantee in words: theorem, source and neighbouring relation.
    fn guarantee(&self) -> Guarantee;

    /// The properties of the mechanism. There is no default: every mechanism states all of them.
    fn properties(&self) -> Properties;
}

/// Answers of a mechanism with its parameters. Every field is named where one is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// The noisy weights of released items, which `with_weights` may publish.
    pub noisy_weights: NoisyWeights,
    /// The order in which a user's items are filled, if the mechanism fills them one by one.
    pub item_order: Option<ItemOrder>,
    /// How many times `max_items_per_user` items a user keeps. The bound of a calibration is that product.
    pub reach: u32,
    /// Whether it looks at the data before it chooses another mechanism.
    pub looks: bool,
    /// Why the mechanism guarantees nothing, if so. `dpsel check` reports it.
    pub flaw: Option<&'static str>,
}

/// What `with_weights` may publish of a released item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoisyWeights {
    /// Nothing: items are decided without noise on their weights.
    Absent,
    /// The noisy weight of the round that releases the item. Otherwise noise is only compared with a threshold, so its
    /// finite precision costs more if it is published.
    OfRound,
    /// The cumulative score of all rounds. The calibration pays for the finite precision of all noisy weights, published
    /// or not.
    Score,
}

/// How a mechanism on weights of L1 or L2 norm 1 decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseStep {
    /// Noise and a threshold.
    #[default]
    Noise,
    /// A release curve: more items, no noisy weights.
    Curve,
}

impl ReleaseStep {
    /// The noisy weights of a mechanism that decides like this.
    pub(in crate::mechanisms) fn noisy_weights(self) -> NoisyWeights {
        match self {
            Self::Noise => NoisyWeights::OfRound,
            Self::Curve => NoisyWeights::Absent,
        }
    }
}
