//! Ids that the site gives: instances, VPCs, prefixes. Anybody may use them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is no id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {kind} id: expected a UUID")]
pub struct IdError {
    text: String,
    kind: &'static str,
}

macro_rules! id {
    ($name:ident, $kind:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id that nobody else has.
            #[must_use]
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text)
                    .map(Self)
                    .map_err(|_| IdError { text: text.chars().take(80).collect(), kind: $kind })
            }
        }

        impl From<$name> for proto::common::$name {
            fn from(id: $name) -> Self {
                Self { value: id.to_string() }
            }
        }
    };
}

id!(InstanceId, "instance", "Id of an instance: a tenant's use of one host.");
id!(VpcId, "VPC", "Id of a VPC.");
id!(VpcPrefixId, "VPC prefix", "Id of a prefix of a VPC.");
