//! Names and ids of machines that are made up, and what their BMCs ask for: the same in every test and in the demo.

use proto::MachineId;

/// User that simulated BMCs ask for.
pub const BMC_USER: &str = "root";
/// That user's password.
pub const BMC_PASSWORD: &str = "simulated-bmc";

/// Name of a host, counted from 1.
#[must_use]
pub fn host_name(host: usize) -> String {
    format!("host-{host}")
}

/// Name of the DPU at a place of a host, counted from 0, as the controller names those without a name.
#[must_use]
pub fn dpu_name(host: usize, place: usize) -> String {
    format!("host-{host}-dpu{place}")
}

/// Id of a host's hardware.
///
/// # Panics
/// If the number has more digits than an id.
#[must_use]
pub fn host_id(host: usize) -> MachineId {
    id('h', host)
}

/// Id of the hardware of the DPU at a place of a host, of which there are ten.
///
/// # Panics
/// If the number has more digits than an id.
#[must_use]
pub fn dpu_id(host: usize, place: usize) -> MachineId {
    id('d', host * 10 + place)
}

#[allow(clippy::expect_used, reason = "52 digits hold every number")]
fn id(kind: char, number: usize) -> MachineId {
    format!("fm100{kind}s{number:0>52}").parse().expect("a machine id")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_have_the_form_of_machine_ids_and_differ() {
        let hosts = [1, 2, 11].map(host_id);
        let dpus = [(1, 0), (1, 1), (2, 0), (11, 0)].map(|(host, place)| dpu_id(host, place));
        assert!(hosts.iter().all(|id| id.as_str().starts_with("fm100hs")));
        assert!(dpus.iter().all(|id| id.as_str().starts_with("fm100ds")));
        assert_eq!(hosts.iter().chain(&dpus).collect::<BTreeSet<_>>().len(), 7);
    }
}
