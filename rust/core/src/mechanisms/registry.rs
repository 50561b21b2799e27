//! The list of mechanisms: the one place where a mechanism is registered.

use super::by_name::mechanisms_by_name;
use super::{Lists, Mechanism};

mechanisms_by_name! {
    /// A mechanism by name with its parameters, as it stands in requests and reports.
    MechanismSpec: Mechanism,
    "count_laplace" => CountLaplace,
    "count_gaussian" => CountGaussian,
    "weighted_laplace" => WeightedLaplace,
    "weighted_gaussian" => WeightedGaussian,
    "policy_laplace" => PolicyLaplace,
    "policy_gaussian" => PolicyGaussian,
    "greedy_frequency" => GreedyFrequency,
    "unit_greedy" => UnitGreedy,
    "matching" => Matching,
    "matching_or" => MatchingOr<MechanismSpec>,
    "sips" => Sips,
    "one_item" => OneItem,
    "mad" => Mad,
    "mad2r" => Mad2R,
    "steered" => Steered,
}

impl MechanismSpec {
    /// Mechanisms for rows beyond memory, as one writes them: `Steered(reach=3)` and `Sips()`.
    #[must_use]
    pub fn beyond_memory() -> [Self; 2] {
        [Self::Steered(Steered { reach: 3, ..Steered::default() }), Self::Sips(Sips::default())]
    }

    /// The mechanism that a choice takes for the lists that its look found.
    #[must_use]
    pub fn chosen(choice: &MatchingOr<Self>, lists: Lists) -> Self {
        match lists {
            Lists::Short => Self::Matching(MatchingOr::<Self>::SHORT),
            Lists::Long => (*choice.otherwise).clone(),
        }
    }

    /// The choice, if a look at the data chooses the mechanism.
    #[must_use]
    pub fn choice(&self) -> Option<&MatchingOr<Self>> {
        if let Self::MatchingOr(choice) = self { Some(choice) } else { None }
    }
}
