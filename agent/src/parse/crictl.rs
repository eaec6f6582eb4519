use serde::{Deserialize, Serialize};

use super::{fault::ParseFault, nv_objects::json};

/// A container as `crictl ps -o json` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// Its id, for `crictl exec`.
    pub id: String,
    /// Name, for example `doca-hbn`.
    pub name: String,
    /// It runs now.
    pub running: bool,
    /// How often it was started again.
    pub attempt: u32,
}

#[derive(Deserialize)]
struct RawList {
    containers: Vec<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    id: String,
    metadata: RawMetadata,
    state: String,
}

#[derive(Deserialize)]
struct RawMetadata {
    name: String,
    #[serde(default)]
    attempt: u32,
}

/// Reads `crictl ps -o json`, with or without `--all`. No container is a good answer: none runs.
///
/// # Errors
/// [`ParseFault`] where the text is no such JSON.
pub fn containers(text: &str) -> Result<Vec<Container>, ParseFault> {
    let list: RawList = json("crictl ps", text, "a JSON object with a list of containers")?;
    let container = |raw: Raw| Container {
        id: raw.id,
        name: raw.metadata.name,
        running: raw.state == "CONTAINER_RUNNING",
        attempt: raw.metadata.attempt,
    };
    Ok(list.containers.into_iter().map(container).collect())
}

/// The running container of a name: of several, the newest attempt.
#[must_use]
pub fn running<'c>(containers: &'c [Container], name: &str) -> Option<&'c Container> {
    let named = containers.iter().filter(|container| container.running && container.name == name);
    named.max_by_key(|container| container.attempt)
}
