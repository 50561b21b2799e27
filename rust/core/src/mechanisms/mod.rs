//! The mechanisms: which weighting, noise and threshold each uses, and what it guarantees.
//!
//! A mechanism is one file here, one dataclass in Python, one page in `docs/algorithms/` and one line in the
//! conformance test. It plugs in by implementing [`Mechanism`] and being named in [`MechanismSpec`].

mod count_gaussian;
mod count_laplace;
pub mod forecast;
mod gaussian_part;
mod greedy;
mod greedy_frequency;
mod mad;
mod mad2r;
mod one_item;
mod policy;
mod policy_gaussian;
mod policy_laplace;
mod requirements;
mod sips;
mod steered;
mod unit_greedy;
mod weighted_gaussian;
mod weighted_laplace;

use serde::{Deserialize, Serialize};

pub use count_gaussian::CountGaussian;
pub use count_laplace::CountLaplace;
pub use gaussian_part::GaussianPart;
pub use greedy::FillingOrder;
pub use greedy_frequency::{GreedyCalibration, GreedyFrequency};
pub use mad::Mad;
pub use mad2r::Mad2R;
pub use one_item::OneItem;
pub use policy_gaussian::PolicyGaussian;
pub use policy_laplace::PolicyLaplace;
pub use sips::Sips;
pub use steered::Steered;
pub use unit_greedy::UnitGreedy;
pub use weighted_gaussian::WeightedGaussian;
pub use weighted_laplace::WeightedLaplace;

use crate::Result;
use crate::accounting::{Guarantee, L0Bound, Privacy};
use crate::rounds::Calibration;

/// What every mechanism can do without data: turn a budget into numbers.
pub trait Mechanism {
    /// Weighting, noise and threshold of every round, meeting `privacy` for users of at most `bound` items.
    ///
    /// # Contract
    /// Running the rounds in order, each on the items that earlier rounds did not release, satisfies
    /// `privacy` for adding or removing one user. Scales and thresholds are rounded up.
    ///
    /// # Errors
    /// [`crate::Error::Incompatible`] if the mechanism has no guarantee of that kind,
    /// [`crate::Error::Calibration`] if no finite scale or threshold meets it.
    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration>;

    /// The guarantee in words: theorem, source and neighbouring relation.
    fn guarantee(&self) -> Guarantee;
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

/// A mechanism by name with its parameters, as it stands in requests and reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum MechanismSpec {
    /// [`CountLaplace`]
    CountLaplace(CountLaplace),
    /// [`CountGaussian`]
    CountGaussian(CountGaussian),
    /// [`WeightedLaplace`]
    WeightedLaplace(WeightedLaplace),
    /// [`WeightedGaussian`]
    WeightedGaussian(WeightedGaussian),
    /// [`PolicyLaplace`]
    PolicyLaplace(PolicyLaplace),
    /// [`PolicyGaussian`]
    PolicyGaussian(PolicyGaussian),
    /// [`GreedyFrequency`]
    GreedyFrequency(GreedyFrequency),
    /// [`UnitGreedy`]
    UnitGreedy(UnitGreedy),
    /// [`Sips`]
    Sips(Sips),
    /// [`OneItem`]
    OneItem(OneItem),
    /// [`Mad`]
    Mad(Mad),
    /// [`Mad2R`]
    #[serde(rename = "mad2r")]
    Mad2R(Mad2R),
    /// [`Steered`]
    Steered(Steered),
}

impl MechanismSpec {
    /// The mechanism behind the name: the one place where mechanisms are listed.
    #[must_use]
    pub fn as_mechanism(&self) -> &dyn Mechanism {
        match self {
            Self::CountLaplace(m) => m,
            Self::CountGaussian(m) => m,
            Self::WeightedLaplace(m) => m,
            Self::WeightedGaussian(m) => m,
            Self::PolicyLaplace(m) => m,
            Self::PolicyGaussian(m) => m,
            Self::GreedyFrequency(m) => m,
            Self::UnitGreedy(m) => m,
            Self::Sips(m) => m,
            Self::OneItem(m) => m,
            Self::Mad(m) => m,
            Self::Mad2R(m) => m,
            Self::Steered(m) => m,
        }
    }

    /// By what each user's items are put in order, if the mechanism fills them one by one.
    pub(crate) fn filling_order(&self) -> Option<FillingOrder> {
        match self {
            Self::GreedyFrequency(m) => Some(m.order),
            Self::UnitGreedy(m) => Some(m.order),
            Self::CountLaplace(_)
            | Self::CountGaussian(_)
            | Self::WeightedLaplace(_)
            | Self::WeightedGaussian(_)
            | Self::PolicyLaplace(_)
            | Self::PolicyGaussian(_)
            | Self::Sips(_)
            | Self::OneItem(_)
            | Self::Mad(_)
            | Self::Mad2R(_)
            | Self::Steered(_) => None,
        }
    }

    /// Why the mechanism guarantees nothing, if that is so.
    pub(crate) fn flaw(&self) -> Option<&'static str> {
        match self {
            Self::GreedyFrequency(m) => match m.calibration {
                GreedyCalibration::Curve => None,
                GreedyCalibration::Published => Some(
                    "no guarantee: the published calibration of GreedyFrequency is for reproducing the paper only",
                ),
            },
            Self::CountLaplace(_)
            | Self::CountGaussian(_)
            | Self::WeightedLaplace(_)
            | Self::WeightedGaussian(_)
            | Self::PolicyLaplace(_)
            | Self::PolicyGaussian(_)
            | Self::UnitGreedy(_)
            | Self::Sips(_)
            | Self::OneItem(_)
            | Self::Mad(_)
            | Self::Mad2R(_)
            | Self::Steered(_) => None,
        }
    }

    /// Whether a release has noisy weights that could be published.
    ///
    /// Every field is named: a mechanism that gets a parameter has to be looked at here again.
    pub(crate) fn has_noisy_weights(&self) -> bool {
        match self {
            Self::CountLaplace(CountLaplace {})
            | Self::CountGaussian(CountGaussian {})
            | Self::Steered(Steered { rounds: _ }) => true,
            Self::GreedyFrequency(GreedyFrequency { calibration, order: _, alpha: _ }) => {
                *calibration == GreedyCalibration::Published
            }
            Self::OneItem(_) | Self::UnitGreedy(_) | Self::Mad(_) | Self::Mad2R(_) => false,
            Self::WeightedLaplace(WeightedLaplace { release })
            | Self::WeightedGaussian(WeightedGaussian { release })
            | Self::PolicyLaplace(PolicyLaplace { release, alpha: _, passes: _ })
            | Self::PolicyGaussian(PolicyGaussian { release, alpha: _, passes: _ })
            | Self::Sips(Sips { release, rounds: _, ratio: _ }) => *release == ReleaseStep::Noise,
        }
    }

    /// Check every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] or [`Error::Incompatible`] for parameters out of range.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::PolicyLaplace(m) => m.validate(),
            Self::PolicyGaussian(m) => m.validate(),
            Self::GreedyFrequency(m) => m.validate(),
            Self::Mad(m) => m.validate(),
            Self::Mad2R(m) => m.validate(),
            Self::Sips(m) => m.validate(),
            Self::Steered(m) => m.validate(),
            Self::CountLaplace(CountLaplace {})
            | Self::CountGaussian(CountGaussian {})
            | Self::WeightedLaplace(WeightedLaplace { release: ReleaseStep::Noise | ReleaseStep::Curve })
            | Self::WeightedGaussian(WeightedGaussian { release: ReleaseStep::Noise | ReleaseStep::Curve })
            | Self::UnitGreedy(UnitGreedy { order: FillingOrder::Counts | FillingOrder::Prior })
            | Self::OneItem(OneItem {}) => Ok(()),
        }
    }
}
