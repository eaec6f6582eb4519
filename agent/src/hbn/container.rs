//! HBN's container: which one runs, so that commands with a placeholder reach it. `agent` asks once a pass.

use super::command::{CommandResult, run};
use crate::{
    Settings,
    parse::{containers, running},
};

/// HBN's container. The configured commands may have a placeholder for its id, which changes whenever HBN is started.
pub(crate) struct HbnContainer {
    /// The settings as they were configured, if a command has the placeholder.
    configured: Option<Box<Settings>>,
    id: Option<String>,
}

impl HbnContainer {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { configured: settings.names_container().then(|| Box::new(settings.clone())), id: None }
    }

    /// Whether no command can be run before the container is looked up.
    pub(crate) fn is_missing(&self) -> bool {
        self.configured.is_some() && self.id.is_none()
    }

    /// Lists the containers, if that is configured, and makes the commands of `settings` reach the one that runs.
    pub(crate) async fn look_up(&mut self, settings: &mut Settings) -> Option<CommandResult> {
        let crictl = Some(&settings.health.crictl).filter(|crictl| !crictl.is_empty())?;
        let listing = run(crictl, &["ps", "-o", "json"], settings.hbn.command_timeout).await;
        if let Some(configured) = &self.configured {
            let listed = listing.as_ref().ok().and_then(|output| containers(&output.stdout).ok()).unwrap_or_default();
            let id = running(&listed, &configured.health.container).map(|container| container.id.clone());
            if let Some(id) = id.as_deref().filter(|id| self.id.as_deref() != Some(id)) {
                tracing::info!("{} is container {id}", configured.health.container);
                *settings = configured.in_container(id);
            }
            self.id = id;
        }
        Some(listing)
    }
}
