//! Fetching: asks the controller what this DPU is to run, classifies the response, and says what it means for the DPU.

use std::num::NonZeroU32;

use proto::{
    MachineId,
    forge::{ManagedHostNetworkConfigRequest, ManagedHostNetworkConfigResponse},
};
use tonic::{Code, Request, metadata::MetadataMap};

use super::connection::{Controller, bounded, describe, may_be_transport};
use crate::state::{Marker, Versions};

/// What the controller responded.
pub(super) enum Response {
    /// What this DPU is to run.
    Config(Box<ManagedHostNetworkConfigResponse>),
    /// The site does not know this DPU.
    NotFound,
    /// Any other error.
    Failed(Failure),
}

/// Why there is no usable response.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// For people.
    pub(super) reason: String,
    /// The controller itself responded, so it can take a report.
    pub(super) reachable: bool,
}

impl Controller {
    /// Asks what this DPU is to run. The request says what it runs now, so that a site that never assigned that leaves it
    /// alone.
    pub(super) async fn fetch(&mut self, id: &MachineId, runs: Option<&Marker>) -> Response {
        let mut request = Request::new(ManagedHostNetworkConfigRequest { dpu_machine_id: Some(id.into()) });
        if let Some(runs) = runs.and_then(|marker| marker.versions.as_ref()) {
            add_versions(request.metadata_mut(), runs);
        }
        let mut client = match self.client() {
            Ok(client) => client,
            Err(fault) => return Response::Failed(Failure { reason: fault.to_string(), reachable: false }),
        };
        match bounded(self.call_limit(), client.get_managed_host_network_config(request)).await {
            Ok(response) => Response::Config(Box::new(response)),
            Err(status) if status.code() == Code::NotFound => Response::NotFound,
            Err(status) => {
                self.after(&status);
                let reachable = !may_be_transport(&status);
                Response::Failed(Failure { reason: describe(&status), reachable })
            }
        }
    }
}

fn add_versions(metadata: &mut MetadataMap, runs: &Versions) {
    let entries = [
        (proto::RUNNING_VERSION, Some(&runs.managed_host)),
        (proto::RUNNING_INSTANCE, runs.instance_id.as_ref()),
        (proto::RUNNING_INSTANCE_VERSION, runs.instance_network.as_ref()),
    ];
    for (name, text) in entries {
        if let Some(value) = text.and_then(|text| text.parse().ok()) {
            metadata.insert(name, value);
        }
    }
}

/// What a response means for the DPU.
#[derive(Clone, PartialEq)]
pub(crate) enum Instruction {
    /// Run this.
    Config(Box<ManagedHostNetworkConfigResponse>),
    /// The site does not know this DPU: cut the host off.
    Isolate,
    /// Keep what runs.
    KeepLast,
}

/// Decides when `NotFound` isolates the host. It counts such responses in a row, not passes, and any other response starts
/// the count again: a site that cannot be asked has not said that it does not know this DPU.
pub(super) struct Isolation {
    after: NonZeroU32,
    in_a_row: u32,
    unknown: bool,
}

impl Isolation {
    pub(super) fn new(after: NonZeroU32) -> Self {
        Self { after, in_a_row: 0, unknown: false }
    }

    /// The site's last word was that it does not know this DPU. An error is no word, so it leaves this as it was.
    pub(super) fn is_unknown_to_site(&self) -> bool {
        self.unknown
    }

    /// What a response means, given those before it.
    pub(super) fn instruction(&mut self, response: Response) -> Instruction {
        self.in_a_row = match response {
            Response::NotFound => self.in_a_row.saturating_add(1),
            Response::Config(_) | Response::Failed(_) => 0,
        };
        match response {
            Response::Config(config) => {
                self.unknown = false;
                Instruction::Config(config)
            }
            Response::NotFound => {
                self.unknown = true;
                if self.in_a_row >= self.after.get() { Instruction::Isolate } else { Instruction::KeepLast }
            }
            Response::Failed(_) => Instruction::KeepLast,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter a response (k: config, n: NotFound, e: another error) and what it means (K, I, -).
    fn meanings(after: u32, responses: &str) -> String {
        let mut isolation = Isolation::new(NonZeroU32::new(after).unwrap());
        responses
            .chars()
            .map(|letter| {
                let response = match letter {
                    'k' => Response::Config(Box::default()),
                    'n' => Response::NotFound,
                    _ => Response::Failed(Failure { reason: "Unavailable".into(), reachable: false }),
                };
                match isolation.instruction(response) {
                    Instruction::Config(_) => 'K',
                    Instruction::Isolate => 'I',
                    Instruction::KeepLast => '-',
                }
            })
            .collect()
    }

    #[test]
    fn not_found_in_a_row_isolates_and_other_responses_reset() {
        for (after, responses, expected) in [
            (1, "kn", "KI"),
            (1, "keee", "K---"),
            (1, "nek", "I-K"),
            (2, "knk", "K-K"),
            // Only the second NotFound in a row counts, at t=80.
            (2, "knknenenn", "K-K-----I"),
            (3, "nnnn", "--II"),
        ] {
            assert_eq!(meanings(after, responses), expected, "{after} {responses}");
        }
    }

    #[test]
    fn only_a_config_takes_back_not_found() {
        let mut isolation = Isolation::new(NonZeroU32::MIN);
        for (response, unknown) in [
            (Response::Failed(Failure { reason: "Unavailable".into(), reachable: false }), false),
            (Response::NotFound, true),
            (Response::Failed(Failure { reason: "Internal".into(), reachable: true }), true),
            (Response::Config(Box::default()), false),
        ] {
            isolation.instruction(response);
            assert_eq!(isolation.is_unknown_to_site(), unknown);
        }
    }

    #[test]
    fn a_request_carries_what_runs() {
        let mut metadata = MetadataMap::new();
        let runs = Versions { managed_host: "V7-T8".into(), ..Versions::default() };
        add_versions(&mut metadata, &runs);
        assert_eq!(metadata.get("running-network-version").unwrap(), "V7-T8");
        assert_eq!(metadata.len(), 1);
        let instance = Versions { instance_network: Some("V2-T9".into()), instance_id: Some("i-1".into()), ..runs };
        add_versions(&mut metadata, &instance);
        assert_eq!(metadata.get("running-instance").unwrap(), "i-1");
        assert_eq!(metadata.get("running-instance-network-version").unwrap(), "V2-T9");
    }
}
