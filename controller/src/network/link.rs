//! What surrounds a host's address. A bridged interface is in its prefix's segment. A routed one is on a link of two
//! addresses, the lower one the DPU's, the upper one the host's.

use std::net::IpAddr;

use ipnet::IpNet;

use super::addresses::gateway_of;
use crate::store::Virtualization;

/// The link of a host's address: a prefix of two addresses, which starts with the DPU's.
fn link_of(address: IpAddr) -> IpNet {
    let length = if address.is_ipv4() { 31 } else { 127 };
    IpNet::new_assert(address, length).trunc()
}

/// The network around a host's address, as the host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSide {
    /// Address of the DPU, with the length of `prefix`.
    pub gateway: IpNet,
    /// What is on the link.
    pub prefix: IpNet,
    /// What of it is the host's.
    pub host: IpNet,
}

/// The network around an address of a VPC's prefix: its segment if the VPC is bridged, a link of its own if it is routed.
#[must_use]
pub fn host_side(virtualization: Virtualization, prefix: IpNet, address: IpAddr) -> HostSide {
    match virtualization {
        Virtualization::Etv => {
            let gateway = gateway_of(prefix).unwrap_or_else(|| prefix.addr());
            HostSide { gateway: IpNet::new_assert(gateway, prefix.prefix_len()), prefix, host: address.into() }
        }
        Virtualization::Fnn => {
            let link = link_of(address);
            HostSide { gateway: link, prefix: link, host: link }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::addresses::is_host_end, *};

    #[test]
    fn a_link_starts_with_the_dpus_address() {
        for (host, link, end) in [
            ("10.0.1.1", "10.0.1.0/31", true),
            ("10.0.1.0", "10.0.1.0/31", false),
            ("10.0.1.255", "10.0.1.254/31", true),
            ("2001:db8::5", "2001:db8::4/127", true),
        ] {
            let host = host.parse().unwrap();
            assert_eq!((link_of(host).to_string().as_str(), is_host_end(host)), (link, end));
        }
    }
}
