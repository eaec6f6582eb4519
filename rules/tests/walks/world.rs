//! A host, its DPUs and its BMC as the rules see them, and a BMC that does as it is told.

use std::collections::BTreeMap;

use rules::{
    Action, ActionRecord, ActionStatus, Argument, Decision, FailureChange, Go, HealthAlert, HealthReport, Instance,
    Lockdown, PowerRequest, PowerState, Reported, RuleSet, Snapshot, Wait,
};
use serde_yaml::{Mapping, Value};
use types::ConfigVersion;

const SECOND: u64 = 1_000_000;
/// More decisions in a row than any walk needs: the rules go round in circles.
const PATIENCE: u32 = 200;

/// What became of the host when nothing moved it any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    Wait(String),
    Error(String),
    Deleted,
}

pub(crate) struct World<'r> {
    rules: &'r RuleSet,
    host: Snapshot,
    /// States passed through since the last look.
    pub(crate) passed: Vec<String>,
    /// Actions carried out since the last look.
    pub(crate) done: Vec<String>,
    /// The same of the looks before.
    pub(crate) told: Vec<(Vec<String>, Vec<String>)>,
    pub(crate) outcome: WalkEnd,
}

impl<'r> World<'r> {
    pub(crate) fn new(rules: &'r RuleSet, dpus: usize, start: &str) -> Self {
        let mut facts: BTreeMap<String, Value> = BTreeMap::from([
            ("state.path".to_owned(), start.into()),
            ("state.elapsed".to_owned(), 1.into()),
            ("host.paired".to_owned(), true.into()),
            ("bmc.reachable".to_owned(), true.into()),
            ("bmc.vendor".to_owned(), "other".into()),
            ("bmc.lockdown".to_owned(), "disabled".into()),
            ("bmc.bios_setup".to_owned(), "yes".into()),
            ("bmc.boot_order_set".to_owned(), "yes".into()),
            ("bmc.power".to_owned(), "on".into()),
        ]);
        // A site that has nothing of what only some sites have.
        for lacks in ["attestation", "bom_validation", "dpf", "infiniband", "nvlink", "spdm", "supernics"] {
            facts.insert(format!("site.{lacks}"), false.into());
        }
        for dpu in 0..dpus {
            facts.insert(format!("dpu{dpu}.reachable"), true.into());
            facts.insert(format!("dpu{dpu}.bmc_firmware"), "BF-24.10".into());
            facts.insert(format!("dpu{dpu}.firmware_matches"), true.into());
            facts.insert(format!("dpu{dpu}.bios_setup"), "yes".into());
        }
        let mut host = Snapshot::from_facts(&facts, dpus).unwrap();
        let first = ConfigVersion::first(1);
        for dpu in &mut host.dpus {
            dpu.desired_network_version = Some(first);
            dpu.observed_network_version = Some(first);
        }
        let outcome = WalkEnd::Wait(String::new());
        Self { rules, host, passed: vec![start.to_owned()], done: vec![], told: vec![], outcome }
    }

    pub(crate) fn state(&self) -> &str {
        self.host.state.path.as_str()
    }

    /// Cause of the failure on record.
    pub(crate) fn cause(&self) -> &str {
        &self.host.failure.cause
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.host.now += seconds * SECOND;
    }

    pub(crate) fn story(&self) -> String {
        let lines = self.told.iter().map(|(passed, done)| format!("    {}; {}", passed.join(" > "), done.join(", ")));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn change(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let mut tree = serde_yaml::to_value(&self.host).map_err(|error| error.to_string())?;
        let (area, fact) = name.split_once('.').ok_or_else(|| format!("`{name}` is no fact"))?;
        let set = |area: Option<&mut Value>| match area {
            Some(Value::Mapping(facts)) if fact_known(facts, fact) => {
                facts.insert(fact.into(), value.clone());
                Ok(())
            }
            _ => Err(format!("there is no stored fact `{name}`")),
        };
        match area.strip_prefix("dpu").map(str::parse::<usize>) {
            Some(Ok(at)) => set(tree.get_mut("dpus").and_then(|dpus| dpus.get_mut(at)))?,
            Some(Err(_)) => {
                for dpu in tree.get_mut("dpus").and_then(Value::as_sequence_mut).into_iter().flatten() {
                    set(Some(dpu))?;
                }
            }
            None => set(tree.get_mut(area))?,
        }
        self.host = serde_yaml::from_value(tree).map_err(|error| format!("{name}: {error}"))?;
        Ok(())
    }

    pub(crate) fn set(&mut self, facts: &BTreeMap<String, Value>) -> Result<(), String> {
        facts.iter().try_for_each(|(name, value)| self.change(name, value))
    }

    pub(crate) fn set_now(&mut self, moments: &[String]) -> Result<(), String> {
        let now = self.host.now + 1;
        moments.iter().try_for_each(|name| self.change(name, &now.into()))
    }

    /// All agents apply what they should, and say how they are.
    pub(crate) fn agents_report(&mut self, report: &HealthReport) {
        let (now, instance) = (self.host.now, self.host.instance.network_version);
        for dpu in &mut self.host.dpus {
            dpu.health.agent = Some(report.clone());
            dpu.observed_at = Some(now + 1);
            dpu.observed_network_version = dpu.desired_network_version;
            dpu.instance_observed = dpu.required_by_instance;
            dpu.observed_instance_version = if dpu.required_by_instance { instance } else { None };
        }
    }

    /// Decides and carries out until nothing moves the host any more.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let decision = self.rules.decision(&self.host);
            self.host.now += SECOND;
            match decision {
                Decision::Go(go) => self.go(&go),
                Decision::Wait(wait) => {
                    let acts = !wait.actions.is_empty() || wait.dpus.iter().any(|step| !step.actions.is_empty());
                    self.wait(&wait);
                    if !acts {
                        self.outcome = WalkEnd::Wait(wait.reason.to_string());
                        return Ok(());
                    }
                }
                Decision::Error(fault) => {
                    self.outcome = WalkEnd::Error(fault.reason.to_string());
                    return Ok(());
                }
                Decision::Delete(delete) => {
                    delete.actions.iter().for_each(|action| self.carry_out(action, None));
                    self.outcome = WalkEnd::Deleted;
                    return Ok(());
                }
            }
        }
        Err(format!("it goes round and round: {}", self.passed.join(" > ")))
    }

    fn go(&mut self, go: &Go) {
        go.actions.iter().for_each(|action| self.carry_out(action, None));
        for step in &go.dpus {
            step.actions.iter().for_each(|action| self.carry_out(action, Some(&step.dpu)));
        }
        let now = self.host.now;
        let path = self.host.state.path.clone();
        for dpu in &mut self.host.dpus {
            let Some(step) = go.dpus.iter().find(|step| step.dpu == dpu.id) else {
                if go.dpus.is_empty() {
                    dpu.state = None;
                    dpu.counters.clear();
                    dpu.notes.clear();
                }
                continue;
            };
            if let Some(to) = &step.to {
                self.passed.push(to.to_string());
                dpu.state = Some(to.clone());
                dpu.state_since = now;
                dpu.actions.clear();
            } else if dpu.state.is_none() {
                dpu.state = Some(path.clone());
                dpu.state_since = self.host.state.since;
            }
            dpu.counters = step.counters.clone().unwrap_or_else(|| dpu.counters.clone());
            dpu.notes = step.notes.clone().unwrap_or_else(|| dpu.notes.clone());
        }
        self.host.state.path = go.to.clone();
        self.host.state.since = now;
        self.host.state.counters = go.counters.clone();
        self.host.state.notes = go.notes.clone();
        self.host.state.actions.clear();
        self.passed.push(go.to.to_string());
        match &go.failure {
            FailureChange::Keep => {}
            FailureChange::Clear => self.host.failure = rules::Failure::default(),
            FailureChange::Set { cause, dpu } => {
                self.host.failure = rules::Failure {
                    cause: cause.to_string(),
                    machine: dpu.clone().unwrap_or_else(|| self.host.id.clone()),
                    on_host: dpu.is_none(),
                    at: now,
                    ..rules::Failure::default()
                };
            }
        }
    }

    fn wait(&mut self, wait: &Wait) {
        wait.actions.iter().for_each(|action| self.carry_out(action, None));
        if let Some(counters) = &wait.counters {
            self.host.state.counters.clone_from(counters);
        }
        for step in &wait.dpus {
            step.actions.iter().for_each(|action| self.carry_out(action, Some(&step.dpu)));
            let (path, since) = (self.host.state.path.clone(), self.host.state.since);
            let Some(dpu) = self.host.dpus.iter_mut().find(|dpu| dpu.id == step.dpu) else { continue };
            if step.counters.is_some() && dpu.state.is_none() {
                dpu.state = Some(path);
                dpu.state_since = since;
            }
            dpu.counters = step.counters.clone().unwrap_or_else(|| dpu.counters.clone());
        }
    }

    fn carry_out(&mut self, action: &Action, of_dpu: Option<&String>) {
        self.done.push(action.name.to_string());
        let now = self.host.now;
        let record = |records: &mut BTreeMap<String, ActionRecord>| {
            let record = records.entry(action.name.to_string()).or_default();
            record.status = ActionStatus::Done;
            record.tries += 1;
            record.at = now;
            record.tries
        };
        let tries = match of_dpu {
            Some(dpu) => self.host.dpus.iter_mut().find(|known| known.id == *dpu).map(|dpu| record(&mut dpu.actions)),
            None => Some(record(&mut self.host.state.actions)),
        };
        self.effect(action, tries.unwrap_or_default());
    }

    fn effect(&mut self, action: &Action, tries: i64) {
        let host = &mut self.host;
        match &*action.name {
            "redfish.power_off" => self.power(PowerRequest::Off, PowerState::Off),
            "redfish.power_on" => self.power(PowerRequest::On, PowerState::On),
            "redfish.ac_power_cycle" => self.power(PowerRequest::AcCycle, PowerState::On),
            "redfish.force_restart" => self.power(PowerRequest::Restart, PowerState::On),
            "redfish.power_drain_step" => self.drain(),
            "redfish.power_off_bmc_reset_power_on" => match tries {
                1 => self.power(PowerRequest::Off, PowerState::Off),
                2 => {}
                _ => self.power(PowerRequest::On, PowerState::On),
            },
            "redfish.restart_dpu" | "redfish.restart_all_dpus" => {
                for dpu in &mut host.dpus {
                    if action.dpus.is_empty() || action.dpus.contains(&dpu.id) {
                        dpu.reboot_requested_at = Some(host.now);
                    }
                }
            }
            "redfish.reset_for_component" => host.bmc.reset_at = Some(host.now),
            "redfish.disable_lockdown" => host.bmc.lockdown = Lockdown::Disabled.into(),
            "redfish.enable_lockdown" => host.bmc.lockdown = Lockdown::Enabled.into(),
            // A willing BMC carries settings out at once, without a job, unless the walk speaks of one.
            "redfish.machine_setup" => no_job(&mut host.bmc.bios_job),
            "redfish.set_boot_order" => no_job(&mut host.bmc.boot_order_job),
            "redfish.set_uefi_password" | "redfish.clear_uefi_password" | "credentials.rotate_host_uefi" => {
                no_job(&mut host.bmc.uefi_password_job)
            }
            "redfish.bmc_factory_reset" => drop(host.decommission.bmcs_to_reset.drain(..1)),
            "instance.release_and_force_restart" => {
                host.instance = Instance::default();
                host.dpus.iter_mut().for_each(|dpu| dpu.required_by_instance = false);
                self.power(PowerRequest::Restart, PowerState::On);
            }
            "instance.clear_custom_ipxe" => host.instance.custom_ipxe_requested = false,
            "network.use_tenant" | "network.use_admin" | "network.promote_update" => {
                for dpu in &mut host.dpus {
                    dpu.desired_network_version = dpu.desired_network_version.map(|version| version.next(host.now));
                }
            }
            "network.release_old_resources" => host.instance.network_update_pending = false,
            "db.assign_sku" => host.validation.sku_assigned = true.into(),
            "db.record_bios_password_set" => host.host.bios_password_set = true.into(),
            "db.forget_bios_password" => host.host.bios_password_set = false.into(),
            "db.start_dpu_reprovision" => {
                let started = host.dpus.iter_mut().filter(|dpu| action.dpus.contains(&dpu.id));
                started.for_each(|dpu| dpu.reprovision_started = true);
            }
            "db.clear_dpu_reprovision_request" => {
                for dpu in &mut host.dpus {
                    (dpu.reprovision_requested, dpu.reprovision_approved) = (false, false);
                    (dpu.reprovision_started, dpu.reprovision_restart_requested_at) = (false, None);
                }
            }
            "db.clear_host_reprovision_request" => {
                host.requests.host_reprovision = false;
                host.requests.host_reprovision_approved = false;
            }
            "db.clear_decommission_request" => host.requests.decommission = false,
            "db.clear_request" => self.clear(action),
            name if name.starts_with("health.") => self.report(action),
            _ => {}
        }
    }

    fn power(&mut self, request: PowerRequest, power: PowerState) {
        let host = &mut self.host;
        host.bmc.last_power_request = request;
        host.bmc.power_requested_at = Some(host.now);
        host.bmc.power = power.into();
        host.bmc.power_read_at = Some(host.now + 1);
        if matches!(request, PowerRequest::Restart | PowerRequest::AcCycle) {
            host.host.reboot_requested_at = Some(host.now);
        }
        if request != PowerRequest::Restart {
            host.dpus.iter_mut().for_each(|dpu| dpu.reboot_requested_at = Some(host.now));
        }
    }

    /// Off, AC cycle, on, and one drain less.
    fn drain(&mut self) {
        match self.host.bmc.last_power_request {
            PowerRequest::Off => self.power(PowerRequest::AcCycle, PowerState::Off),
            PowerRequest::AcCycle => {
                self.power(PowerRequest::On, PowerState::On);
                let left = &mut self.host.firmware.power_drains_left;
                *left = left.known().map(|left| left - 1).into();
            }
            _ => self.power(PowerRequest::Off, PowerState::Off),
        }
    }

    fn clear(&mut self, action: &Action) {
        let Some(Argument::Text(kind)) = action.args.get("kind") else { return };
        let requests = &mut self.host.requests;
        match &**kind {
            "bom_validation" => requests.bom_validation = false,
            "machine_validation" => requests.machine_validation = false,
            "boot_configuration" => requests.boot_configuration = false,
            "maintenance" => requests.maintenance = false,
            "manual_upgrade_done" => requests.manual_upgrade_done = false,
            "reset" => requests.reset = false,
            "retry" => requests.retry = false,
            kind => panic!("the world has no request {kind}"),
        }
    }

    /// Stores a report, or removes it if it is there: on the host, or on the DPUs that the action is for.
    fn report(&mut self, action: &Action) {
        let Some(Argument::Text(source)) = action.args.get("source") else { return };
        let report = HealthReport { source: source.to_string(), ..HealthReport::default() };
        if let [dpu] = action.dpus.as_slice() {
            // A silent agent's report is replaced by one that has an alert.
            let silent = HealthReport { alerts: vec![HealthAlert::default()], ..report };
            let dpu = self.host.dpus.iter_mut().find(|known| known.id == *dpu);
            dpu.into_iter().for_each(|dpu| dpu.health.agent = Some(silent.clone()));
            return;
        }
        let merges = &mut self.host.health.merges;
        if merges.remove(&**source).is_none() && &*action.name != "health.clear_sku_report" {
            merges.insert(source.to_string(), report);
        }
    }
}

fn no_job(job: &mut Reported<String>) {
    if job.known().is_none() {
        *job = String::new().into();
    }
}

/// Only what is stored can be set; `state` of a DPU is, although it is left out when it is empty.
fn fact_known(facts: &Mapping, fact: &str) -> bool {
    facts.contains_key(Value::from(fact))
}
