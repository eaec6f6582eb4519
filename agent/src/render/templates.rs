//! Template files: which there are, where they come from, and how they are rendered. The rest of `render` calls it.

use std::{collections::BTreeMap, fmt::Write, fs, io, path::Path};

use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

use super::{
    dialect::{Dialect, write_value},
    marks::{self, TemplateLine},
};

/// Every template by the name it has below a template directory.
const EMBEDDED: &[(&str, &str)] = &[
    ("nvue/etv.nv.j2", include_str!("../../../templates/nvue/etv.nv.j2")),
    ("nvue/fnn.nv.j2", include_str!("../../../templates/nvue/fnn.nv.j2")),
    ("nvue/fnn_policy.nv.j2", include_str!("../../../templates/nvue/fnn_policy.nv.j2")),
    ("nvue/isolated.nv.j2", include_str!("../../../templates/nvue/isolated.nv.j2")),
    ("nvue/base.nv.j2", include_str!("../../../templates/nvue/base.nv.j2")),
    ("nvue/acl.nv.j2", include_str!("../../../templates/nvue/acl.nv.j2")),
    ("nvue/macros.nv.j2", include_str!("../../../templates/nvue/macros.nv.j2")),
    ("dhcp/kea-dhcp4.json.j2", include_str!("../../../templates/dhcp/kea-dhcp4.json.j2")),
    ("dhcp/dhcpd.conf.j2", include_str!("../../../templates/dhcp/dhcpd.conf.j2")),
    ("dhcp/nico/dhcp.yaml.j2", include_str!("../../../templates/dhcp/nico/dhcp.yaml.j2")),
    ("dhcp/nico/host.yaml.j2", include_str!("../../../templates/dhcp/nico/host.yaml.j2")),
    (
        "dhcp/nico/default-forge-dhcp-server.conf.j2",
        include_str!("../../../templates/dhcp/nico/default-forge-dhcp-server.conf.j2"),
    ),
];

/// The templates that files are rendered from.
#[derive(Debug)]
pub struct Templates {
    engine: Environment<'static>,
}

/// The values that templates are given, each by one kind of template or another, and the functions that all have.
const GIVEN: &[&str] = &[
    "acls",
    "after_kept_interfaces",
    "anycast",
    "asn",
    "dict",
    "evpn_on_uplinks",
    "host_interface_id",
    "host_peers",
    "hosts",
    "intercept",
    "kea_hooks",
    "kea_leases",
    "kept_interfaces",
    "leaked_gateways",
    "lease_secs",
    "loopback",
    "metadata",
    "nameservers",
    "namespace",
    "networks",
    "ntp_servers",
    "password",
    "ports",
    "provisioning_server",
    "range",
    "rebind_secs",
    "renew_secs",
    "route_servers",
    "serve",
    "stateful_acls",
    "tenant",
    "tenant_asn",
    "underlay",
    "uplinks",
    "vrfs",
];

/// A template that is missing, does not parse or does not render.
#[derive(Debug, thiserror::Error)]
#[error("template {file}{}: {fault}", behind_file(*line))]
pub struct TemplateError {
    /// Name of the file below the template directory, for example `nvue/etv.nv.j2`.
    pub file: String,
    /// Line, from 1; 0 if the file as a whole is at fault.
    pub line: usize,
    /// What is wrong.
    pub fault: String,
}

fn behind_file(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

impl Templates {
    /// The templates that are part of the program.
    ///
    /// # Errors
    /// Never with the templates as shipped.
    pub fn embedded() -> Result<Self, TemplateError> {
        Self::with(EMBEDDED.iter().map(|(name, text)| (*name, (*text).to_owned())))
    }

    /// The templates of a directory; those that it lacks are the embedded ones.
    ///
    /// # Errors
    /// If the directory cannot be read, a template does not parse, or a file has a name that no template has.
    pub fn from_dir(dir: &Path) -> Result<Self, TemplateError> {
        Self::from_files(Self::files_of(dir)?)
    }

    /// The template files of a directory by name, not looked into yet.
    ///
    /// # Errors
    /// If the directory or a file in it cannot be read, is not a regular file, or is too large.
    pub(crate) fn files_of(dir: &Path) -> Result<BTreeMap<String, String>, TemplateError> {
        let mut found = BTreeMap::new();
        collect(dir, dir, &mut found, 0)?;
        Ok(found)
    }

    /// Templates of these files; those that are not among them are the embedded ones.
    pub(crate) fn from_files(mut found: BTreeMap<String, String>) -> Result<Self, TemplateError> {
        for (name, text) in &found {
            if let Some(line) = long_tag(text) {
                let fault = format!("a tag is longer than {MAX_TAG} bytes");
                return Err(TemplateError { file: name.clone(), line, fault });
            }
        }
        let templates = EMBEDDED.iter().map(|(name, text)| {
            let text = found.remove(*name).unwrap_or_else(|| (*text).to_owned());
            (*name, text)
        });
        let templates: Vec<_> = templates.collect();
        if let Some(name) = found.into_keys().next() {
            let known = EMBEDDED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(TemplateError {
                file: name,
                line: 0,
                fault: format!("no template has this name; known are {known}"),
            });
        }
        Self::with(templates)
    }

    /// Name and text of every embedded template, for those who want to write their own.
    pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
        EMBEDDED.iter().copied()
    }

    /// Names that templates use and are not given, with the template, in order. Rendering finds them too, but only in the
    /// parts that a response needs. A template that others include may use names of theirs: those are found here as well.
    #[must_use]
    pub fn names_not_given(&self) -> Vec<(String, String)> {
        let unknown = |(file, template): (&str, minijinja::Template<'_, '_>)| {
            let names = template.undeclared_variables(false).into_iter();
            let names = names.filter(|name| !GIVEN.contains(&name.as_str()));
            names.map(|name| (file.to_owned(), name)).collect::<Vec<_>>()
        };
        let mut names: Vec<_> = self.engine.templates().flat_map(unknown).collect();
        names.sort_unstable();
        names
    }

    fn with(templates: impl IntoIterator<Item = (&'static str, String)>) -> Result<Self, TemplateError> {
        let mut engine = Environment::new();
        engine.set_fuel(Some(FUEL));
        engine.set_undefined_behavior(UndefinedBehavior::Strict);
        // Without it an error does not say which name is undefined.
        engine.set_debug(true);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        engine.set_syntax(syntax.map_err(|error| template_error("", &error))?);
        engine.set_auto_escape_callback(|name| AutoEscape::Custom(Dialect::of(name).name().into()));
        engine.set_formatter(write_value);
        engine.add_filter("quoted", |text: String| Value::from_safe_string(serde_json::Value::from(text).to_string()));
        for (name, text) in templates {
            let text = if Dialect::of(name) == Dialect::Words { text } else { marks::marked(name, &text) };
            engine.add_template_owned(name, text).map_err(|error| template_error(name, &error))?;
        }
        Ok(Self { engine })
    }

    /// The text of a template for JSON, which must be plain JSON: not all readers accept comments.
    pub(super) fn json(&self, name: &str, context: impl Serialize) -> Result<String, TemplateError> {
        self.checked(name, context, |text| {
            let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            Some((lines.map(str::len).sum::<usize>() + error.column(), format!("does not render to JSON: {error}")))
        })
    }

    /// The text of a template for YAML, which must load.
    pub(super) fn yaml(&self, name: &str, context: impl Serialize) -> Result<String, TemplateError> {
        self.checked(name, context, |text| {
            let error = serde_yaml::from_str::<serde_yaml::Value>(text).err()?;
            let at = error.location().map_or(0, |place| place.index() + 1);
            Some((at, format!("does not render to YAML: {error}")))
        })
    }

    /// Renders, checks the text and finds the line of a template that a fault comes from; `fault` gives the length of the text
    /// before it.
    fn checked(
        &self,
        name: &str,
        context: impl Serialize,
        fault: impl Fn(&str) -> Option<(usize, String)>,
    ) -> Result<String, TemplateError> {
        let (text, places) = marks::unmarked(&self.render(name, context)?);
        let Some((at, fault)) = fault(&text) else { return Ok(text) };
        // The place that the reader names is in the rendered text, which people do not see.
        let fault = fault.rsplit_once(" at line ").map_or(fault.as_str(), |(fault, _)| fault).to_owned();
        let behind = places.iter().find(|(mark, _)| *mark >= at).or(places.last());
        let place = behind.map_or(TemplateLine { template: name.into(), line: 0 }, |(_, place)| place.clone());
        Err(TemplateError { file: place.template, line: place.line, fault })
    }

    /// The text of one template, with marks where its dialect has them.
    pub(super) fn render(&self, name: &str, context: impl Serialize) -> Result<String, TemplateError> {
        let mut text = Bounded::default();
        let context = Value::from(Serde(context));
        let rendered = self.engine.get_template(name).and_then(|template| {
            template.render_captured_to(context, &mut text)?;
            Ok(())
        });
        let whole = |fault| TemplateError { file: name.into(), line: 0, fault };
        match rendered {
            Ok(()) => String::from_utf8(text.bytes).map_err(|error| whole(error.to_string())),
            Err(_) if text.full => Err(whole(format!("renders to more than {} MiB", MAX_BYTES >> 20))),
            Err(error) => Err(template_error(name, &error)),
        }
    }
}

/// Steps that one rendering may take: the largest configuration takes a hundredth of it.
const FUEL: u64 = 20_000_000;

/// Longest tag: expressions in a tag are parsed recursively.
const MAX_TAG: usize = 2_000;

/// Most template files of a directory, most bytes of one, and deepest directory.
const MAX_FILES: usize = 200;
const MAX_TEMPLATE: u64 = 1 << 20;
const MAX_DEPTH: usize = 8;

/// Line of the first tag that is too long, or that never ends.
fn long_tag(text: &str) -> Option<usize> {
    let mut rest = text;
    let mut before = 0;
    while let Some((start, end)) = ["{{", "{%"].into_iter().filter_map(|open| Some((rest.find(open)?, open))).min() {
        let tag = rest.get(start..)?;
        let close = if end == "{{" { "}}" } else { "%}" };
        let length = tag.find(close).map_or(tag.len(), |length| length + 2);
        before += rest.get(..start)?.matches('\n').count();
        if length > MAX_TAG {
            return Some(before + 1);
        }
        before += tag.get(..length)?.matches('\n').count();
        rest = tag.get(length..)?;
    }
    None
}

/// What one template may render to: that of the largest configuration is a third of it.
const MAX_BYTES: usize = 32 << 20;

/// A text that ends before it fills the DPU's memory.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.full |= self.bytes.len() + bytes.len() > MAX_BYTES;
        if self.full {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads every file below `dir` by its name relative to `root`.
fn collect(root: &Path, dir: &Path, found: &mut BTreeMap<String, String>, depth: usize) -> Result<(), TemplateError> {
    let fault = |path: &Path, error: &io::Error| TemplateError {
        file: path.display().to_string(),
        line: 0,
        fault: format!("cannot be read: {error}"),
    };
    for entry in fs::read_dir(dir).map_err(|error| fault(dir, &error))? {
        let path = entry.map_err(|error| fault(dir, &error))?.path();
        if path.is_dir() {
            if depth == MAX_DEPTH {
                return Err(fault(&path, &io::Error::other(format!("it is more than {MAX_DEPTH} directories deep"))));
            }
            collect(root, &path, found, depth + 1)?;
        } else if path.extension().is_some_and(|extension| extension == "j2") {
            if found.len() == MAX_FILES {
                return Err(fault(&path, &io::Error::other(format!("there are more than {MAX_FILES} templates"))));
            }
            let text = types::read_text(&path, MAX_TEMPLATE).map_err(|error| fault(&path, &error))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            found.insert(name, text);
        }
    }
    Ok(())
}

fn template_error(name: &str, error: &Error) -> TemplateError {
    let mut fault = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    // The innermost cause is where the fault is: an included file, not the one that includes it.
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(inner) = inner.downcast_ref::<Error>() {
            return template_error(name, inner);
        }
        let _ = write!(fault, ": {inner}");
        source = inner.source();
    }
    TemplateError { file: error.name().unwrap_or(name).to_owned(), line: error.line().unwrap_or(0), fault }
}
