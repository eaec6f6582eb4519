//! What the DPU is to run, with digests that are cheap to compare. `apply` makes the plan from it and carries it out.

use crate::{
    render::{Dhcp, RenderedFiles},
    state::{Digest, Versions},
};

/// What the DPU is to run, with the digests that tell whether it does.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) files: RenderedFiles,
    pub(crate) nvue: Digest,
    pub(crate) dhcp: Option<Digest>,
    /// None: isolated.
    pub(crate) versions: Option<Versions>,
}

impl From<RenderedFiles> for Target {
    fn from(files: RenderedFiles) -> Self {
        let serves = matches!(files.dhcp, Dhcp::Serve(_));
        let dhcp = files.dhcp.files().map(|dhcp| {
            let beside = dhcp.beside.iter().map(|file| (file.name, file.text.as_str()));
            dhcp_digest(serves, &dhcp.config, beside)
        });
        let nvue = Digest::of(&[files.nvue.as_bytes()]);
        let versions = files.acknowledge.as_ref().map(Versions::from);
        Self { files, nvue, dhcp, versions }
    }
}

/// Digest of what a DHCP server does with its file and those beside it, each with its name.
pub(crate) fn dhcp_digest<'t>(
    serves: bool,
    config: &'t str,
    beside: impl Iterator<Item = (&'t str, &'t str)>,
) -> Digest {
    let kind = if serves { "serve" } else { "stop" };
    let beside = beside.flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
    let parts: Vec<&[u8]> = [kind.as_bytes(), config.as_bytes()].into_iter().chain(beside).collect();
    Digest::of(&parts)
}
