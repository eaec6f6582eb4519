//! Config versions as text in snapshots.

use proto::ConfigVersion;
use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(super) mod optional {
    use super::*;

    pub(in crate::snapshot) fn serialize<S: Serializer>(
        version: &Option<ConfigVersion>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match version {
            Some(version) => serializer.collect_str(version),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::snapshot) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ConfigVersion>, D::Error> {
        Option::<String>::deserialize(deserializer)?.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
