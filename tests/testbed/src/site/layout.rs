//! What a site consists of, and the files in its directory that its programs read. Nothing here starts anything.

use std::{collections::BTreeMap, fs, net::Ipv4Addr, path::PathBuf};

use anyhow::{Context as _, Result};
use proto::{
    MachineId,
    site::{BmcSpec, DpuSpec, HostSpec},
};
use serde_json::json;

use super::{Binaries, binaries::workspace};
use crate::{BMC_PASSWORD, BMC_USER, DHCP_PROGRAM, SimHostConfig, SystemConfig, dpu_id, dpu_name, host_id, host_name};

/// What a site consists of and how fast it goes. All times are far shorter than those of a real site.
#[derive(Debug, Clone)]
pub struct SitePlan {
    /// The hosts.
    pub hosts: Vec<HostPlan>,
    /// The rules that the controller starts with.
    pub rules: PathBuf,
    /// State that hosts are taken over in; empty for the start of their life.
    pub initial_state: String,
    /// Seconds of an agent's loop.
    pub loop_secs: f64,
    /// Seconds that a changed configuration counts as not yet healthy.
    pub post_config_check_secs: f64,
    /// Seconds within which an agent confirms a change, or NVUE takes it back.
    pub confirm_secs: f64,
    /// Seconds between two sweeps of the controller over all hosts.
    pub sweep_secs: f64,
    /// Seconds that a host takes to boot.
    pub boot_secs: f64,
    /// Its parts speak TLS and know each other by certificates. The simulated hosts have none, so nobody hears them.
    pub tls: bool,
    /// The DPUs' certificates were over yesterday.
    pub certificates_over: bool,
}

/// A host of the plan.
#[derive(Debug, Clone)]
pub struct HostPlan {
    /// Name in the site.
    pub name: String,
    /// Id of its hardware.
    pub id: MachineId,
    /// MAC of its first port.
    pub mac: String,
    /// Its DPUs, the primary one first.
    pub dpus: Vec<DpuPlan>,
}

/// A DPU of the plan.
#[derive(Debug, Clone)]
pub struct DpuPlan {
    /// Name in the site.
    pub name: String,
    /// Id of its hardware.
    pub id: MachineId,
}

/// Route server of the simulated fabric.
pub(super) const ROUTE_SERVER: Ipv4Addr = Ipv4Addr::new(10, 217, 0, 1);

impl SitePlan {
    /// A site of `hosts` hosts with `dpus` DPUs each, at the pace of tests.
    #[must_use]
    pub fn new(hosts: usize, dpus: usize) -> Self {
        let dpu = |host, place| DpuPlan { name: dpu_name(host, place), id: dpu_id(host, place) };
        let host = |host| HostPlan {
            name: host_name(host),
            id: host_id(host),
            mac: format!("02:00:5e:00:00:{host:02x}"),
            dpus: (0..dpus).map(|place| dpu(host, place)).collect(),
        };
        Self {
            hosts: (1..=hosts).map(host).collect(),
            rules: workspace().join("rules/managed_host"),
            initial_state: "Ready".into(),
            loop_secs: 0.3,
            post_config_check_secs: 1.0,
            confirm_secs: 5.0,
            sweep_secs: 1.0,
            boot_secs: 0.5,
            tls: false,
            certificates_over: false,
        }
    }

    /// All DPUs of the site.
    pub fn dpus(&self) -> impl Iterator<Item = &DpuPlan> {
        self.hosts.iter().flat_map(|host| &host.dpus)
    }
}

/// The directory of a site and the files that its programs read.
#[derive(Debug, Clone)]
pub(super) struct SiteDir(pub(super) PathBuf);

impl SiteDir {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.path("logs")
    }

    /// Where a part of the site logs.
    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    pub(super) fn dpu(&self, name: &str) -> PathBuf {
        self.0.join("dpus").join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    pub(super) fn sim_host_config(&self, plan: &SitePlan) -> Result<PathBuf> {
        let hosts = plan
            .hosts
            .iter()
            .map(|host| (host.name.clone(), SystemConfig { host: Some(host.name.clone()), ..SystemConfig::default() }));
        let dpus = plan.dpus().map(|dpu| (dpu.name.clone(), SystemConfig::default()));
        let config = SimHostConfig {
            controller_file: self.path("controller.address"),
            address_file: self.path("bmc.addresses"),
            faults: self.path("bmc"),
            boot_secs: plan.boot_secs,
            boots_at_start: plan.initial_state.is_empty(),
            poll_secs: plan.loop_secs,
            systems: hosts.chain(dpus).collect(),
        };
        self.write("sim-host.toml", &toml::to_string(&config)?)
    }

    /// The hosts as the controller is told of them.
    pub(super) fn host_specs(&self, plan: &SitePlan) -> Result<Vec<HostSpec>> {
        let urls: BTreeMap<String, String> = serde_json::from_str(&fs::read_to_string(self.path("bmc.addresses"))?)?;
        let bmc = |name: &str| {
            let url = urls.get(name).cloned().unwrap_or_default();
            Some(BmcSpec { url, username: BMC_USER.into(), password: BMC_PASSWORD.into(), ..BmcSpec::default() })
        };
        let dpu = |dpu: &DpuPlan| DpuSpec {
            machine_id: Some((&dpu.id).into()),
            name: dpu.name.clone(),
            bmc: bmc(&dpu.name),
            ..DpuSpec::default()
        };
        let host = |host: &HostPlan| HostSpec {
            name: host.name.clone(),
            machine_id: Some((&host.id).into()),
            bmc: bmc(&host.name),
            dpus: host.dpus.iter().map(dpu).collect(),
            initial_state: plan.initial_state.clone(),
            mac: host.mac.clone(),
        };
        Ok(plan.hosts.iter().map(host).collect())
    }

    /// The site file: networks that do not exist outside this machine, and the hosts with their BMCs.
    pub(super) fn site_file(&self, plan: &SitePlan) -> Result<PathBuf> {
        let network = json!({
            "asn": 4_259_912_557_u32,
            "loopback_prefix": "10.180.62.0/24",
            "admin": { "prefix": "10.180.60.0/24", "vlan": 16 },
            "vni_pool": { "first": 10_000, "last": 10_999 },
            "vlan_pool": { "first": 100, "last": 199 },
            "route_servers": [ROUTE_SERVER.to_string()],
            "site_fabric_prefixes": ["10.20.0.0/16"],
            "min_dpu_functioning_links": 2,
        });
        let site = json!({ "network": network, "hosts": self.host_specs(plan)? });
        self.write("site.yaml", &serde_yaml::to_string(&site)?)
    }

    pub(super) fn controller_config(&self, plan: &SitePlan, listen: &str) -> Result<PathBuf> {
        let mut config = json!({
            // A site that has nothing of what only some sites have.
            "site": {
                "attestation": false, "bom_validation": false, "dpf": false, "infiniband": false, "nvlink": false,
                "spdm": false, "supernics": false,
            },
            "firmware": { "dpu_bmc": "24.10-simulated" },
            "listen": listen,
            "address_file": self.path("controller.address"),
            "metrics_listen": "127.0.0.1:0",
            "database": format!("sqlite:{}", self.path("site.db").display()),
            "rules": plan.rules,
            "site_file": self.path("site.yaml"),
            "timing": { "sweep_secs": plan.sweep_secs },
            // Minutes on a real site.
            "rule_timeouts": { "power_down_wait": 1, "uefi_boot_wait": 1, "dpu_wait_time": 1 },
        });
        if plan.tls {
            let mut tls = self.identity("controller");
            tls["client_ca"] = json!(self.path("ca.pem"));
            config["tls"] = tls;
            config["issuer"] = self.identity("ca");
        }
        self.write("controller.toml", &toml::to_string(&config)?)
    }

    pub(super) fn agent_config(
        &self,
        plan: &SitePlan,
        dpu: &DpuPlan,
        binaries: &Binaries,
        controller: &str,
    ) -> Result<PathBuf> {
        let dir = self.dpu(&dpu.name);
        let program = |name: &str| binaries.path(name).display().to_string();
        let supervisorctl = |verb: &str| json!([program("supervisorctl"), verb, DHCP_PROGRAM]);
        let mut config = json!({
            "controller": controller,
            "machine_id": dpu.id.as_str(),
            "state_dir": dir.join("agent"),
            "period": { "loop_secs": plan.loop_secs, "post_config_check_secs": plan.post_config_check_secs },
            "hbn": {
                "nv": [program("nv")],
                "vtysh": [program("vtysh")],
                "supervisorctl": [program("supervisorctl")],
                "command_timeout_secs": 10.0,
                "confirm_secs": plan.confirm_secs,
                "nvue_file": dir.join("nvue_startup.yaml"),
            },
            "dhcp": {
                "server": "kea",
                "config_file": dir.join("kea-dhcp4.conf"),
                "reload": supervisorctl("restart"),
                "stop": supervisorctl("stop"),
                "status": supervisorctl("status"),
                "nameservers": ["10.180.61.53"],
                "ntp_servers": ["10.180.61.123"],
                "provisioning_server": "10.180.61.80",
            },
            "health": { "services": ["frr", "nl2doca", "rsyslog"] },
        });
        if plan.tls {
            let mut tls = self.identity(&format!("dpus/{}", dpu.name));
            tls["ca"] = json!(self.path("ca.pem"));
            config["tls"] = tls;
        }
        fs::create_dir_all(&dir)?;
        self.write(&format!("dpus/{}.toml", dpu.name), &toml::to_string(&config)?)
    }

    /// The certificate and key of a part of the site, as configurations name them.
    fn identity(&self, name: &str) -> serde_json::Value {
        json!({ "cert": self.path(&format!("{name}.pem")), "key": self.path(&format!("{name}.key")) })
    }
}
