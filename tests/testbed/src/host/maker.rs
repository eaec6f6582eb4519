//! A BMC of a maker, from a profile that is data: its resources, where changes go, what takes effect with a boot, what it
//! refuses. The service in front is `maker_service`; tests ask [`MakerBmc`] what is really set.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bmc::locked;

/// How a maker's BMC behaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// Resources by path.
    pub(super) resources: BTreeMap<String, Value>,
    /// What a change has to carry in `If-Match`.
    #[serde(default)]
    pub(super) etag: EtagRule,
    /// Objects whose changes take effect on another resource with the next boot.
    #[serde(default)]
    pub(super) settings: BTreeMap<String, Settings>,
    /// What a boot makes of attributes of the BIOS, by attribute and value.
    #[serde(default)]
    pub(super) becomes: BTreeMap<String, BTreeMap<String, Value>>,
    /// Resources that are there only after a boot with these attributes.
    #[serde(default)]
    pub(super) appears: Vec<Appearing>,
    /// The lock that closes settings.
    pub(super) lock: Option<Lock>,
    pub(super) system: String,
    /// Path of the action that resets the system.
    pub(super) reset: String,
    /// Resets that it takes.
    pub(super) resets: Vec<String>,
    /// Path of the action that changes the UEFI password.
    pub(super) password: Option<String>,
    /// Where jobs are, if changes of the BIOS are carried out by jobs.
    pub(super) jobs: Option<String>,
    /// Posts that are answered well and change properties of a resource, by path.
    #[serde(default)]
    pub(super) posts: BTreeMap<String, Post>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EtagRule {
    #[default]
    None,
    /// `*`, and nothing else.
    Any,
    /// That of the last answer.
    Current,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The resource that it is for.
    pub(super) of: String,
    /// A change makes a job.
    #[serde(default)]
    pub(super) job: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Appearing {
    path: String,
    /// Attributes of the BIOS.
    with: BTreeMap<String, Value>,
    body: Value,
    /// It becomes a member of this collection.
    collection: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lock {
    /// The resource and the JSON pointer of the property that closes settings.
    pub(super) path: String,
    pub(super) pointer: String,
    pub(super) locked: Value,
    /// Paths that begin so are closed.
    pub(super) closes: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Post {
    /// The resource that gets the properties of the body.
    pub(super) into: Option<String>,
    /// Jobs and what waits for them are gone.
    pub(super) clears_jobs: bool,
    /// It starts a job, which is done at once.
    pub(super) job: bool,
    /// The UEFI password is gone if the body names the present one.
    pub(super) clears_password: bool,
}

/// What is to go wrong with a maker's BMC.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MakerFaults {
    /// The next BIOS jobs fail, so many of them.
    pub failing_jobs: u32,
    /// A boot takes none of the BIOS's changes over.
    pub loses_attributes: bool,
    /// Answers are 503.
    pub down: bool,
    /// The first answer to a change with an ETag says that the tag is old.
    pub stale_etags: u32,
}

#[derive(Debug)]
pub(super) struct MakerState {
    pub(super) resources: BTreeMap<String, Value>,
    pub(super) pending: BTreeMap<String, Value>,
    pub(super) tags: u64,
    pub(super) uefi_password: String,
    pub(super) next_uefi_password: Option<String>,
    pub(super) boots: u32,
    pub(super) jobs: u32,
    /// Jobs that a boot carries out.
    pub(super) scheduled: BTreeSet<String>,
    pub(super) refused: Vec<String>,
    pub(super) changes: Vec<String>,
    pub(super) faults: MakerFaults,
}

#[derive(Debug)]
pub(super) struct Maker {
    pub(super) profile: Profile,
    state: Mutex<MakerState>,
}

impl Maker {
    fn new(profile: Profile) -> Self {
        let mut resources = profile.resources.clone();
        for (path, settings) in &profile.settings {
            resources.entry(path.clone()).or_insert_with(|| json!({ "@odata.id": path }));
            if let Some(resource) = resources.get_mut(&settings.of) {
                resource["@Redfish.Settings"] = json!({ "SettingsObject": { "@odata.id": path } });
            }
        }
        let state = MakerState {
            resources,
            pending: BTreeMap::new(),
            tags: 1,
            uefi_password: String::new(),
            next_uefi_password: None,
            boots: 0,
            jobs: 0,
            scheduled: BTreeSet::new(),
            refused: Vec::new(),
            changes: Vec::new(),
            faults: MakerFaults::default(),
        };
        Self { profile, state: Mutex::new(state) }
    }

    pub(super) fn with<T>(&self, change: impl FnOnce(&mut MakerState) -> T) -> T {
        change(&mut locked(&self.state))
    }

    /// The lock is on, and closes this path.
    pub(super) fn closes(&self, path: &str) -> bool {
        let Some(lock) = &self.profile.lock else { return false };
        let on = self.with(|state| state.resources.get(&lock.path).and_then(|it| it.pointer(&lock.pointer)).cloned());
        on.as_ref() == Some(&lock.locked) && lock.closes.iter().any(|closed| path.starts_with(closed))
    }

    /// Starts a job and gives its path.
    pub(super) fn start_job(&self, waits_for_boot: bool) -> String {
        let at = self.profile.jobs.clone().unwrap_or_else(|| "/redfish/v1/TaskService/Tasks".to_owned());
        self.with(|state| {
            state.jobs += 1;
            let id = format!("JID_{:012}", state.jobs);
            let path = format!("{at}/{id}");
            let word = if waits_for_boot { "Scheduled" } else { "Completed" };
            state
                .resources
                .insert(path.clone(), json!({ "@odata.id": path, "Id": id, "JobState": word, "PercentComplete": 0 }));
            if waits_for_boot {
                state.scheduled.insert(path.clone());
            }
            path
        })
    }

    /// The system boots: jobs run, and settings that waited for it take effect.
    pub(super) fn boot(&self) {
        self.with(|state| {
            state.boots += 1;
            state.tags += 1;
            let system = self.profile.system.clone();
            let jobs = std::mem::take(&mut state.scheduled);
            let fails = state.faults.failing_jobs > 0 && !jobs.is_empty();
            for job in jobs {
                if let Some(job) = state.resources.get_mut(&job) {
                    job["JobState"] = if fails { "Failed".into() } else { "Completed".into() };
                    job["Message"] = if fails { "Unable to apply the configuration.".into() } else { "Done.".into() };
                }
            }
            let pending = std::mem::take(&mut state.pending);
            if fails {
                state.faults.failing_jobs -= 1;
            } else if !state.faults.loses_attributes {
                for (path, change) in pending {
                    if let Some(resource) = state.resources.get_mut(&path) {
                        merge(resource, &change);
                    }
                }
                if let Some(password) = state.next_uefi_password.take() {
                    state.uefi_password = password;
                }
            }
            let bios = format!("{system}/Bios");
            if let Some(attributes) = state.resources.get_mut(&bios).map(|bios| &mut bios["Attributes"]) {
                for (name, words) in &self.profile.becomes {
                    if let Some(next) = attributes[name].as_str().and_then(|word| words.get(word)).cloned() {
                        attributes[name] = next;
                    }
                }
            }
            let attributes = state.resources.get(&bios).map(|bios| bios["Attributes"].clone()).unwrap_or_default();
            for appearing in &self.profile.appears {
                let there = appearing.with.iter().all(|(name, value)| attributes[name] == *value);
                if there && !state.resources.contains_key(&appearing.path) {
                    state.resources.insert(appearing.path.clone(), appearing.body.clone());
                    if let Some(members) =
                        state.resources.get_mut(&appearing.collection).and_then(|it| it["Members"].as_array_mut())
                    {
                        members.push(json!({ "@odata.id": appearing.path }));
                    }
                }
            }
            if let Some(resource) = state.resources.get_mut(&system) {
                resource["PowerState"] = "On".into();
            }
        });
        self.order_options();
    }

    /// BMCs that list boot options in their order.
    fn order_options(&self) {
        self.with(|state| {
            let system = &self.profile.system;
            let Some(order) = state.resources.get(system).map(|system| system["Boot"]["BootOrder"].clone()) else {
                return;
            };
            let collection = format!("{system}/BootOptions");
            let references: BTreeMap<String, String> = state
                .resources
                .iter()
                .filter(|(path, _)| path.starts_with(&format!("{collection}/")))
                .filter_map(|(path, option)| Some((path.clone(), option["BootOptionReference"].as_str()?.to_owned())))
                .collect();
            let place = |path: &str| {
                let reference = references.get(path)?;
                order.as_array()?.iter().position(|entry| entry.as_str() == Some(reference))
            };
            if let Some(members) = state.resources.get_mut(&collection).and_then(|it| it["Members"].as_array_mut()) {
                members.sort_by_key(|link| link["@odata.id"].as_str().and_then(place).unwrap_or(usize::MAX));
            }
        });
    }

    /// A reset of this type; false if there is no such type.
    pub(super) fn reset(&self, kind: &str) -> bool {
        if !self.profile.resets.iter().any(|known| known == kind) {
            return false;
        }
        match kind {
            "ForceOff" | "GracefulShutdown" => self.with(|state| {
                if let Some(system) = state.resources.get_mut(&self.profile.system) {
                    system["PowerState"] = "Off".into();
                }
            }),
            _ => self.boot(),
        }
        true
    }
}

/// Objects are merged, everything else is replaced.
pub(super) fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (name, value) in change {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}

/// A simulated BMC of a maker, on a loopback port of this process. It lasts as long as the runtime that it was started in.
#[derive(Debug, Clone)]
pub struct MakerBmc {
    pub(super) url: String,
    pub(super) maker: Arc<Maker>,
}

impl MakerBmc {
    /// Makers that there are profiles of.
    pub const MAKERS: [&'static str; 6] = ["dell", "hpe", "lenovo", "ami", "supermicro", "grace"];

    pub(super) fn profile(maker: &str) -> Result<Maker> {
        let text = match maker {
            "dell" => include_str!("makers/dell.yaml"),
            "hpe" => include_str!("makers/hpe.yaml"),
            "lenovo" => include_str!("makers/lenovo.yaml"),
            "ami" => include_str!("makers/ami.yaml"),
            "supermicro" => include_str!("makers/supermicro.yaml"),
            "grace" => include_str!("makers/grace.yaml"),
            other => anyhow::bail!("there is no profile of `{other}`"),
        };
        Ok(Maker::new(serde_yaml::from_str(text).with_context(|| format!("profile of {maker}"))?))
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Changes what goes wrong with it.
    pub fn set_faults(&self, change: impl FnOnce(&mut MakerFaults)) {
        self.maker.with(|state| change(&mut state.faults));
    }

    /// The BIOS attributes in force.
    #[must_use]
    pub fn attributes(&self) -> Map<String, Value> {
        let bios = format!("{}/Bios", self.maker.profile.system);
        let read =
            |state: &mut MakerState| state.resources.get(&bios).and_then(|it| it["Attributes"].as_object().cloned());
        self.maker.with(read).unwrap_or_default()
    }

    /// A property of a resource, by path and JSON pointer.
    #[must_use]
    pub fn property(&self, path: &str, pointer: &str) -> Option<Value> {
        self.maker.with(|state| state.resources.get(path)?.pointer(pointer).cloned())
    }

    /// The UEFI password in force.
    #[must_use]
    pub fn uefi_password(&self) -> String {
        self.maker.with(|state| state.uefi_password.clone())
    }

    /// How often the system has booted.
    #[must_use]
    pub fn boots(&self) -> u32 {
        self.maker.with(|state| state.boots)
    }

    /// Requests that were refused, each with its reason.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.maker.with(|state| state.refused.clone())
    }

    /// Requests that changed something, in order.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        self.maker.with(|state| state.changes.clone())
    }
}
