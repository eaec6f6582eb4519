use crate::{
    Settings,
    fetch::Desired,
    intent::{Digest, Intent, IntentFile},
    plan::Target,
    render::{self, Environment, NetworkConfig, TemplateError, Templates},
};

use proto::forge::ManagedHostNetworkConfigResponse;

/// What the controller wants, kept as an answer and as the files that it comes to.
pub(crate) struct Wanted {
    environment: Environment,
    templates: Templates,
    file: IntentFile,
    intent: Option<Intent>,
    /// The intent as files, with the digest of the intent it was rendered from.
    target: Option<(Digest, Target)>,
    /// An answer that cannot be rendered, and why; the intent before it stays.
    unusable: Option<(Digest, String)>,
}

impl Wanted {
    /// What was wanted when the agent before this one ended.
    ///
    /// # Errors
    /// If the templates cannot be used.
    pub(crate) fn open(settings: &Settings) -> Result<Self, TemplateError> {
        let templates = match &settings.templates.dir {
            Some(dir) => Templates::from_dir(dir)?,
            None => Templates::embedded()?,
        };
        let file = IntentFile::new(&settings.state_dir);
        let intent = file.read().unwrap_or_else(|error| {
            tracing::warn!("the kept answer of the controller cannot be used ({error}); a new one is waited for");
            None
        });
        Ok(Self { environment: settings.environment(), templates, file, intent, target: None, unusable: None })
    }

    /// Takes in what the controller's answer means.
    pub(crate) fn take(&mut self, desired: Desired) {
        match desired {
            Desired::Config(response) => self.want(Intent::config(response)),
            Desired::Isolated => {
                let last = self.intent.clone();
                self.want(last.map_or(Intent::Isolated { last: None }, Intent::isolated));
            }
            // After a start without a controller, what it wanted last goes on.
            Desired::KeepLast if self.target.is_none() && self.unusable.is_none() => {
                if let Some(intent) = self.intent.clone() {
                    self.want(intent);
                }
            }
            Desired::KeepLast => (),
        }
    }

    /// Takes on an intent, unless it cannot be rendered: then the one before stays.
    fn want(&mut self, intent: Intent) {
        let digest = intent.digest();
        if self.target.as_ref().is_some_and(|(from, _)| *from == digest) {
            self.unusable = None;
            self.intent = Some(intent);
            return;
        }
        if self.unusable.as_ref().is_some_and(|(from, _)| *from == digest) {
            return;
        }
        match self.render(&intent) {
            Ok(target) => {
                if self.intent.as_ref() != Some(&intent)
                    && let Err(error) = self.file.write(&intent)
                {
                    tracing::error!("the answer cannot be kept for a restart: {error}");
                }
                self.unusable = None;
                self.intent = Some(intent);
                self.target = Some((digest, target));
            }
            Err(reason) => {
                tracing::error!("the controller's configuration is not usable, what runs stays: {reason}");
                self.unusable = Some((digest, reason));
            }
        }
    }

    fn render(&self, intent: &Intent) -> Result<Target, String> {
        let config = intent.last().map(NetworkConfig::try_from);
        let files = match (intent, config) {
            (Intent::Isolated { .. }, config) => {
                let underlay = config.as_ref().and_then(|config| config.as_ref().ok()).map(NetworkConfig::underlay);
                render::isolated(&self.environment, underlay, &self.templates)
            }
            (Intent::Config(response), Some(Ok(config))) => {
                let files = render::files(&config, &self.environment, &self.templates);
                // More links than there are is a fault of the site's configuration, and shown as one.
                let asked = response.min_dpu_functioning_links.and_then(|links| usize::try_from(links).ok());
                files.map(|mut files| {
                    files.expected.min_links = asked.unwrap_or(files.expected.min_links);
                    files
                })
            }
            (Intent::Config(_), Some(Err(error))) => return Err(error.to_string()),
            (Intent::Config(_), None) => return Err("there is no configuration".to_owned()),
        };
        files.map(Target::from).map_err(|error| error.to_string())
    }

    /// The files to run, if anything was ever wanted.
    pub(crate) fn target(&self) -> Option<&Target> {
        self.target.as_ref().map(|(_, target)| target)
    }

    /// The last usable configuration.
    pub(crate) fn last(&self) -> Option<&ManagedHostNetworkConfigResponse> {
        self.intent.as_ref().and_then(Intent::last)
    }

    pub(crate) fn is_isolated(&self) -> bool {
        self.intent.as_ref().is_some_and(Intent::is_isolated)
    }

    /// Why the controller's last answer is not usable.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.unusable.as_ref().map(|(_, reason)| reason.as_str())
    }

    /// `text` without the secrets of the configuration, which NVUE may quote.
    pub(crate) fn redacted(&self, text: &str) -> String {
        match self.last().and_then(|last| last.bgp_leaf_session_password.as_deref()) {
            Some(secret) if !secret.is_empty() => text.replace(secret, "***"),
            _ => text.to_owned(),
        }
    }
}
