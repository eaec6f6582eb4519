//! Parsing of a response: it becomes a [`NetworkConfig`] or is refused with the name of the field.

mod field;
mod intercept;
mod port;
mod port_checks;
mod prefix;
mod routing;
mod scope;
mod security;
mod size;

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use proto::{
    ConfigVersion,
    forge::{ManagedHostNetworkConfigResponse, VpcIsolationBehaviorType, VpcVirtualizationType},
};

use field::{fault, networks, number_some, option_text, parse_some};
use scope::Scope;

pub use field::ConfigError;
pub(crate) use intercept::Intercept;
pub(crate) use port::{Function, Port};
pub(crate) use prefix::Prefix;
pub(crate) use routing::{RouteTarget, RoutingProfile};
pub(crate) use security::{Action, Direction, Protocol, SecurityGroup, SecurityRule};

/// A complete, valid configuration of one DPU.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    pub(crate) underlay: Underlay,
    pub(crate) network: Network,
    pub(crate) virtualization: Virtualization,
    /// Ports to configure, in the order of the message; none on a secondary DPU of the admin network.
    pub(crate) ports: Vec<Port>,
    /// The admin network's port, wherever it is; none on a tenant network.
    pub(crate) admin: Option<Port>,
    pub(crate) deny_prefixes: Vec<Prefix>,
    pub(crate) site_fabric_prefixes: Vec<Prefix>,
    pub(crate) anycast_site_prefixes: Vec<Prefix>,
    /// VPCs are isolated from the site's fabric.
    pub(crate) isolation: bool,
    pub(crate) stateful_acls: bool,
    pub(crate) quarantined: bool,
    pub(crate) overrides: Vec<SecurityRule>,
    /// The tenant's security groups, each once, by id. Ports name theirs by position.
    pub(crate) security_groups: Vec<SecurityGroup>,
    pub(crate) intercept: Intercept,
    pub(crate) datacenter_asn: u32,
    pub(crate) common_internal_route_target: Option<RouteTarget>,
    pub(crate) additional_imports: Vec<RouteTarget>,
    pub(crate) site_profile: Option<RoutingProfile>,
    pub(crate) tenant_asn: Option<u32>,
    pub(crate) site_global_vpc_vni: Option<u32>,
    pub(crate) host_interface_id: Option<String>,
    pub(crate) min_links: usize,
    pub(crate) acknowledge: Acknowledgement,
}

/// Which network the host is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    AdminPrimary,
    AdminSecondary,
    Tenant,
}

impl Network {
    pub(crate) fn is_admin(self) -> bool {
        self != Self::Tenant
    }
}

/// How networks are made virtual. The deprecated values of the wire are mapped here and nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Virtualization {
    Etv,
    Fnn,
}

/// What the DPU itself needs to reach the site, whoever uses the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Underlay {
    pub(crate) asn: u32,
    pub(crate) loopback: Ipv4Addr,
    pub(crate) route_servers: BTreeSet<IpAddr>,
    pub(crate) password: Option<Password>,
    /// Of the site only the default route is taken; FNN's underlay takes them all.
    pub(crate) default_route_only: bool,
}

/// A password of a BGP session: shown only in the file that needs it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Password(String);

impl Password {
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl Underlay {
    /// The same with asterisks for its password, if it has one.
    pub(crate) fn masked(&self) -> Option<Self> {
        let password = self.password.as_ref().map(|_| Password("********".into()))?;
        Some(Self { password: Some(password), ..self.clone() })
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What to report to the controller once the configuration runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// `managed_host_config_version`.
    pub managed_host: ConfigVersion,
    /// The instance's network config version: the older one, if the message and its instance disagree.
    pub instance_network: Option<ConfigVersion>,
    /// The instance, if there is one.
    pub instance_id: Option<String>,
    /// The instance's config version, as the controller wrote it.
    pub instance_config: Option<String>,
}

impl NetworkConfig {
    /// The part that stays when the DPU is cut off.
    #[must_use]
    pub fn underlay(&self) -> &Underlay {
        &self.underlay
    }

    /// Versions to report once this runs.
    #[must_use]
    pub fn acknowledgement(&self) -> &Acknowledgement {
        &self.acknowledge
    }

    /// Whether the DHCP server on this DPU is to answer the host.
    #[must_use]
    pub fn serves_dhcp(&self) -> bool {
        self.network != Network::AdminSecondary
    }
}

impl TryFrom<&ManagedHostNetworkConfigResponse> for Underlay {
    type Error = ConfigError;

    /// Reads nothing else, so that no fault in what the host had takes a DPU that is cut off its way back.
    fn try_from(message: &ManagedHostNetworkConfigResponse) -> Result<Self, Self::Error> {
        underlay(message, virtualization(message.network_virtualization_type)?)
    }
}

impl TryFrom<&ManagedHostNetworkConfigResponse> for NetworkConfig {
    type Error = ConfigError;

    fn try_from(message: &ManagedHostNetworkConfigResponse) -> Result<Self, Self::Error> {
        let virtualization = virtualization(message.network_virtualization_type)?;
        let network = match (message.use_admin_network, message.is_primary_dpu) {
            (true, true) => Network::AdminPrimary,
            (true, false) => Network::AdminSecondary,
            (false, _) => Network::Tenant,
        };
        let managed = message.managed_host_config.as_ref();
        let quarantined = managed.is_some_and(|managed| managed.quarantine_state.is_some());
        let scope = Scope { network, virtualization, quarantined };
        let admin = message.admin_interface.as_ref().filter(|_| network.is_admin());
        let admin = admin.map(|port| Port::parse("admin_interface", port, scope)).transpose()?;
        let mut groups = Vec::new();
        let mut tenant_ports = Vec::new();
        for (index, port) in message.tenant_interfaces.iter().enumerate() {
            let at = format!("tenant_interfaces[{index}]");
            groups.push(SecurityGroup::of_port(&at, port, scope)?);
            if network == Network::Tenant {
                tenant_ports.push(Port::parse(at, port, scope)?);
            }
        }
        let mut security_groups = security::distinct(&groups);
        for (port, group) in tenant_ports.iter_mut().zip(&groups) {
            port.security_group = security_groups.iter().position(|known| Some(known) == group.as_ref());
        }
        if !scope.groups_decide() {
            security::shorten(&mut security_groups);
        }
        let ports = match network {
            Network::AdminSecondary => Vec::new(),
            Network::AdminPrimary => match &admin {
                Some(port) => vec![port.clone()],
                None => return Err(fault("admin_interface", "is missing on the admin network")),
            },
            Network::Tenant if tenant_ports.is_empty() => {
                return Err(fault("tenant_interfaces", "is empty on a tenant network"));
            }
            Network::Tenant => tenant_ports,
        };
        let list = |field: &str, texts: &[String]| networks(field, texts.iter().map(String::as_str));
        let config = Self {
            underlay: underlay(message, virtualization)?,
            network,
            virtualization,
            ports,
            admin,
            deny_prefixes: list("deny_prefixes", scope.listed(&message.deny_prefixes))?,
            site_fabric_prefixes: list("site_fabric_prefixes", scope.listed(&message.site_fabric_prefixes))?,
            anycast_site_prefixes: list("anycast_site_prefixes", &message.anycast_site_prefixes)?,
            isolation: match VpcIsolationBehaviorType::try_from(message.vpc_isolation_behavior) {
                Ok(VpcIsolationBehaviorType::VpcIsolationOpen) => false,
                Ok(VpcIsolationBehaviorType::VpcIsolationMutual) => true,
                _ => {
                    let number = message.vpc_isolation_behavior;
                    let what = format_args!("is {number}, neither OPEN (1) nor MUTUAL (2)");
                    return Err(fault("vpc_isolation_behavior", what));
                }
            },
            stateful_acls: message.stateful_acls_enabled,
            quarantined,
            overrides: security::rules(
                "network_security_policy_overrides",
                scope.overrides(&message.network_security_policy_overrides),
            )?,
            security_groups,
            intercept: match &message.traffic_intercept_config {
                Some(intercept) => Intercept::parse(intercept, "_if".len())?,
                None => Intercept::default(),
            },
            datacenter_asn: message.datacenter_asn,
            common_internal_route_target: message.common_internal_route_target.as_ref().map(RouteTarget::from),
            additional_imports: message.additional_route_target_imports.iter().map(RouteTarget::from).collect(),
            site_profile: message
                .routing_profile
                .as_ref()
                .filter(|_| scope.is_fnn())
                .map(|profile| RoutingProfile::parse("routing_profile", profile))
                .transpose()?,
            tenant_asn: message.tenant_host_asn.filter(|asn| *asn != 0),
            site_global_vpc_vni: match message.site_global_vpc_vni {
                Some(vni) => number_some("site_global_vpc_vni", vni, (1 << 24) - 1, "a VNI, 1 to 16777215")?,
                None => None,
            },
            host_interface_id: match message.host_interface_id.as_deref() {
                Some(id) => option_text("host_interface_id", id)?,
                None => None,
            },
            min_links: usize::try_from(message.min_dpu_functioning_links.unwrap_or(2)).unwrap_or(usize::MAX),
            acknowledge: acknowledgement(message)?,
        };
        config.check_ports()?;
        config.check_size()?;
        Ok(config)
    }
}

impl NetworkConfig {
    /// The routing profile of a port's VPC.
    pub(crate) fn profile_of<'a>(&'a self, port: &'a Port) -> Option<&'a RoutingProfile> {
        port.vpc_profile.as_ref().or(self.site_profile.as_ref())
    }
}

fn virtualization(number: Option<i32>) -> Result<Virtualization, ConfigError> {
    let field = "network_virtualization_type";
    match number.map(VpcVirtualizationType::try_from) {
        None
        | Some(Ok(VpcVirtualizationType::EthernetVirtualizer | VpcVirtualizationType::EthernetVirtualizerWithNvue)) => {
            Ok(Virtualization::Etv)
        }
        Some(Ok(VpcVirtualizationType::FnnClassic | VpcVirtualizationType::FnnL3 | VpcVirtualizationType::Fnn)) => {
            Ok(Virtualization::Fnn)
        }
        Some(Ok(VpcVirtualizationType::Flat)) => Err(fault(field, "is FLAT, which no DPU is configured for")),
        Some(Err(_)) => {
            Err(fault(field, format_args!("is {}, which this agent does not know", number.unwrap_or_default())))
        }
    }
}

fn underlay(
    message: &ManagedHostNetworkConfigResponse,
    virtualization: Virtualization,
) -> Result<Underlay, ConfigError> {
    let loopback = message.managed_host_config.as_ref().map_or("", |managed| managed.loopback_ip.as_str());
    let route_servers = message
        .route_servers
        .iter()
        .enumerate()
        .map(|(index, text)| field::parse(format_args!("route_servers[{index}]"), text, "an IP address"));
    let password = message.bgp_leaf_session_password.as_deref().unwrap_or_default();
    if message.asn == 0 {
        return Err(fault("asn", "is missing"));
    }
    if password.chars().any(char::is_control) {
        return Err(fault("bgp_leaf_session_password", "has a control character"));
    }
    Ok(Underlay {
        asn: message.asn,
        loopback: field::parse("managed_host_config.loopback_ip", loopback, "an IPv4 address")?,
        route_servers: route_servers.collect::<Result<_, _>>()?,
        default_route_only: virtualization == Virtualization::Etv,
        // Only fabrics of FNN sites ask for one.
        password: (virtualization == Virtualization::Fnn && !password.is_empty()).then(|| Password(password.into())),
    })
}

fn acknowledgement(message: &ManagedHostNetworkConfigResponse) -> Result<Acknowledgement, ConfigError> {
    let what = "a config version, V<number>-T<microseconds>";
    let instance = message.instance.as_ref();
    let own: Option<ConfigVersion> =
        parse_some("instance_network_config_version", &message.instance_network_config_version, what)?;
    // The message and the instance inside it are read at different moments: the older version is the safe claim.
    let embedded = instance.and_then(|instance| instance.network_config_version.parse().ok());
    let id = message.instance_id.as_ref().or(instance.and_then(|instance| instance.id.as_ref()));
    Ok(Acknowledgement {
        managed_host: field::parse("managed_host_config_version", &message.managed_host_config_version, what)?,
        instance_network: own.map(|own| embedded.map_or(own, |embedded| own.older(embedded))),
        instance_id: id.map(|id| id.value.clone()).filter(|id| !id.is_empty()),
        instance_config: instance.map(|instance| instance.config_version.clone()).filter(|version| !version.is_empty()),
    })
}
