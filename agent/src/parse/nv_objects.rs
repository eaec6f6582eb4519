//! Readers of NVUE's JSON: system, interfaces, MAC table; and the reading of JSON that other readers use.

use std::collections::BTreeMap;

use nom::{
    IResult, Parser,
    bytes::complete::{tag, take_while1},
    character::complete::space1,
    combinator::all_consuming,
    sequence::preceded,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::fault::ParseFault;

/// Reads a JSON document of `output` into `T`.
pub(crate) fn json<T: DeserializeOwned>(output: &'static str, text: &str, expected: &str) -> Result<T, ParseFault> {
    serde_json::from_str(text).map_err(|error| ParseFault::json(output, text, text, expected, &error))
}

/// What `nv show system -o json` tells about the release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SystemVersion {
    /// HBN and its version, for example `3.2.0`.
    Hbn(String),
    /// Another product, by the words printed.
    Other(String),
    /// Nothing that names a release.
    Unknown,
}

/// Reads `nv show system -o json`: the release stands in `build`, in newer releases in the product's name and release or,
/// if all else fails, in the image's build.
///
/// # Errors
/// [`ParseFault`] where the text is no JSON object.
pub fn system_version(text: &str) -> Result<SystemVersion, ParseFault> {
    let system: BTreeMap<String, Value> = json("nv show system", text, "a JSON object")?;
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str).unwrap_or_default().trim();
        Some(text.to_owned()).filter(|text| !text.is_empty())
    };
    let field = |name: &str| text(system.get(name));
    let product = |release| format!("{} {release}", field("product-name").unwrap_or_default()).trim().to_owned();
    let image = || text(system.get("image").and_then(|image| image.get("build-id")));
    let Some(words) = field("build").or_else(|| field("product-release").map(product)).or_else(image) else {
        return Ok(SystemVersion::Unknown);
    };
    Ok(match hbn(&words) {
        Ok((_, version)) => SystemVersion::Hbn(version.to_owned()),
        Err(_) => SystemVersion::Other(words),
    })
}

/// `HBN 3.2.0`
fn hbn(build: &str) -> IResult<&str, &str> {
    let version = take_while1(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    all_consuming(preceded((tag("HBN"), space1), version)).parse(build)
}

/// Whether a link works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkState {
    /// Name of the interface.
    pub name: String,
    /// `up`, `down`, or another word: as it works where that is told, else as it is configured.
    pub state: Option<String>,
}

/// Reads `nv show interface -o json`. Old releases tell only what is configured, as a map with one key; where
/// `oper-status` is there it wins, since a link that should be up need not be.
///
/// # Errors
/// [`ParseFault`] where the text is no JSON object of interfaces.
pub fn link_states(text: &str) -> Result<Vec<LinkState>, ParseFault> {
    let interfaces: BTreeMap<String, Value> = json("nv show interface", text, "a JSON object of interfaces")?;
    let state = |interface: &Value| {
        let link = interface.get("link")?;
        link.get("oper-status").and_then(switch).or_else(|| switch(link.get("state")?))
    };
    Ok(interfaces.iter().map(|(name, interface)| LinkState { name: name.clone(), state: state(interface) }).collect())
}

/// A switch in any of NVUE's forms: a word, or a map whose only key is the word.
fn switch(value: &Value) -> Option<String> {
    match value {
        Value::String(word) => Some(word.clone()),
        Value::Object(map) if map.len() == 1 => map.keys().next().cloned(),
        _ => None,
    }
}

/// An entry of a bridge's MAC table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MacEntry {
    /// MAC address, as printed.
    pub mac: String,
    /// Interface behind which it is.
    pub interface: String,
    /// VLAN, where it has one.
    pub vlan: Option<u16>,
    /// `permanent`, `static`, …
    pub entry_type: Option<String>,
    /// VNI it came from.
    pub src_vni: Option<u32>,
}

/// Reads `nv show bridge domain br_default mac-table -o json`: a map whose keys mean nothing.
///
/// # Errors
/// [`ParseFault`] where the text is no such map.
pub fn mac_table(text: &str) -> Result<Vec<MacEntry>, ParseFault> {
    let entries: BTreeMap<String, MacEntry> =
        json("nv show bridge domain mac-table", text, "a JSON object of MAC entries")?;
    Ok(entries.into_values().collect())
}
