//! A configuration as a tree, and its one text form.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fmt::{self, Write},
};

/// A name on the way to a value. Numbers come first and in order, so that rule 9 stands before rule 10.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The text as a number, if it is the one way to write that number; else the greatest.
    rank: u64,
    text: String,
}

impl Key {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        let rank = canonical.then(|| text.parse().ok()).flatten().unwrap_or(u64::MAX);
        Self { rank, text: text.into() }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rank, &self.text).cmp(&(other.rank, &other.text))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A value or more names. A map may be empty: to NVUE that a name is there is a statement in itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Leaf(String),
    Map(BTreeMap<Key, Node>),
}

impl Default for Node {
    fn default() -> Self {
        Self::Map(BTreeMap::new())
    }
}

/// Two statements that cannot both hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clash {
    /// The path has another value already.
    Value(String),
    /// Something before the end of the path has a value, so nothing can be below it.
    Below(String),
    /// The path has more names below it, so it can have no value.
    Above,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "an earlier line says `{value}` here"),
            Self::Below(value) => write!(f, "an earlier line ends this path with the value `{value}`"),
            Self::Above => f.write_str("earlier lines have names below this path, so it cannot have a value"),
        }
    }
}

impl Node {
    /// States that the path is there, with a value or without.
    pub(crate) fn set<'a>(
        &mut self,
        path: impl IntoIterator<Item = &'a str>,
        value: Option<&str>,
    ) -> Result<(), Clash> {
        let mut path = path.into_iter().peekable();
        let mut node = self;
        while let Some(name) = path.next() {
            let map = match node {
                Self::Map(map) => map,
                Self::Leaf(value) => return Err(Clash::Below(value.clone())),
            };
            match (path.peek(), value) {
                (None, Some(value)) => {
                    return match map.get(&Key::from(name)) {
                        None => {
                            map.insert(name.into(), Self::Leaf(value.into()));
                            Ok(())
                        }
                        Some(Self::Leaf(earlier)) if earlier == value => Ok(()),
                        Some(Self::Leaf(earlier)) => Err(Clash::Value(earlier.clone())),
                        Some(Self::Map(_)) => Err(Clash::Above),
                    };
                }
                _ => node = map.entry(name.into()).or_default(),
            }
        }
        match node {
            Self::Map(_) => Ok(()),
            Self::Leaf(value) => Err(Clash::Below(value.clone())),
        }
    }

    /// What is at a path.
    pub(crate) fn get<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, name| match node {
            Self::Map(map) => map.get(&Key::from(name)),
            Self::Leaf(_) => None,
        })
    }

    /// The names directly below.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let map = match self {
            Self::Map(map) => Some(map),
            Self::Leaf(_) => None,
        };
        map.into_iter().flatten().map(|(key, node)| (key.as_str(), node))
    }

    /// The value, if this is one.
    pub(crate) fn value(&self) -> Option<&str> {
        match self {
            Self::Leaf(value) => Some(value),
            Self::Map(_) => None,
        }
    }

    /// YAML text of this node, each line indented by `depth` levels.
    pub(crate) fn write_yaml(&self, text: &mut String, depth: usize) {
        for (name, node) in self.entries() {
            for _ in 0..depth {
                text.push_str("  ");
            }
            text.push_str(&yaml_key(name));
            match node {
                Self::Leaf(value) => {
                    text.push_str(": ");
                    // A password is a text even if it is all digits.
                    text.push_str(&if name == "password" { quoted(value) } else { yaml_value(value) });
                    text.push('\n');
                }
                Self::Map(map) if map.is_empty() => text.push_str(": {}\n"),
                Self::Map(_) => {
                    text.push_str(":\n");
                    node.write_yaml(text, depth + 1);
                }
            }
        }
    }
}

/// A key that every YAML reader takes for the same text.
fn yaml_key(text: &str) -> String {
    if plain(text) { text.into() } else { quoted(text) }
}

/// A value: whole numbers stay numbers, any other text is one that every YAML reader takes for the same text.
pub(crate) fn yaml_value(text: &str) -> String {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = digits && (1..=18).contains(&text.len()) && (text == "0" || !text.starts_with('0'));
    if whole || plain(text) { text.into() } else { quoted(text) }
}

/// Whether YAML 1.1 and 1.2 both read the text as that text without quotes. Errs on the side of quotes: addresses and
/// names are plain; numbers, dates, base-60 numbers (`65100:02`) and all words for true, false and null are not.
fn plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    let Some(first) = bytes.next() else { return false };
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "nan" | "inf"
    );
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    if word || !(first.is_ascii_alphanumeric()) {
        return false;
    }
    if first.is_ascii_alphabetic() {
        // A text that starts with a letter can be no number; `Cumulus Linux 5.6.0` shows why inner spaces are fine.
        return bytes.clone().all(|byte| inner(byte) || byte == b' ') && !text.ends_with(' ');
    }
    // Of what starts with a digit only addresses and prefixes are plain.
    text.parse::<std::net::Ipv4Addr>().is_ok() || text.parse::<ipnet::Ipv4Net>().is_ok()
}

/// A quoted YAML scalar: in single quotes if it is printable, else with escapes.
fn quoted(text: &str) -> String {
    if text.chars().all(|character| matches!(character, ' '..='~')) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' => quoted.push(character),
            other => {
                // Writing to a string cannot fail.
                let _ = match u32::from(other) {
                    code if code <= 0xff => write!(quoted, "\\x{code:02x}"),
                    code if code <= 0xffff => write!(quoted, "\\u{code:04x}"),
                    code => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_yaml_would_misread_is_quoted() {
        for (text, key, value) in [
            ("swp", "swp", "swp"),
            ("on", "'on'", "'on'"),
            ("No", "'No'", "'No'"),
            ("10", "'10'", "10"),
            ("0", "'0'", "0"),
            ("010", "'010'", "'010'"),
            ("65100:02", "'65100:02'", "'65100:02'"),
            ("11414:59", "'11414:59'", "'11414:59'"),
            ("00:00:01:02:51:96", "'00:00:01:02:51:96'", "'00:00:01:02:51:96'"),
            ("192.168.96.36/32", "192.168.96.36/32", "192.168.96.36/32"),
            ("2001:db8::/127", "'2001:db8::/127'", "'2001:db8::/127'"),
            ("1e3", "'1e3'", "'1e3'"),
            ("1.0", "'1.0'", "'1.0'"),
            ("2001-01-01", "'2001-01-01'", "'2001-01-01'"),
            ("", "''", "''"),
            ("it's", "'it''s'", "'it''s'"),
            ("a: b", "'a: b'", "'a: b'"),
            ("a #b", "'a #b'", "'a #b'"),
            ("a\nb\u{1f600}", "\"a\\x0ab\\U0001f600\"", "\"a\\x0ab\\U0001f600\""),
            ("~", "'~'", "'~'"),
            ("Cumulus Linux 5.6.0", "Cumulus Linux 5.6.0", "Cumulus Linux 5.6.0"),
        ] {
            assert_eq!(yaml_key(text), key);
            assert_eq!(yaml_value(text), value);
        }
    }

    #[test]
    fn numbers_are_ordered_as_numbers_and_before_names() {
        let mut node = Node::default();
        for name in ["vlan", "1000", "9", "10", "010"] {
            node.set([name], None).unwrap();
        }
        assert_eq!(node.entries().map(|(name, _)| name).collect::<Vec<_>>(), ["9", "10", "1000", "010", "vlan"]);
    }

    #[test]
    fn statements_that_disagree_clash() {
        let mut node = Node::default();
        node.set(["a", "b"], Some("1")).unwrap();
        assert_eq!(node.set(["a", "b"], Some("1")), Ok(()));
        assert_eq!(node.set(["a", "b"], Some("2")), Err(Clash::Value("1".into())));
        assert_eq!(node.set(["a", "b"], None), Err(Clash::Below("1".into())));
        assert_eq!(node.set(["a", "b", "c"], None), Err(Clash::Below("1".into())));
        assert_eq!(node.set(["a"], Some("1")), Err(Clash::Above));
        assert_eq!(node.set(["a"], None), Ok(()));
    }
}
