//! The L2 norm by which one user moves the weights: the sensitivity that Gaussian noise is scaled by.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::sqrt_up;

use super::kind::Weighting;
use super::policy_l2::PolicyL2;

/// How the L2 norm of one user's weights follows from its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum L2Norm {
    /// Weight 1 on each item: the root of the number of items.
    Count,
    /// The same weight on each item: at most 1.
    Equal,
    /// At most 1 and the slack of a policy.
    Policy(PolicyL2),
}

impl Weighting {
    /// The L2 norm of one user's weights, if the proof of a round with Gaussian noise knows it.
    ///
    /// # Contract
    /// The match names every weighting. A new weighting, say k^-0.4 with its norm k^0.1, does not compile before
    /// somebody decides here. Until there is a proof the answer is `None`, and `gaussian_noise`, which makes the
    /// noise of every Gaussian round, is an error.
    pub(crate) fn l2_norm(self) -> Option<L2Norm> {
        match self {
            Self::Count => Some(L2Norm::Count),
            Self::EqualL2 => Some(L2Norm::Equal),
            Self::PolicyL2(policy) => Some(L2Norm::Policy(policy)),
            Self::EqualL1 | Self::PolicyL1(_) | Self::Greedy(_) | Self::Mad(_) | Self::Matching(_) => None,
        }
    }
}

impl L2Norm {
    /// An upper bound of the norm for users of at most `bound` items.
    pub(crate) fn at_most(self, bound: L0Bound) -> f64 {
        match self {
            Self::Count => sqrt_up(bound.get().into()),
            Self::Equal => 1.0,
            Self::Policy(policy) => policy.norm().hi(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpsel_exact::numeric::UNIT;

    use crate::weighting::{Greedy, MadWeights, MatchingSlots, PolicyL1};

    /// The norm of users of `k` items that nobody else holds, from the weights themselves.
    #[test]
    fn no_user_exceeds_the_norm_of_its_weighting() {
        for k in [1, 2, 3, 7, 100, 4096, 1_000_000] {
            let bound = L0Bound::new(k.into()).unwrap();
            for weighting in [Weighting::Count, Weighting::EqualL2] {
                let weight = weighting.weight(k) as f64 / UNIT as f64;
                let norm = weighting.l2_norm().unwrap().at_most(bound);
                assert!(f64::from(k).sqrt() * weight <= norm * (1.0 + 1e-12), "{weighting:?} {k}");
            }
        }
    }

    #[test]
    fn weightings_without_a_proof_have_no_norm() {
        let policy = PolicyL1 { cutoff: UNIT, passes: 1 };
        let mad = MadWeights { limit: UNIT, most: 1, norm: MadWeights::NORM };
        for weighting in [
            Weighting::EqualL1,
            Weighting::PolicyL1(policy),
            Weighting::Greedy(Greedy { cutoff: UNIT }),
            Weighting::Mad(mad),
            Weighting::Matching(MatchingSlots { quota: 1, most: 2 }),
        ] {
            assert_eq!(weighting.l2_norm(), None, "{weighting:?}");
        }
    }
}
