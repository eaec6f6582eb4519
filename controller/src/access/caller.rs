//! Who calls, and which calls and machines each role may speak of. Set by [`super::layer`], read by every handler.

use std::fmt;

use proto::{MachineId, MachineKind};
use tonic::{Request, Status};

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Somebody, where clients need no certificate.
    Anybody,
    /// Somebody without a certificate, where clients need one.
    Nobody,
    /// A DPU's agent, or what runs on a host.
    Machine(MachineId),
    /// Whoever runs the site.
    Operator,
    /// A service that speaks for tenants.
    Tenant,
    /// A service that reports what it sees of hosts.
    Observer,
}

const VERSION: &str = "/forge.Forge/Version";
const RENEW: &str = "/forge.Forge/RenewMachineCertificate";
const EVENT: &str = "/site.Site/ReportHostEvent";

const OF_DPUS: &[&str] = &[
    VERSION,
    "/forge.Forge/GetManagedHostNetworkConfig",
    "/forge.Forge/RecordDpuNetworkStatus",
    "/forge.Forge/UpdateInstancePhoneHomeLastContact",
    RENEW,
];
const OF_HOSTS: &[&str] = &[VERSION, EVENT];
const OF_TENANTS: &[&str] = &[
    VERSION,
    "/forge.Forge/AllocateInstance",
    "/forge.Forge/ReleaseInstance",
    "/forge.Forge/UpdateInstanceConfig",
    "/forge.Forge/FindInstanceIds",
    "/forge.Forge/FindInstancesByIds",
];
const OF_OBSERVERS: &[&str] = &[
    VERSION,
    EVENT,
    "/forge.Forge/ListMachineHealthReports",
    "/forge.Forge/InsertMachineHealthReport",
    "/forge.Forge/RemoveMachineHealthReport",
];

impl Caller {
    /// Who sent a request. Where no gatekeeper has looked at it, it can be anybody.
    pub(crate) fn of<T>(request: &Request<T>) -> Self {
        request.extensions().get().cloned().unwrap_or(Self::Anybody)
    }

    /// Whether the caller may call a method, given by its path.
    pub(super) fn may_call(&self, path: &str) -> bool {
        match self {
            Self::Anybody | Self::Operator => true,
            Self::Nobody => path == RENEW,
            Self::Machine(id) if id.kind() == MachineKind::Dpu => OF_DPUS.contains(&path),
            Self::Machine(_) => OF_HOSTS.contains(&path),
            Self::Tenant => OF_TENANTS.contains(&path),
            Self::Observer => OF_OBSERVERS.contains(&path),
        }
    }

    /// Refuses a machine that speaks of another one.
    ///
    /// # Errors
    /// PERMISSION_DENIED.
    pub(crate) fn speaks_of(&self, machine: &MachineId) -> Result<(), Status> {
        match self {
            Self::Machine(own) if own != machine => {
                Err(Status::permission_denied(format!("{self} may not speak of {machine}")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anybody => f.write_str("anybody"),
            Self::Nobody => f.write_str("a client without a certificate"),
            Self::Machine(id) if id.kind() == MachineKind::Dpu => write!(f, "DPU {id}"),
            Self::Machine(id) => write!(f, "host {id}"),
            Self::Operator => f.write_str("an operator"),
            Self::Tenant => f.write_str("a tenants' service"),
            Self::Observer => f.write_str("an observer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_calls_of_its_own() {
        let machine = |letter: char| Caller::Machine(format!("fm100{letter}s{:0>52}", 1).parse().unwrap());
        let (dpu, host) = (machine('d'), machine('h'));
        for (path, may) in [
            ("/forge.Forge/Version", [true, true, true, true, true, false]),
            ("/forge.Forge/GetManagedHostNetworkConfig", [true, false, false, false, true, false]),
            ("/forge.Forge/RecordDpuNetworkStatus", [true, false, false, false, true, false]),
            ("/forge.Forge/AllocateInstance", [false, false, true, false, true, false]),
            ("/forge.Forge/GetAllManagedHostNetworkStatus", [false, false, false, false, true, false]),
            ("/forge.Forge/SetManagedHostQuarantineState", [false, false, false, false, true, false]),
            ("/forge.Forge/InsertMachineHealthReport", [false, false, false, true, true, false]),
            ("/forge.Forge/RenewMachineCertificate", [true, false, false, false, true, true]),
            ("/site.Site/ReportHostEvent", [false, true, false, true, true, false]),
            ("/site.Site/ForgetDpu", [false, false, false, false, true, false]),
            ("/site.Site/ApplyRules", [false, false, false, false, true, false]),
            ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", [false, false, false, false, true, false]),
        ] {
            let callers = [&dpu, &host, &Caller::Tenant, &Caller::Observer, &Caller::Operator, &Caller::Nobody];
            assert_eq!(callers.map(|caller| caller.may_call(path)), may, "{path}");
        }
    }
}
