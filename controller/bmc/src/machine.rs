//! A BMC whose class is known, and its host's resources: what changes them goes out in the class's way. For the operations
//! of this crate.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    Access, BmcError, Class, Redfish,
    transport::{Answer, Call, IfMatch, Resource},
};

const ROOT: &str = "/redfish/v1/";
const SYSTEMS: &str = "/redfish/v1/Systems";
const MANAGERS: &str = "/redfish/v1/Managers";

/// One task at a BMC whose class is known.
pub(crate) struct Machine<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) class: Class,
}

impl<'a> Machine<'a> {
    /// Finds out whose BMC it is.
    pub(crate) async fn open(redfish: &'a Redfish, access: &'a Access, doing: &'static str) -> Result<Self, BmcError> {
        let call = redfish.call(access, doing)?;
        let root = call.get(ROOT).await?.body;
        let mut class = Class::of(&root, false);
        if class.needs_systems() {
            let systems = call.members(SYSTEMS).await?;
            class = Class::of(&root, systems.iter().any(|path| path.ends_with("/DGX")));
        }
        Ok(Self { call, class })
    }

    async fn member(&self, collection: &'static str, wanted: Option<&str>) -> Result<String, BmcError> {
        let paths = self.call.members(collection).await?;
        let named = |name: &str| paths.iter().find(|path| path.rsplit('/').next() == Some(name)).cloned();
        if let Some(name) = wanted {
            return named(name).ok_or_else(|| self.call.unexpected(format!("{collection} has no `{name}`")));
        }
        match paths.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(self.call.unexpected(format!("{collection} is empty"))),
            _ => Err(self.call.unexpected(format!("{collection} has several members: set system_id"))),
        }
    }

    /// The host's system: the one that the site file names, or that BMCs of this class have, never just the first.
    pub(crate) async fn system_path(&self) -> Result<String, BmcError> {
        let named = Some(self.call.system_id()).filter(|id| !id.is_empty());
        self.member(SYSTEMS, named.or(self.class.members().0)).await
    }

    pub(crate) async fn system(&self) -> Result<Resource, BmcError> {
        self.call.get(&self.system_path().await?).await
    }

    pub(crate) async fn manager(&self) -> Result<Resource, BmcError> {
        let path = self.member(MANAGERS, self.class.members().1).await?;
        self.call.get(&path).await
    }

    /// The system's BIOS; none if it has none.
    pub(crate) async fn bios(&self) -> Result<Option<Resource>, BmcError> {
        let system = self.system().await?;
        let path = link(&system.body["Bios"]).unwrap_or_else(|| format!("{}/Bios", system.path));
        match self.call.get(&path).await {
            Err(BmcError::Refused { status: 404, .. }) => Ok(None),
            bios => bios.map(Some),
        }
    }

    /// Where changes of a resource go: the settings object that it names, or itself.
    pub(crate) fn settings_path(resource: &Resource) -> String {
        link(&resource.body["@Redfish.Settings"]["SettingsObject"]).unwrap_or_else(|| resource.path.clone())
    }

    /// Changes a resource. The ETag goes along that its class wants, and one that turns out to be old is read again, once.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Answer, BmcError> {
        let etag = match self.class.wants_any_etag() {
            true => None,
            false => self.call.get(path).await.ok().and_then(|resource| resource.etag),
        };
        let if_match = match (&etag, self.class.wants_any_etag()) {
            (_, true) => IfMatch::Any,
            (Some(etag), _) => IfMatch::This(etag),
            (None, _) => IfMatch::None,
        };
        let answer = self.call.send(Method::PATCH, path, Some(body), if_match).await?;
        if !matches!(answer.status, StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED) {
            return self.call.good(answer);
        }
        let fresh = self.call.get(path).await?.etag;
        let if_match = fresh.as_deref().map_or(IfMatch::Any, IfMatch::This);
        self.call.good(self.call.send(Method::PATCH, path, Some(body), if_match).await?)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Answer, BmcError> {
        let answer = self.call.send(Method::POST, path, Some(body), IfMatch::None).await?;
        if !matches!(answer.status, StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED) {
            return self.call.good(answer);
        }
        self.call.good(self.call.send(Method::POST, path, Some(body), IfMatch::Any).await?)
    }

    /// An action of a resource, by its name without `#`; its parameters are checked against what it declares.
    pub(crate) async fn action(&self, resource: &Resource, name: &str) -> Result<Action, BmcError> {
        let actions = &resource.body["Actions"];
        let declared = [&actions[format!("#{name}")], &actions["Oem"][format!("#{name}")]];
        let action = declared.into_iter().find(|action| !action.is_null());
        let action = action.ok_or_else(|| self.call.unsupported(name))?;
        let target = action["target"].as_str().unwrap_or_default();
        let target = match target {
            "" => format!("{}/Actions/{name}", resource.path),
            target => self.call.own_path(target)?,
        };
        let mut allowed = action.clone();
        if let Some(info) = action["@Redfish.ActionInfo"].as_str() {
            let info = self.call.get(info).await?.body;
            for parameter in info["Parameters"].as_array().into_iter().flatten() {
                if let Some(name) = parameter["Name"].as_str() {
                    let values = parameter["AllowableValues"].clone();
                    allowed[format!("{name}@Redfish.AllowableValues")] = values;
                }
            }
        }
        Ok(Action { target, allowed })
    }
}

/// An action that a resource has.
pub(crate) struct Action {
    pub(crate) target: String,
    allowed: Value,
}

impl Action {
    /// The values that a parameter may have; none if the BMC does not say.
    pub(crate) fn values(&self, parameter: &str) -> Option<Vec<&str>> {
        let values = self.allowed[format!("{parameter}@Redfish.AllowableValues")].as_array()?;
        Some(values.iter().filter_map(Value::as_str).collect())
    }

    /// A body with the first of these values that the parameter may have; with the first one if the BMC does not say.
    pub(crate) fn with(&self, parameter: &str, wanted: &[&str]) -> Option<Value> {
        let chosen = match self.values(parameter) {
            Some(allowed) => wanted.iter().find(|value| allowed.contains(value))?,
            None => wanted.first()?,
        };
        Some(json!({ parameter: chosen }))
    }

    /// Whether the BMC declares values for a parameter, and so that it has one.
    pub(crate) fn declares(&self, parameter: &str) -> bool {
        self.values(parameter).is_some()
    }
}

/// The path that a property links to.
pub(crate) fn link(value: &Value) -> Option<String> {
    value["@odata.id"].as_str().map(|path| path.trim_end_matches('/').to_owned())
}
