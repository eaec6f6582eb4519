//! The interfaces that a tenant's config asks for, parsed and checked against the host and the VPCs.

use std::{collections::BTreeSet, net::IpAddr};

use ipnet::IpNet;
use proto::forge::{InstanceNetworkConfig, InterfaceFunctionType, instance_interface_config::NetworkDetails};

use crate::{
    VpcPrefixId,
    store::{PortFunction, Virtualization, Vpc},
};

/// An interface that a tenant's config asks for, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredInterface {
    /// Place of the DPU within the host.
    pub dpu_position: u32,
    /// Port of the DPU.
    pub function: PortFunction,
    /// Prefix that the address is to come from.
    pub prefix: VpcPrefixId,
    /// The address, if the tenant wants a certain one.
    pub address: Option<IpAddr>,
    /// What the host may announce, if not all that the VPC may.
    pub anycast_prefixes: Option<Vec<IpNet>>,
    /// Device name in the tenant's config.
    pub device: Option<String>,
    /// Device number in the tenant's config.
    pub device_instance: u32,
}

/// What is wrong with an interface of a tenant's config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {fault}")]
pub struct InterfaceFault {
    /// Field of the request, e.g. `config.network.interfaces[1].vpc_prefix_id`.
    pub field: String,
    /// What is wrong with it.
    pub fault: String,
}

/// Virtual functions of a DPU, numbered from 0.
const VIRTUAL_FUNCTIONS: u32 = 16;

/// Reads the interfaces of a tenant's config for a host whose DPUs are at the places `dpus`.
///
/// A physical interface that names no device goes to the primary DPU if it is the only physical one. One that names a
/// device goes to the DPU at the place of its number. A virtual one goes where its device says, or to the primary DPU.
/// Without a primary DPU, over which it boots, a host can carry nothing.
///
/// # Errors
/// All faults, each with its field.
pub fn desired_interfaces(
    config: &InstanceNetworkConfig,
    vpcs: &[Vpc],
    tenant: &str,
    dpus: &[u32],
) -> Result<Vec<DesiredInterface>, Vec<InterfaceFault>> {
    let mut faults = Vec::new();
    let mut wanted: Vec<DesiredInterface> = Vec::new();
    let physical = config.interfaces.iter().filter(|one| one.function_type == InterfaceFunctionType::Physical as i32);
    let physical = physical.count();
    for (place, interface) in config.interfaces.iter().enumerate() {
        let mut fault = |field: &str, fault: String| {
            faults.push(InterfaceFault { field: format!("config.network.interfaces[{place}].{field}"), fault });
        };
        let function = match (InterfaceFunctionType::try_from(interface.function_type), interface.virtual_function_id) {
            (Ok(InterfaceFunctionType::Physical), None) => Some(PortFunction::Physical),
            (Ok(InterfaceFunctionType::Physical), Some(_)) => {
                fault("virtual_function_id", "must be absent for a physical interface".into());
                None
            }
            (Ok(InterfaceFunctionType::Virtual), Some(id)) if id < VIRTUAL_FUNCTIONS => Some(PortFunction::Virtual(id)),
            (Ok(InterfaceFunctionType::Virtual), id) => {
                let said = id.map_or("nothing".into(), |id| id.to_string());
                fault("virtual_function_id", format!("must be 0 to {}, not {said}", VIRTUAL_FUNCTIONS - 1));
                None
            }
            (Err(_), _) => {
                fault("function_type", format!("unknown value {}", interface.function_type));
                None
            }
        };
        let names_device = interface.device.as_deref().is_some_and(|device| !device.is_empty());
        let dpu_position = if names_device { interface.device_instance } else { 0 };
        if !names_device && function == Some(PortFunction::Physical) && physical > 1 {
            fault("device", "must be given: more than one physical interface is asked for".into());
        }
        if names_device && !dpus.contains(&dpu_position) {
            fault("device_instance", format!("{dpu_position} is not there: the host has {} DPUs", dpus.len()));
        }
        let prefix = match &interface.network_details {
            Some(NetworkDetails::VpcPrefixId(id)) => id.value.parse().map_err(|error| format!("{error}")),
            Some(NetworkDetails::SegmentId(_)) => {
                Err("network segments are made from VPC prefixes: give vpc_prefix_id".into())
            }
            None => Err("is missing".into()),
        };
        let prefix: Option<VpcPrefixId> = prefix.map_err(|error| fault("vpc_prefix_id", error)).ok();
        let found = prefix.and_then(|id| {
            vpcs.iter().find_map(|vpc| vpc.prefixes.iter().find(|prefix| prefix.id == id).map(|prefix| (vpc, prefix)))
        });
        match (prefix, found) {
            (Some(id), None) => fault("vpc_prefix_id", format!("no VPC has prefix {id}")),
            (_, Some((vpc, _))) if vpc.tenant != tenant => {
                fault("vpc_prefix_id", "belongs to a VPC of another tenant".to_owned());
            }
            _ => {}
        }
        let address = interface.ip_address.as_deref().filter(|text| !text.is_empty()).and_then(|text| {
            text.parse::<IpAddr>()
                .map_err(|_| fault("ip_address", format!("`{}` is no IP address", text.escape_default())))
                .ok()
        });
        if let (Some(address), Some((_, prefix))) = (address, found)
            && !prefix.prefix.contains(&address)
        {
            fault("ip_address", format!("{address} is not in prefix {}", prefix.prefix));
        }
        if interface.ipv6_interface_config.is_some() {
            fault("ipv6_interface_config", "is not supported".into());
        }
        let routed = found.is_some_and(|(vpc, _)| vpc.virtualization == Virtualization::Fnn);
        let mut anycast_prefixes = None;
        if let Some(profile) = &interface.routing_profile {
            if !routed {
                fault("routing_profile", "is for routed VPCs only".into());
            }
            let mut allowed = Vec::new();
            for (place, entry) in profile.allowed_anycast_prefixes.iter().enumerate() {
                match entry.prefix.parse() {
                    Ok(prefix) => allowed.push(prefix),
                    Err(_) => fault(
                        &format!("routing_profile.allowed_anycast_prefixes[{place}].prefix"),
                        format!("`{}` is no prefix", entry.prefix.escape_default()),
                    ),
                }
            }
            anycast_prefixes = Some(allowed);
        }
        if let (Some(function), Some(prefix)) = (function, prefix) {
            wanted.push(DesiredInterface {
                dpu_position,
                function,
                prefix,
                address,
                anycast_prefixes,
                device: interface.device.clone(),
                device_instance: interface.device_instance,
            });
        }
    }
    let mut ports = BTreeSet::new();
    for (place, interface) in wanted.iter().enumerate() {
        if !ports.insert((interface.dpu_position, interface.function)) {
            faults.push(InterfaceFault {
                field: format!("config.network.interfaces[{place}]"),
                fault: "names a port that another interface has".into(),
            });
        }
    }
    // A DPU is bridged or routed as a whole.
    let kind = |interface: &DesiredInterface| {
        let mut all = vpcs.iter();
        all.find(|vpc| vpc.prefixes.iter().any(|prefix| prefix.id == interface.prefix)).map(|vpc| vpc.virtualization)
    };
    for (place, interface) in wanted.iter().enumerate() {
        let mut before = wanted.iter().take(place).filter(|other| other.dpu_position == interface.dpu_position);
        if before.any(|other| kind(other) != kind(interface)) {
            faults.push(InterfaceFault {
                field: format!("config.network.interfaces[{place}].vpc_prefix_id"),
                fault: "bridged and routed VPCs cannot share a DPU".into(),
            });
        }
    }
    let of_all = [
        (config.interfaces.is_empty(), "must name at least one interface"),
        (!dpus.contains(&0), "have nobody to carry them: the host has no primary DPU"),
    ];
    for (_, fault) in of_all.into_iter().filter(|(wrong, _)| *wrong) {
        faults.push(InterfaceFault { field: "config.network.interfaces".to_owned(), fault: fault.to_owned() });
    }
    if faults.is_empty() { Ok(wanted) } else { Err(faults) }
}
