//! The enum of all mechanisms of a registry, made from its list of names and types.

/// Makes an enum with a variant for each mechanism, as requests and reports name it, and the way to its trait.
///
/// A mechanism that holds other ones is given their type in angle brackets.
/// The types of the mechanisms are those of the module above the caller's.
macro_rules! mechanisms_by_name {
    ($(#[$doc:meta])* $spec:ident: $mechanism_trait:ident, $($name:literal => $mechanism:ident $(<$of:ident>)?,)+) => {
        $(use super::$mechanism;)+

        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "name")]
        pub enum $spec {
            $(
                #[doc = concat!("[`", stringify!($mechanism), "`]")]
                #[serde(rename = $name)]
                $mechanism($mechanism $(<$of>)?),
            )+
        }

        impl $spec {
            /// The name of the mechanism's type, here and in Python.
            #[must_use]
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Self::$mechanism(_) => stringify!($mechanism),)+
                }
            }

            /// The mechanism behind the name.
            #[must_use]
            pub fn as_mechanism(&self) -> &(dyn $mechanism_trait + 'static) {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism,)+
                }
            }
        }

        impl AsRef<dyn $mechanism_trait> for $spec {
            fn as_ref(&self) -> &(dyn $mechanism_trait + 'static) {
                self.as_mechanism()
            }
        }
    };
}

pub(crate) use mechanisms_by_name;
