//! The list of mechanisms: the one place where a mechanism is registered.

use serde::{Deserialize, Serialize};

use super::Mechanism;

/// Makes the enum of all mechanisms, as they stand in requests and reports, from a list of names and types.
macro_rules! mechanisms {
    ($($name:literal => $mechanism:ident,)+) => {
        $(use super::$mechanism;)+

        /// A mechanism by name with its parameters, as it stands in requests and reports.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum MechanismSpec {
            $(
                #[doc = concat!("[`", stringify!($mechanism), "`]")]
                #[serde(rename = $name)]
                $mechanism($mechanism),
            )+
        }

        impl MechanismSpec {
            /// The mechanism behind the name.
            #[must_use]
            pub fn as_mechanism(&self) -> &dyn Mechanism {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism,)+
                }
            }
        }
    };
}

mechanisms! {
    "count_laplace" => CountLaplace,
    "count_gaussian" => CountGaussian,
    "weighted_laplace" => WeightedLaplace,
    "weighted_gaussian" => WeightedGaussian,
    "policy_laplace" => PolicyLaplace,
    "policy_gaussian" => PolicyGaussian,
    "greedy_frequency" => GreedyFrequency,
    "unit_greedy" => UnitGreedy,
    "sips" => Sips,
    "one_item" => OneItem,
    "mad" => Mad,
    "mad2r" => Mad2R,
    "steered" => Steered,
}
