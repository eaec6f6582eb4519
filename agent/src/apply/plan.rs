//! The plan: compares the target with what is known to run. Pure; `agent` makes it, [`apply`](super::apply) carries it out.

use crate::{desired::Target, render::Dhcp, state::Marker};

/// What is known of the DPU: the input of the plan beside the target.
pub(crate) struct KnownState<'a> {
    pub(crate) marker: Option<&'a Marker>,
    /// What the marker says was confirmed by NVUE, and nothing has happened since that could make it wrong.
    pub(crate) verified: bool,
    /// The DHCP server's files on disk are those of the target.
    pub(crate) dhcp_on_disk: bool,
    /// HBN was away, or the DPU booted: the DHCP server may listen on interfaces that are gone.
    pub(crate) interfaces_recreated: bool,
}

/// What there is to do. Nothing is the common case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) nvue: NvueStep,
    pub(crate) dhcp: DhcpStep,
    /// The same files now stand for other versions, which are to be reported.
    pub(crate) acknowledge: bool,
}

/// What to do with NVUE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NvueStep {
    Keep,
    /// It should run already; NVUE has to confirm that.
    Verify,
    Replace,
}

/// What to do with the DHCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DhcpStep {
    Keep,
    Install,
    Stop,
}

impl Plan {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { nvue: NvueStep::Keep, dhcp: DhcpStep::Keep, acknowledge: false }
    }
}

/// What has to be done so that the DPU runs the target.
pub(crate) fn plan(target: &Target, known: &KnownState<'_>) -> Plan {
    let KnownState { marker, verified, dhcp_on_disk, interfaces_recreated } = *known;
    let nvue = match marker {
        Some(marker) if marker.nvue == target.nvue => {
            if verified {
                NvueStep::Keep
            } else {
                NvueStep::Verify
            }
        }
        _ => NvueStep::Replace,
    };
    let differs = !dhcp_on_disk || marker.is_none_or(|marker| marker.dhcp != target.dhcp);
    let dhcp = match &target.files.dhcp {
        Dhcp::Serve(_) if differs || interfaces_recreated => DhcpStep::Install,
        // Files do not show whether somebody started a server that must not run.
        Dhcp::Stop(_) if differs || !verified => DhcpStep::Stop,
        _ => DhcpStep::Keep,
    };
    let acknowledge = marker.is_none_or(|marker| marker.versions != target.versions);
    Plan { nvue, dhcp, acknowledge }
}

#[cfg(test)]
mod tests {
    use proto::ConfigVersion;

    use super::*;
    use crate::render::{Acknowledgement, DhcpFiles, Expectations, RenderedFiles};

    fn target(nvue: &str, dhcp: Dhcp, version: u64) -> Target {
        Target::from(RenderedFiles {
            nvue: nvue.into(),
            dhcp,
            acknowledge: Some(Acknowledgement {
                managed_host: ConfigVersion::first(version),
                instance_network: None,
                instance_id: None,
                instance_config: None,
            }),
            expected: Expectations::default(),
        })
    }

    fn serve(text: &str) -> Dhcp {
        Dhcp::Serve(DhcpFiles { config: text.into(), beside: Vec::new() })
    }

    fn stop() -> Dhcp {
        Dhcp::Stop(DhcpFiles { config: "{}".into(), beside: Vec::new() })
    }

    fn marker(target: &Target) -> Marker {
        Marker {
            nvue: target.nvue.clone(),
            dhcp: target.dhcp.clone(),
            versions: target.versions.clone(),
            expected: None,
            since: "2031-01-01T00:00:00Z".into(),
        }
    }

    #[test]
    fn plans_only_what_differs() {
        use super::{DhcpStep as D, NvueStep as N};
        let runs = target("a", serve("1"), 1);
        let stopped = target("a", stop(), 1);
        for (case, target, runs, verified, dhcp_on_disk, expected) in [
            ("nothing", target("a", serve("1"), 1), Some(&runs), true, true, (N::Keep, D::Keep, false)),
            ("a version only", target("a", serve("1"), 2), Some(&runs), true, true, (N::Keep, D::Keep, true)),
            ("content only", target("a", serve("2"), 1), Some(&runs), true, false, (N::Keep, D::Install, false)),
            ("all", target("b", serve("2"), 2), Some(&runs), true, false, (N::Replace, D::Install, true)),
            ("after a restart", target("a", serve("1"), 1), Some(&runs), false, true, (N::Verify, D::Keep, false)),
            ("a file changed", target("a", serve("1"), 1), Some(&runs), true, false, (N::Keep, D::Install, false)),
            ("stop", target("a", stop(), 1), Some(&runs), true, false, (N::Keep, D::Stop, false)),
            ("stopped", target("a", stop(), 1), Some(&stopped), true, true, (N::Keep, D::Keep, false)),
            ("stopped?", target("a", stop(), 1), Some(&stopped), false, true, (N::Verify, D::Stop, false)),
            ("first", target("a", serve("1"), 1), None, false, false, (N::Replace, D::Install, true)),
            ("not ours", target("a", Dhcp::Unmanaged, 1), None, true, true, (N::Replace, D::Keep, true)),
        ] {
            let marker = runs.map(marker);
            let known = KnownState { marker: marker.as_ref(), verified, dhcp_on_disk, interfaces_recreated: false };
            let (nvue, dhcp, acknowledge) = expected;
            assert_eq!(plan(&target, &known), Plan { nvue, dhcp, acknowledge }, "{case}");
        }
    }

    #[test]
    fn a_server_that_serves_follows_recreated_interfaces() {
        for (target, dhcp) in
            [(target("a", serve("1"), 1), DhcpStep::Install), (target("a", Dhcp::Unmanaged, 1), DhcpStep::Keep)]
        {
            let marker = marker(&target);
            let known =
                KnownState { marker: Some(&marker), verified: false, dhcp_on_disk: true, interfaces_recreated: true };
            assert_eq!(plan(&target, &known), Plan { nvue: NvueStep::Verify, dhcp, acknowledge: false });
        }
    }
}
