//! The list of top-k mechanisms: the one place where one is registered.

use super::TopKMechanism;
use crate::mechanisms::mechanisms_by_name;

mechanisms_by_name! {
    /// A top-k mechanism by name with its parameters, as it stands in requests and reports.
    TopKSpec: TopKMechanism,
    "joint" => Joint,
    "joint_set" => JointSet,
    "gumbel_peel" => GumbelPeel,
    "permute_flip_joint" => PermuteFlipJoint,
    "permute_flip_peel" => PermuteFlipPeel,
    "gamma" => Gamma,
    "laplace_top_k" => LaplaceTopK,
    "limit_domain" => LimitDomain,
    "discover" => Discover,
    "select_and_count" => SelectAndCount,
}
