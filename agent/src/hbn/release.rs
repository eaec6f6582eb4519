//! The release of HBN, where it is not configured: from the tag of its container's image, or from NVUE. `agent` asks for it.

use super::{command::ask, nvue_http};
use crate::{
    Settings,
    config::HbnSection,
    parse::{SystemVersion, containers, image_tags, images, running, system_version},
    render::HbnVersion,
};

/// What is known of HBN's release. It is looked up when the agent starts and when HBN comes back, not in between.
pub(crate) struct Release {
    configured: bool,
    known: Option<HbnVersion>,
    /// It is looked up at the next opportunity.
    stale: bool,
    /// That it cannot be found is logged once.
    warned: bool,
}

impl Release {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { configured: settings.hbn.version.is_some(), known: None, stale: true, warned: false }
    }

    /// HBN is away: it may come back as another release.
    pub(crate) fn invalidate(&mut self) {
        self.stale = true;
    }

    /// Something failed, which may be because the release is not known.
    pub(crate) fn invalidate_if_unknown(&mut self) {
        self.stale |= self.known.is_none();
    }

    /// Looks the release up if it may have changed; none if there is no news.
    pub(crate) async fn find(&mut self, settings: &Settings) -> Option<HbnVersion> {
        if self.configured || !std::mem::take(&mut self.stale) {
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
                if self.known.is_none() && !std::mem::replace(&mut self.warned, true) {
                    tracing::warn!("the release of HBN is not known, so a current one is assumed: {why}");
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

/// From the product that NVUE says it is part of.
async fn from_nvue(settings: &Settings) -> Result<HbnVersion, String> {
    match nvue_system(&settings.hbn).await? {
        SystemVersion::Hbn(version) => version.parse().map_err(|error| format!("NVUE: {error}")),
        SystemVersion::Other(words) => Err(format!("NVUE is part of {words}, not of HBN")),
        SystemVersion::Unknown => Err("NVUE names no release".to_owned()),
    }
}

/// What NVUE says that it is part of, asked for in the way that is configured.
async fn nvue_system(hbn: &HbnSection) -> Result<SystemVersion, String> {
    match &hbn.rest {
        Some(rest) => {
            let text = nvue_http::system(rest, hbn.command_timeout).await?;
            system_version(&text).map_err(|fault| fault.to_string())
        }
        None => ask(&hbn.nv, &["show", "system", "-o", "json"], hbn.command_timeout, system_version).await,
    }
}
