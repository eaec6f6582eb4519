//! Typed reads from a YAML mapping; each fault is noted with its line.

use std::{cell::RefCell, collections::BTreeMap, fmt::Display, str::FromStr};

use marked_yaml::{LoadError, Node, types::MarkedMappingNode};

/// Faults of a file, and the lines of the fields read so far.
#[derive(Default)]
pub(super) struct Faults {
    found: RefCell<Vec<(usize, String)>>,
    lines: RefCell<BTreeMap<String, usize>>,
}

impl Faults {
    fn add(&self, line: usize, fault: String) {
        self.found.borrow_mut().push((line, fault));
    }

    /// Adds a fault at the line of a field, or of the nearest field that holds it.
    pub(super) fn add_at_field(&self, field: &str, fault: String) {
        self.add(self.line_of(field), fault);
    }

    /// Line of a field, or of the nearest field that holds it.
    pub(super) fn line_of(&self, field: &str) -> usize {
        let lines = self.lines.borrow();
        let mut holder = field;
        loop {
            if let Some(line) = lines.get(holder) {
                return *line;
            }
            match holder.rfind(['.', '[']) {
                Some(end) => holder = &holder[..end],
                None => return 0,
            }
        }
    }

    pub(super) fn take(self) -> Vec<(usize, String)> {
        self.found.into_inner()
    }
}

/// A mapping of the file. Its readers return what they can and note what is wrong.
pub(super) struct Section<'a> {
    node: &'a MarkedMappingNode,
    path: String,
    faults: &'a Faults,
}

impl<'a> Section<'a> {
    pub(super) fn new(node: &'a MarkedMappingNode, path: String, faults: &'a Faults) -> Self {
        let line = node.span().start().map_or(1, marked_yaml::Marker::line);
        faults.lines.borrow_mut().insert(path.clone(), line);
        Self { node, path, faults }
    }

    fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Notes a fault of one key's value.
    pub(super) fn fault(&self, key: &str, fault: impl Display) {
        let field = self.field(key);
        self.faults.add_at_field(&field, format!("{field}: {fault}"));
    }

    /// Notes keys that are not among `known`, with the nearest one that is.
    pub(super) fn only(&self, known: &[&str]) {
        for (key, _) in self.node.iter() {
            let name = key.as_str();
            if !known.contains(&name) {
                let line = key.span().start().map_or(0, marked_yaml::Marker::line);
                let hint = types::did_you_mean(name, known);
                self.faults.add(line, format!("{}: unknown key{hint}", self.field(&name.escape_default().to_string())));
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a Node> {
        let (marked, node) = self.node.iter().find(|(name, _)| name.as_str() == key)?;
        let line = marked.span().start().map_or(0, marked_yaml::Marker::line);
        self.faults.lines.borrow_mut().insert(self.field(key), line);
        let empty =
            node.as_scalar().is_some_and(|scalar| scalar.may_coerce() && matches!(scalar.as_str(), "" | "~" | "null"));
        (!empty).then_some(node)
    }

    /// A value of one key, if it is there and right.
    pub(super) fn value<T: FromStr<Err: Display>>(&self, key: &str) -> Option<T> {
        let node = self.get(key)?;
        self.scalar(key, node)
    }

    /// A value of one key, which must be there.
    pub(super) fn required<T: FromStr<Err: Display>>(&self, key: &str) -> Option<T> {
        if self.get(key).is_none() {
            self.fault(key, "is missing");
        }
        self.value(key)
    }

    fn scalar<T: FromStr<Err: Display>>(&self, key: &str, node: &Node) -> Option<T> {
        let Some(scalar) = node.as_scalar() else {
            self.fault(key, "expected a single value");
            return None;
        };
        let text = scalar.as_str();
        text.parse()
            .map_err(|error| {
                let shown: String = text.chars().take(80).collect();
                self.fault(key, format_args!("`{}`: {error}", shown.escape_default()));
            })
            .ok()
    }

    /// A text whose content must not be shown.
    pub(super) fn secret(&self, key: &str) -> Option<String> {
        let node = self.get(key)?;
        if node.as_scalar().is_none() {
            self.fault(key, "expected a single value");
        }
        node.as_scalar().map(|scalar| scalar.as_str().to_owned())
    }

    /// Values of a list; none if the key is not there.
    pub(super) fn list<T: FromStr<Err: Display>>(&self, key: &str) -> Vec<T> {
        match self.get(key) {
            None => Vec::new(),
            Some(node) => match node.as_sequence() {
                Some(list) => list.iter().filter_map(|node| self.scalar(key, node)).collect(),
                None => {
                    self.fault(key, "expected a list");
                    Vec::new()
                }
            },
        }
    }

    /// The mapping of one key.
    pub(super) fn section(&self, key: &str) -> Option<Section<'a>> {
        let node = self.get(key)?;
        let Some(mapping) = node.as_mapping() else {
            self.fault(key, "expected a mapping");
            return None;
        };
        Some(Section::new(mapping, self.field(key), self.faults))
    }

    /// The mappings in a list; none if the key is not there.
    pub(super) fn sections(&self, key: &str) -> Vec<Section<'a>> {
        let Some(node) = self.get(key) else { return Vec::new() };
        let Some(list) = node.as_sequence() else {
            self.fault(key, "expected a list");
            return Vec::new();
        };
        list.iter()
            .enumerate()
            .filter_map(|(place, node)| {
                let field = format!("{key}[{place}]");
                match node.as_mapping() {
                    Some(mapping) => Some(Section::new(mapping, self.field(&field), self.faults)),
                    None => {
                        let line = node.span().start().map_or(0, marked_yaml::Marker::line);
                        self.faults.lines.borrow_mut().insert(self.field(&field), line);
                        self.fault(&field, "expected a mapping");
                        None
                    }
                }
            })
            .collect()
    }

    /// A value that is written as itself or as the only key of a mapping.
    pub(super) fn value_or_in<T: FromStr<Err: Display>>(&self, key: &str, inner: &str) -> Option<T> {
        match self.get(key)?.as_mapping() {
            Some(_) => {
                let section = self.section(key)?;
                section.only(&[inner]);
                section.value(inner)
            }
            None => self.value(key),
        }
    }
}

/// Line and fault of a text that is no YAML.
pub(super) fn load_fault(error: &LoadError) -> (usize, String) {
    let (marker, fault) = match error {
        LoadError::TopLevelMustBeMapping(at) | LoadError::TopLevelMustBeSequence(at) => {
            (Some(*at), "a site file is a mapping of `network` and `hosts`".to_owned())
        }
        LoadError::UnexpectedAnchor(at) => (Some(*at), "anchors are not used in site files".to_owned()),
        LoadError::MappingKeyMustBeScalar(at) => (Some(*at), "a key must be a single value".to_owned()),
        LoadError::UnexpectedTag(at) => (Some(*at), "tags are not used in site files".to_owned()),
        LoadError::ScanError(at, error) => (Some(*at), error.to_string()),
        LoadError::DuplicateKey(twins) => {
            (twins.key.span().start().copied(), format!("key `{}` is there twice", twins.key.as_str().escape_default()))
        }
    };
    (marker.map_or(0, |marker| marker.line()), fault)
}
