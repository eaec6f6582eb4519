//! The release of HBN, where nobody configured it: from the tag of its container's image, or from NVUE.

use crate::{
    Settings,
    apply::{ask, nvue_system},
    parse::{SystemVersion, containers, image_tags, images, running},
    render::HbnVersion,
};

/// What is known of HBN's release. It is looked up when the agent starts and when HBN comes back, never in between.
pub(crate) struct Release {
    configured: bool,
    known: Option<HbnVersion>,
    doubted: bool,
    /// That it cannot be found out is said once.
    said: bool,
}

impl Release {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { configured: settings.hbn.version.is_some(), known: None, doubted: true, said: false }
    }

    /// HBN is away: it may come back as another release.
    pub(crate) fn doubt(&mut self) {
        self.doubted = true;
    }

    /// Something went wrong that may have to do with a release that is not known.
    pub(crate) fn suspect(&mut self) {
        self.doubted |= self.known.is_none();
    }

    /// Looks the release up if it is in doubt; none if there is nothing new to know.
    pub(crate) async fn find(&mut self, settings: &Settings) -> Option<HbnVersion> {
        if self.configured || !std::mem::take(&mut self.doubted) {
            return None;
        }
        match look_up(settings).await {
            Ok(version) if self.known.as_ref() == Some(&version) => None,
            Ok(version) => {
                tracing::info!("HBN is {version}");
                self.known = Some(version.clone());
                Some(version)
            }
            Err(why) => {
                if self.known.is_none() && !std::mem::replace(&mut self.said, true) {
                    tracing::warn!("the release of HBN is not known, a current one is taken for granted: {why}");
                }
                None
            }
        }
    }
}

async fn look_up(settings: &Settings) -> Result<HbnVersion, String> {
    if settings.health.crictl.is_empty() {
        return from_nvue(settings).await;
    }
    match from_image(settings).await {
        Ok(version) => Ok(version),
        Err(image) => from_nvue(settings).await.map_err(|nvue| format!("{image}; {nvue}")),
    }
}

/// From the tag of the image that HBN's container runs.
async fn from_image(settings: &Settings) -> Result<HbnVersion, String> {
    let (crictl, name, limit) = (&settings.health.crictl, &settings.health.container, settings.hbn.command_timeout);
    let listed = ask(crictl, &["ps", "-o", "json"], limit, containers).await?;
    let container = running(&listed, name).ok_or_else(|| format!("no container {name} runs"))?;
    let images = ask(crictl, &["images", "-o", "json"], limit, images).await?;
    let version = image_tags(container, &images).find_map(|tag| tag.parse().ok());
    version.ok_or_else(|| format!("no tag of the image of {name} is a version"))
}

/// From what NVUE says that it is a part of.
async fn from_nvue(settings: &Settings) -> Result<HbnVersion, String> {
    match nvue_system(&settings.hbn).await? {
        SystemVersion::Hbn(version) => version.parse().map_err(|error| format!("NVUE: {error}")),
        SystemVersion::Other(words) => Err(format!("NVUE is a part of {words}, not of HBN")),
        SystemVersion::Unknown => Err("NVUE names no release".to_owned()),
    }
}
