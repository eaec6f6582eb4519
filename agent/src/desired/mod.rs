//! What the DPU is to run: the controller's last usable instruction, and the files that it renders to. `agent` keeps it up to
//! date, `apply` takes the [`Target`].

mod render_guard;
mod target;

use std::path::Path;

use proto::forge::ManagedHostNetworkConfigResponse;

use crate::{
    Settings,
    controller::Instruction,
    render::{self, Environment, HbnVersion, NetworkConfig, RenderedFiles, TemplateError, Templates, Underlay},
    state::{Digest, Intent, IntentFile},
};
use render_guard::RenderGuard;
pub(crate) use target::{Target, dhcp_digest};

/// The desired configuration, as the controller sent it and as files.
pub(crate) struct Desired {
    environment: Environment,
    /// The operator's templates, or why they cannot be used.
    templates: Result<Templates, TemplateError>,
    /// Their guard; none for the built-in ones.
    guard: Option<RenderGuard>,
    file: IntentFile,
    intent: Option<Intent>,
    /// The file holds the intent.
    stored: bool,
    /// The intent as files, with the digest of the intent it was rendered from.
    target: Option<(Digest, Target)>,
    /// An intent that cannot be rendered, and why. The one before it stays, unless this one isolates the host.
    unusable: Option<(Digest, String)>,
}

impl Desired {
    /// What was desired when the last agent of this state directory ended.
    pub(crate) fn open(settings: &Settings) -> Self {
        let (templates, guard) = match &settings.templates.dir {
            Some(dir) => operator_templates(dir, &settings.state_dir),
            None => (Templates::embedded(), None),
        };
        if let Err(fault) = &templates {
            tracing::error!("nothing can be rendered, so what runs stays: {fault}");
        }
        let file = IntentFile::new(&settings.state_dir);
        let intent = file.read().unwrap_or_else(|error| {
            tracing::warn!("the stored response of the controller is not usable ({error}); waiting for a new one");
            None
        });
        Self {
            environment: settings.environment(),
            templates,
            guard,
            file,
            intent,
            stored: true,
            target: None,
            unusable: None,
        }
    }

    /// HBN turned out to be of this release: from now on files are rendered for it.
    pub(crate) fn set_hbn_version(&mut self, version: HbnVersion) {
        self.environment.hbn_version = Some(version);
        (self.target, self.unusable) = (None, None);
    }

    /// The uplinks as HBN calls them.
    pub(crate) fn uplinks(&self) -> Vec<String> {
        self.environment.uplinks()
    }

    /// Follows an instruction of the controller.
    pub(crate) fn follow(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Config(response) => self.adopt(Intent::config(response)),
            Instruction::Isolate => {
                let last = self.intent.clone();
                self.adopt(last.map_or(Intent::Isolated { last: None }, Intent::isolated));
            }
            // After a start without a controller, the stored intent goes on.
            Instruction::KeepLast if self.target.is_none() && self.unusable.is_none() => {
                if let Some(intent) = self.intent.clone() {
                    self.adopt(intent);
                }
            }
            Instruction::KeepLast => (),
        }
    }

    /// Makes an intent the target, unless it cannot be rendered: then the one before stays.
    fn adopt(&mut self, intent: Intent) {
        let digest = intent.digest();
        let same = |(of, _): &mut (Digest, String)| *of == digest;
        if self.target.as_ref().is_some_and(|(from, _)| *from == digest) {
            self.unusable.take_if(|unusable| !same(unusable));
            self.store(intent);
            return;
        }
        if self.unusable.as_mut().is_some_and(same) {
            return;
        }
        let (files, fault) = self.files(&intent);
        if let Some(target) = files.map(Target::from) {
            self.store(intent);
            self.target = Some((digest.clone(), target));
        }
        self.unusable = fault.map(|reason| (digest, reason));
    }

    /// Stores an intent for a restart, and tries again at every pass if that fails. Meanwhile the file must not hold an older
    /// one, which could give an isolated host its network back.
    fn store(&mut self, intent: Intent) {
        self.stored &= self.intent.as_ref() == Some(&intent);
        if !self.stored {
            match self.file.write(&intent) {
                Ok(()) => self.stored = true,
                Err(error) => {
                    tracing::error!("the response cannot be stored for a restart: {error}");
                    self.file.discard();
                }
            }
        }
        self.intent = Some(intent);
    }

    /// The files for an intent, or what is wrong with it. Both, if the operator's templates cannot render an isolated DPU:
    /// then the built-in ones do it.
    fn files(&self, intent: &Intent) -> (Option<RenderedFiles>, Option<String>) {
        let rendered = match &self.templates {
            Ok(templates) => {
                let _rendering = self.guard.as_ref().map(RenderGuard::begin);
                self.render(intent, templates)
            }
            Err(fault) => Err(fault.to_string()),
        };
        match rendered {
            Ok(files) => (Some(files), None),
            Err(reason) if intent.is_isolated() => {
                tracing::error!("the host is cut off with the built-in templates, since the operator's fail: {reason}");
                let embedded = Templates::embedded().map_err(|fault| fault.to_string());
                let files = embedded.and_then(|templates| self.render(intent, &templates));
                (files.ok(), Some(reason))
            }
            Err(reason) => {
                tracing::error!("the controller's configuration is not usable, so what runs stays: {reason}");
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
                // More links than the DPU has is a fault of the site's configuration, and health checks show it.
                let asked = response.min_dpu_functioning_links.and_then(|links| usize::try_from(links).ok());
                files.map(|mut files| {
                    files.expected.min_links = asked.unwrap_or(files.expected.min_links);
                    files
                })
            }
        };
        files.map_err(|error| error.to_string())
    }

    /// What to run, if the controller ever said so.
    pub(crate) fn target(&self) -> Option<&Target> {
        self.target.as_ref().map(|(_, target)| target)
    }

    /// The last usable configuration.
    pub(crate) fn last(&self) -> Option<&ManagedHostNetworkConfigResponse> {
        self.intent.as_ref().and_then(Intent::last)
    }

    /// Why the controller's last response is not usable, or why none would be.
    pub(crate) fn fault(&self) -> Option<String> {
        let unusable = self.unusable.as_ref().map(|(_, reason)| reason.clone());
        unusable.or_else(|| self.templates.as_ref().err().map(ToString::to_string))
    }

    /// `text` without the password of the configuration, which NVUE may quote.
    pub(crate) fn redacted(&self, text: &str) -> String {
        match self.last().and_then(|last| last.bgp_leaf_session_password.as_deref()) {
            Some(secret) if !secret.is_empty() => text.replace(secret, "***"),
            _ => text.to_owned(),
        }
    }
}

/// The operator's templates, or why they cannot be used, and their guard.
fn operator_templates(dir: &Path, state_dir: &Path) -> (Result<Templates, TemplateError>, Option<RenderGuard>) {
    let files = match Templates::files_of(dir) {
        Ok(files) => files,
        Err(fault) => return (Err(fault), None),
    };
    let guard = RenderGuard::new(state_dir, &files);
    if guard.crashed_an_agent() {
        let fault = "the agent ended while it rendered these: they are tried again once one of them has changed".into();
        return (Err(TemplateError { file: dir.display().to_string(), line: 0, fault }), None);
    }
    let templates = {
        let _rendering = guard.begin();
        Templates::from_files(files)
    };
    (templates, Some(guard))
}
