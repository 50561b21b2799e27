//! The list of top-k mechanisms: the one place where one is registered.

use serde::{Deserialize, Serialize};

use super::TopKMechanism;

/// Makes the enum of all top-k mechanisms, as they stand in requests and reports, from a list of names and types.
macro_rules! mechanisms {
    ($($name:literal => $mechanism:ident,)+) => {
        $(use super::$mechanism;)+

        /// A mechanism by name with its parameters, as it stands in requests and reports.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum TopKSpec {
            $(
                #[doc = concat!("[`", stringify!($mechanism), "`]")]
                #[serde(rename = $name)]
                $mechanism($mechanism),
            )+
        }

        impl TopKSpec {
            /// The mechanism behind the name.
            #[must_use]
            pub fn as_mechanism(&self) -> &dyn TopKMechanism {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism,)+
                }
            }
        }
    };
}

mechanisms! {
    "joint" => Joint,
    "joint_set" => JointSet,
    "gumbel_peel" => GumbelPeel,
    "permute_flip_joint" => PermuteFlipJoint,
    "permute_flip_peel" => PermuteFlipPeel,
    "gamma" => Gamma,
    "laplace_top_k" => LaplaceTopK,
    "limit_domain" => LimitDomain,
    "discover" => Discover,
}
