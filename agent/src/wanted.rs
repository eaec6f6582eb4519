use std::path::Path;

use crate::{
    Settings,
    fetch::Desired,
    intent::{Digest, Intent, IntentFile},
    plan::Target,
    render::{self, Environment, HbnVersion, NetworkConfig, RenderedFiles, TemplateError, Templates, Underlay},
    render_guard::RenderGuard,
};

use proto::forge::ManagedHostNetworkConfigResponse;

/// What the controller wants, kept as an answer and as the files that it comes to.
pub(crate) struct Wanted {
    environment: Environment,
    /// The operator's templates, or why they cannot be used.
    templates: Result<Templates, TemplateError>,
    /// What watches them; none over the built-in ones.
    guard: Option<RenderGuard>,
    file: IntentFile,
    intent: Option<Intent>,
    /// The file holds the intent, for an agent after this one.
    kept: bool,
    /// The intent as files, with the digest of the intent it was rendered from.
    target: Option<(Digest, Target)>,
    /// An answer that cannot be rendered, and why; the intent before it stays, but for one that isolates.
    unusable: Option<(Digest, String)>,
}

impl Wanted {
    /// What was wanted when the agent before this one ended.
    pub(crate) fn open(settings: &Settings) -> Self {
        let (templates, guard) = match &settings.templates.dir {
            Some(dir) => of_operator(dir, &settings.state_dir),
            None => (Templates::embedded(), None),
        };
        if let Err(fault) = &templates {
            tracing::error!("nothing can be rendered, what runs stays: {fault}");
        }
        let file = IntentFile::new(&settings.state_dir);
        let intent = file.read().unwrap_or_else(|error| {
            tracing::warn!("the kept answer of the controller cannot be used ({error}); a new one is waited for");
            None
        });
        Self {
            environment: settings.environment(),
            templates,
            guard,
            file,
            intent,
            kept: true,
            target: None,
            unusable: None,
        }
    }

    /// HBN turned out to be of this release: what is wanted next is rendered for it.
    pub(crate) fn hbn_is(&mut self, version: HbnVersion) {
        self.environment.hbn_version = Some(version);
        (self.target, self.unusable) = (None, None);
    }

    /// The uplinks as HBN calls them.
    pub(crate) fn uplinks(&self) -> Vec<String> {
        self.environment.uplinks()
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
        let same = |(of, _): &mut (Digest, String)| *of == digest;
        if self.target.as_ref().is_some_and(|(from, _)| *from == digest) {
            self.unusable.take_if(|unusable| !same(unusable));
            self.keep(intent);
            return;
        }
        if self.unusable.as_mut().is_some_and(same) {
            return;
        }
        let (files, fault) = self.files(&intent);
        if let Some(target) = files.map(Target::from) {
            self.keep(intent);
            self.target = Some((digest.clone(), target));
        }
        self.unusable = fault.map(|reason| (digest, reason));
    }

    /// Keeps an intent for a restart, or tries to at every pass. An older one must not stand in for it: it could give an
    /// isolated host its network back.
    fn keep(&mut self, intent: Intent) {
        self.kept &= self.intent.as_ref() == Some(&intent);
        if !self.kept {
            match self.file.write(&intent) {
                Ok(()) => self.kept = true,
                Err(error) => {
                    tracing::error!("the answer cannot be kept for a restart: {error}");
                    self.file.forget();
                }
            }
        }
        self.intent = Some(intent);
    }

    /// The files for an intent, and what is wrong with it: one without the other, or both if only the operator's templates
    /// fail to cut the host off, which the built-in ones do then.
    fn files(&self, intent: &Intent) -> (Option<RenderedFiles>, Option<String>) {
        let rendered = match &self.templates {
            Ok(templates) => {
                let _at_work = self.guard.as_ref().map(RenderGuard::begin);
                self.render(intent, templates)
            }
            Err(fault) => Err(fault.to_string()),
        };
        match rendered {
            Ok(files) => (Some(files), None),
            Err(reason) if intent.is_isolated() => {
                tracing::error!("the host is cut off by the built-in templates, the operator's fail: {reason}");
                let embedded = Templates::embedded().map_err(|fault| fault.to_string());
                let files = embedded.and_then(|templates| self.render(intent, &templates));
                (files.ok(), Some(reason))
            }
            Err(reason) => {
                tracing::error!("the controller's configuration is not usable, what runs stays: {reason}");
                (None, Some(reason))
            }
        }
    }

    fn render(&self, intent: &Intent, templates: &Templates) -> Result<RenderedFiles, String> {
        let files = match intent {
            Intent::Isolated { last } => {
                let underlay = last.as_deref().and_then(|last| Underlay::try_from(last).ok());
                render::isolated(&self.environment, underlay.as_ref(), templates)
            }
            Intent::Config(response) => {
                let config = NetworkConfig::try_from(&**response).map_err(|error| error.to_string())?;
                let files = render::files(&config, &self.environment, templates);
                // More links than there are is a fault of the site's configuration, and shown as one.
                let asked = response.min_dpu_functioning_links.and_then(|links| usize::try_from(links).ok());
                files.map(|mut files| {
                    files.expected.min_links = asked.unwrap_or(files.expected.min_links);
                    files
                })
            }
        };
        files.map_err(|error| error.to_string())
    }

    /// The files to run, if anything was ever wanted.
    pub(crate) fn target(&self) -> Option<&Target> {
        self.target.as_ref().map(|(_, target)| target)
    }

    /// The last usable configuration.
    pub(crate) fn last(&self) -> Option<&ManagedHostNetworkConfigResponse> {
        self.intent.as_ref().and_then(Intent::last)
    }

    /// Why the controller's last answer is not usable, or why none would be.
    pub(crate) fn fault(&self) -> Option<String> {
        let unusable = self.unusable.as_ref().map(|(_, reason)| reason.clone());
        unusable.or_else(|| self.templates.as_ref().err().map(ToString::to_string))
    }

    /// `text` without the secrets of the configuration, which NVUE may quote.
    pub(crate) fn redacted(&self, text: &str) -> String {
        match self.last().and_then(|last| last.bgp_leaf_session_password.as_deref()) {
            Some(secret) if !secret.is_empty() => text.replace(secret, "***"),
            _ => text.to_owned(),
        }
    }
}

/// The operator's templates, or why they cannot be used, and what watches them.
fn of_operator(dir: &Path, state_dir: &Path) -> (Result<Templates, TemplateError>, Option<RenderGuard>) {
    let files = match Templates::files_of(dir) {
        Ok(files) => files,
        Err(fault) => return (Err(fault), None),
    };
    let guard = RenderGuard::new(state_dir, &files);
    if guard.ended_an_agent() {
        let fault =
            "the agent ended while these were at work: they are tried again once one of them has changed".into();
        return (Err(TemplateError { file: dir.display().to_string(), line: 0, fault }), None);
    }
    let templates = {
        let _at_work = guard.begin();
        Templates::from_files(files)
    };
    (templates, Some(guard))
}
