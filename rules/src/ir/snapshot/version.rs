//! Config versions as text in snapshots.

pub(super) mod optional {
    use proto::ConfigVersion;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::ir::snapshot) fn serialize<S: Serializer>(
        version: &Option<ConfigVersion>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match version {
            Some(version) => serializer.collect_str(version),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::ir::snapshot) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ConfigVersion>, D::Error> {
        Option::<String>::deserialize(deserializer)?.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
