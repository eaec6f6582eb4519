//! Which network an instance gets, from options to the message.

use proto::{common, forge, site};

use crate::{connect::Controller, failure::Failure};

#[derive(clap::Args)]
#[group(id = "network", required = true, multiple = true, args = ["vpc", "vpc_prefix"])]
pub(crate) struct NetworkArgs {
    /// VPC by id or name; addresses come from its first prefix
    #[arg(long, conflicts_with = "vpc_prefix")]
    vpc: Option<String>,
    /// VPC prefix by id or CIDR
    #[arg(long, value_name = "ID|CIDR")]
    vpc_prefix: Option<String>,
    /// Adds a virtual function of the same prefix; may be repeated
    #[arg(long = "vf", value_name = "N", value_parser = clap::value_parser!(u32).range(0..16))]
    virtual_functions: Vec<u32>,
    /// Address of the physical function; the site picks one if left out
    #[arg(long)]
    ip: Option<std::net::IpAddr>,
}

impl NetworkArgs {
    /// The interfaces, and the organization that owns their VPC.
    pub(crate) async fn resolve(
        &self,
        controller: &mut Controller,
    ) -> Result<(forge::InstanceNetworkConfig, String), Failure> {
        let failure = controller.failure();
        let vpcs = controller.site.list_vpcs(site::ListVpcsRequest {}).await.map_err(failure)?.into_inner().vpcs;
        let (prefix, owner) = self.prefix(&vpcs)?;
        Ok((self.interfaces(prefix), owner.to_owned()))
    }

    fn prefix<'a>(&self, vpcs: &'a [site::Vpc]) -> Result<(&'a site::VpcPrefix, &'a str), Failure> {
        let missing = |what: &str, name: &str| Failure::NotFound(format!("no {what} `{name}`"));
        if let Some(wanted) = &self.vpc_prefix {
            let mut all = vpcs.iter().flat_map(|vpc| vpc.prefixes.iter().map(move |prefix| (prefix, vpc)));
            let found = all.find(|(prefix, _)| prefix.id == *wanted || prefix.prefix == *wanted);
            let (prefix, vpc) = found.ok_or_else(|| missing("VPC prefix", wanted))?;
            return Ok((prefix, &vpc.tenant_organization_id));
        }
        let wanted = self.vpc.as_deref().unwrap_or_default();
        let vpc =
            vpcs.iter().find(|vpc| vpc.id == wanted || vpc.name == wanted).ok_or_else(|| missing("VPC", wanted))?;
        let prefix = vpc.prefixes.first().ok_or_else(|| Failure::Refused(format!("VPC `{wanted}` has no prefix")))?;
        Ok((prefix, &vpc.tenant_organization_id))
    }

    /// The physical function first, then the virtual ones in ascending order, each once.
    fn interfaces(&self, prefix: &site::VpcPrefix) -> forge::InstanceNetworkConfig {
        let interface = |function: forge::InterfaceFunctionType, virtual_function_id, ip: Option<std::net::IpAddr>| {
            let id = common::VpcPrefixId { value: prefix.id.clone() };
            forge::InstanceInterfaceConfig {
                function_type: function.into(),
                network_details: Some(forge::instance_interface_config::NetworkDetails::VpcPrefixId(id)),
                virtual_function_id,
                ip_address: ip.map(|ip| ip.to_string()),
                ..Default::default()
            }
        };
        let mut functions = self.virtual_functions.clone();
        functions.sort_unstable();
        functions.dedup();
        let mut interfaces = vec![interface(forge::InterfaceFunctionType::Physical, None, self.ip)];
        interfaces
            .extend(functions.into_iter().map(|n| interface(forge::InterfaceFunctionType::Virtual, Some(n), None)));
        forge::InstanceNetworkConfig { interfaces, auto: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vpcs() -> Vec<site::Vpc> {
        let prefix =
            |id: &str, prefix: &str| site::VpcPrefix { id: id.into(), prefix: prefix.into(), ..Default::default() };
        vec![
            site::Vpc { name: "blue".into(), tenant_organization_id: "acme".into(), ..Default::default() },
            site::Vpc {
                id: "v2".into(),
                name: "red".into(),
                tenant_organization_id: "ajax".into(),
                prefixes: vec![prefix("p1", "10.0.0.0/24"), prefix("p2", "10.0.1.0/24")],
                ..Default::default()
            },
        ]
    }

    fn args(vpc: Option<&str>, vpc_prefix: Option<&str>) -> NetworkArgs {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        NetworkArgs { vpc: owned(vpc), vpc_prefix: owned(vpc_prefix), virtual_functions: vec![3, 0, 3], ip: None }
    }

    #[test]
    fn prefixes_are_found_by_vpc_name_vpc_id_cidr_and_prefix_id() {
        let vpcs = vpcs();
        for (args, prefix) in [
            (args(Some("red"), None), "p1"),
            (args(Some("v2"), None), "p1"),
            (args(None, Some("10.0.1.0/24")), "p2"),
            (args(None, Some("p2")), "p2"),
        ] {
            let (found, owner) = args.prefix(&vpcs).unwrap();
            assert_eq!((found.id.as_str(), owner), (prefix, "ajax"));
        }
        assert!(matches!(args(Some("green"), None).prefix(&vpcs), Err(Failure::NotFound(_))));
        assert!(matches!(args(None, Some("10.9.0.0/24")).prefix(&vpcs), Err(Failure::NotFound(_))));
        assert!(matches!(args(Some("blue"), None).prefix(&vpcs), Err(Failure::Refused(_))));
    }

    #[test]
    fn interfaces_name_each_function_once() {
        let network = args(Some("red"), None).interfaces(&site::VpcPrefix { id: "p1".into(), ..Default::default() });
        let functions: Vec<_> = network.interfaces.iter().map(|i| (i.function_type(), i.virtual_function_id)).collect();
        let (physical, virtual_) = (forge::InterfaceFunctionType::Physical, forge::InterfaceFunctionType::Virtual);
        assert_eq!(functions, [(physical, None), (virtual_, Some(0)), (virtual_, Some(3))]);
    }
}
