//! What ports need for their kind of network, and what they ask of each other: two that ask for different things by one
//! name would be refused by NVUE, or one of them would get what the other asked for.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt,
    net::IpAddr,
};

use super::{ConfigError, Network, NetworkConfig, Port, Virtualization, field::fault};

impl Port {
    fn fault(&self, field: &str, what: impl fmt::Display) -> ConfigError {
        fault(format_args!("{}.{field}", self.field), what)
    }
}

impl NetworkConfig {
    pub(super) fn check_ports(&self) -> Result<(), ConfigError> {
        let mut functions = BTreeSet::new();
        for port in &self.ports {
            if !functions.insert(port.function) {
                return Err(port.fault("function_type", "names a function that an earlier interface has already"));
            }
            self.check_fields(port)?;
        }
        self.check_vlans()?;
        self.check_vnis()?;
        self.check_peers()
    }

    fn is_fnn(&self) -> bool {
        self.virtualization == Virtualization::Fnn
    }

    fn check_fields(&self, port: &Port) -> Result<(), ConfigError> {
        let need = |there: bool, field: &str, why: &str| if there { Ok(()) } else { Err(port.fault(field, why)) };
        need(!self.is_bridged(port) || port.vlan.is_some(), "vlan_id", "is missing on a bridged port")?;
        if self.is_fnn() {
            need(port.vpc_vni.is_some(), "vpc_vni", "is missing on an FNN network")?;
            need(!port.layer2 || port.vni.is_some(), "vni", "is missing on a layer 2 port")?;
            need(!port.layer2 || port.svi.is_some(), "svi_ip", "is missing on a layer 2 port of an FNN network")?;
            let profile = port.vpc_profile.is_some() || self.site_profile.is_some();
            need(profile, "vpc_routing_profile", "is missing, and the site has no routing_profile either")?;
        }
        Ok(())
    }

    fn is_bridged(&self, port: &Port) -> bool {
        !self.is_fnn() || port.layer2
    }

    /// The VNI that a port's VLAN is bridged to.
    pub(crate) fn bridged_vni(&self, port: &Port) -> Option<u32> {
        port.vni.filter(|_| port.layer2 && (self.is_fnn() || self.network == Network::Tenant))
    }

    /// Ports with one VLAN are in one network.
    fn check_vlans(&self) -> Result<(), ConfigError> {
        let mut known: BTreeMap<u32, &Port> = BTreeMap::new();
        for port in self.ports.iter().filter(|port| self.is_bridged(port)) {
            let Some(vlan) = port.vlan else { continue };
            let other = known.entry(vlan).or_insert(port);
            if self.bridged_vni(port) != self.bridged_vni(other) {
                let what = format!("is {vlan}, which {} has with another VNI", other.field);
                return Err(port.fault("vlan_id", what));
            }
            if self.is_fnn() && port.vpc_vni != other.vpc_vni {
                return Err(port.fault("vlan_id", format_args!("is {vlan}, which {} has in another VPC", other.field)));
            }
        }
        Ok(())
    }

    /// A VNI belongs to one VLAN or to one VPC.
    fn check_vnis(&self) -> Result<(), ConfigError> {
        let mut known: BTreeMap<u32, &Port> = BTreeMap::new();
        let of_vpcs: BTreeSet<u32> = match self.virtualization {
            Virtualization::Etv => BTreeSet::new(),
            Virtualization::Fnn => {
                self.ports.iter().filter_map(|port| self.site_global_vpc_vni.or(port.vpc_vni)).collect()
            }
        };
        for port in &self.ports {
            let Some(vni) = self.bridged_vni(port) else { continue };
            let other = known.entry(vni).or_insert(port);
            if port.vlan != other.vlan {
                return Err(port.fault("vni", format_args!("is {vni}, which {} has with another VLAN", other.field)));
            }
            if of_vpcs.contains(&vni) {
                return Err(port.fault("vni", format_args!("is {vni}, which is the VNI of a VPC")));
            }
        }
        Ok(())
    }

    /// An address is that of one BGP neighbour in its VRF.
    fn check_peers(&self) -> Result<(), ConfigError> {
        let mut known: BTreeMap<(Option<u32>, IpAddr), &str> = BTreeMap::new();
        let servers = self.underlay.route_servers.iter().filter(|_| !self.is_fnn());
        known.extend(servers.map(|server| ((None, *server), "a route server")));
        if !self.is_fnn() && self.network.is_admin() {
            return Ok(());
        }
        for port in &self.ports {
            let vrf = port.vpc_vni.filter(|_| self.is_fnn());
            for address in port.addresses() {
                let field = if address.is_ipv4() { "ip" } else { "ipv6_interface_config.ip" };
                match known.entry((vrf, address)) {
                    // In ETV all hosts are neighbours of one kind.
                    Entry::Occupied(other) if self.is_fnn() || *other.get() == "a route server" => {
                        return Err(port.fault(field, format_args!("is {address}, which {} has too", other.get())));
                    }
                    Entry::Occupied(_) => {}
                    Entry::Vacant(free) => {
                        free.insert(&port.field);
                    }
                }
            }
            if let Some(gateway) = self.intercept.gateway()
                && let Some(other) = known.get(&(vrf, gateway))
                && (self.is_fnn() || *other == "a route server")
            {
                let field = "traffic_intercept_config.bridging.internal_bridge_routing_prefix";
                return Err(fault(field, format_args!("has {gateway} as its third host, which {other} has too")));
            }
        }
        Ok(())
    }
}
