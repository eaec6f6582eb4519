use proto::forge::TenantState;

/// What a tenant's view of an instance rests on.
pub(super) struct TenantFacts<'a> {
    /// State path of the host.
    pub(super) state: &'a str,
    pub(super) deletion_requested: bool,
    pub(super) phone_home_pending: bool,
    pub(super) configs_synced: bool,
}

/// State of an instance as its tenant sees it, and a detail where the state alone says too little.
pub(super) fn tenant_state(facts: &TenantFacts<'_>) -> (TenantState, String) {
    if facts.deletion_requested {
        return (TenantState::Terminating, String::new());
    }
    let mut parts = facts.state.split('/');
    let state = match (parts.next().unwrap_or_default(), parts.next()) {
        ("Ready", None) => TenantState::Provisioning,
        ("Assigned", Some(part)) => match part {
            "Ready" if facts.phone_home_pending => TenantState::Provisioning,
            "Ready" if facts.configs_synced => TenantState::Ready,
            "Ready" | "NetworkConfigUpdate" | "HostPlatformConfiguration" | "WaitingForDpusToUp" => {
                TenantState::Configuring
            }
            "BootingWithDiscoveryImage" => TenantState::Updating,
            "SwitchToAdminNetwork" | "WaitingForNetworkReconfig" => TenantState::Terminating,
            "Failed" => TenantState::Failed,
            part if part.starts_with("WaitingFor") => TenantState::Provisioning,
            _ => TenantState::Invalid,
        },
        ("HostReprovision" | "DPUReprovision", _) => TenantState::Updating,
        ("ForceDeletion", _) => TenantState::Terminating,
        _ => TenantState::Invalid,
    };
    let details = match state {
        TenantState::Invalid => format!("host is in state {}", facts.state),
        TenantState::Provisioning if facts.phone_home_pending && facts.state == "Assigned/Ready" => {
            "waiting for the operating system to call home".to_owned()
        }
        _ => String::new(),
    };
    (state, details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_state_shows_as_the_tenants() {
        for (state, expected) in [
            ("Ready", TenantState::Provisioning),
            ("Assigned/WaitingForNetworkSegmentToBeReady", TenantState::Provisioning),
            ("Assigned/WaitingForNetworkConfig", TenantState::Provisioning),
            ("Assigned/WaitingForStorageConfig", TenantState::Provisioning),
            ("Assigned/WaitingForExtensionServicesConfig", TenantState::Provisioning),
            ("Assigned/WaitingForRebootToReady", TenantState::Provisioning),
            ("Assigned/Ready", TenantState::Ready),
            ("Assigned/NetworkConfigUpdate/WaitingForConfigSynced", TenantState::Configuring),
            ("Assigned/HostPlatformConfiguration/LockHost", TenantState::Configuring),
            ("Assigned/WaitingForDpusToUp", TenantState::Configuring),
            ("Assigned/BootingWithDiscoveryImage", TenantState::Updating),
            ("HostReprovision/CheckingFirmware", TenantState::Updating),
            ("DPUReprovision/WaitingForNetworkInstall", TenantState::Updating),
            ("Assigned/SwitchToAdminNetwork", TenantState::Terminating),
            ("Assigned/WaitingForNetworkReconfig", TenantState::Terminating),
            ("ForceDeletion", TenantState::Terminating),
            ("Assigned/Failed", TenantState::Failed),
            ("HostInit/WaitingForLockdown", TenantState::Invalid),
        ] {
            let facts =
                TenantFacts { state, deletion_requested: false, phone_home_pending: false, configs_synced: true };
            assert_eq!(tenant_state(&facts).0, expected, "{state}");
        }
    }

    #[test]
    fn deletion_shows_first_whatever_the_state() {
        for state in ["Ready", "Assigned/Ready", "Assigned/Failed", "HostInit/Discovered"] {
            let facts = TenantFacts { state, deletion_requested: true, phone_home_pending: true, configs_synced: true };
            assert_eq!(tenant_state(&facts).0, TenantState::Terminating, "{state}");
        }
    }

    #[test]
    fn a_ready_host_shows_ready_only_when_synced_and_heard_of() {
        for (phone_home_pending, configs_synced, expected) in [
            (false, true, TenantState::Ready),
            (false, false, TenantState::Configuring),
            (true, true, TenantState::Provisioning),
            (true, false, TenantState::Provisioning),
        ] {
            let facts =
                TenantFacts { state: "Assigned/Ready", deletion_requested: false, phone_home_pending, configs_synced };
            assert_eq!(tenant_state(&facts).0, expected);
        }
    }
}
