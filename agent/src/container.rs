use crate::{
    Settings,
    apply::run,
    health::Said,
    parse::{containers, running},
};

/// HBN's container, whose id the configured commands may leave open: it is another one each time HBN is started.
pub(crate) struct Container {
    /// The settings as they were configured, if a command names the container.
    open: Option<Box<Settings>>,
    id: Option<String>,
}

impl Container {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { open: settings.names_container().then(|| Box::new(settings.clone())), id: None }
    }

    /// Whether commands cannot be run before the container was looked for.
    pub(crate) fn is_missed(&self) -> bool {
        self.open.is_some() && self.id.is_none()
    }

    /// Lists the containers, if that is configured, and lets the commands of `settings` reach the one that runs.
    pub(crate) async fn look(&mut self, settings: &mut Settings) -> Option<Said> {
        let crictl = Some(&settings.health.crictl).filter(|crictl| !crictl.is_empty())?;
        let said = run(crictl, &["ps", "-o", "json"], settings.hbn.command_timeout).await;
        if let Some(open) = &self.open {
            let listed = said.as_ref().ok().and_then(|output| containers(&output.stdout).ok()).unwrap_or_default();
            let id = running(&listed, &open.health.container).map(|container| container.id.clone());
            if let Some(id) = id.as_deref().filter(|id| self.id.as_deref() != Some(id)) {
                tracing::info!("{} is container {id}", open.health.container);
                *settings = open.in_container(id);
            }
            self.id = id;
        }
        Some(said)
    }
}
