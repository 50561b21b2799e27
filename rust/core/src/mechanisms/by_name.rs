//! The enum of all mechanisms of a registry, made from its list of names and types.

/// Makes an enum with a variant for each mechanism, as requests and reports name it, and the way to its trait.
///
/// The types of the mechanisms are those of the module above the caller's.
macro_rules! mechanisms_by_name {
    ($(#[$doc:meta])* $spec:ident: $mechanism_trait:ident, $($name:literal => $mechanism:ident,)+) => {
        $(use super::$mechanism;)+

        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "name")]
        pub enum $spec {
            $(
                #[doc = concat!("[`", stringify!($mechanism), "`]")]
                #[serde(rename = $name)]
                $mechanism($mechanism),
            )+
        }

        impl $spec {
            /// The mechanism behind the name.
            #[must_use]
            pub fn as_mechanism(&self) -> &dyn $mechanism_trait {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism,)+
                }
            }
        }
    };
}

pub(crate) use mechanisms_by_name;
