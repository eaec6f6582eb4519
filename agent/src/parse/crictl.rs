//! Readers of `crictl`: containers and images.

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
    /// The image it runs: mostly the image's id, from some runtimes its name.
    pub image: String,
}

/// An image as `crictl images -o json` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Its id, for example `sha256:83b3…`.
    pub id: String,
    /// Its names with their tags, for example `nvcr.io/nvidia/doca/doca_hbn:2.3.0-doca2.8.0`.
    #[serde(default)]
    pub repo_tags: Vec<String>,
}

#[derive(Deserialize)]
struct RawList {
    containers: Vec<RawContainer>,
}

#[derive(Deserialize)]
struct RawContainer {
    id: String,
    metadata: RawMetadata,
    state: String,
    #[serde(default, rename = "imageRef")]
    image: String,
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
    let container = |raw: RawContainer| Container {
        id: raw.id,
        name: raw.metadata.name,
        running: raw.state == "CONTAINER_RUNNING",
        attempt: raw.metadata.attempt,
        image: raw.image,
    };
    Ok(list.containers.into_iter().map(container).collect())
}

/// The running container of a name: of several, the newest attempt.
#[must_use]
pub fn running<'c>(containers: &'c [Container], name: &str) -> Option<&'c Container> {
    let named = containers.iter().filter(|container| container.running && container.name == name);
    named.max_by_key(|container| container.attempt)
}

#[derive(Deserialize)]
struct RawImages {
    images: Vec<Image>,
}

/// Reads `crictl images -o json`.
///
/// # Errors
/// [`ParseFault`] where the text is no such JSON.
pub fn images(text: &str) -> Result<Vec<Image>, ParseFault> {
    let list: RawImages = json("crictl images", text, "a JSON object with a list of images")?;
    Ok(list.images)
}

/// The tags of the image that a container runs.
pub fn image_tags<'t>(container: &'t Container, images: &'t [Image]) -> impl Iterator<Item = &'t str> {
    let named = images.iter().filter(|image| image.id == container.image).flat_map(|image| &image.repo_tags);
    // A colon before a slash belongs to the registry's port.
    let tag = |name: &'t String| name.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
    named.chain([&container.image]).filter(|name| !name.contains("sha256:")).filter_map(tag)
}
