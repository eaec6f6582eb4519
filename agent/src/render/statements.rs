//! The language that NVUE templates render to: one statement a line, so that no indentation can go wrong.
//!
//! ```text
//! # a comment
//! evpn enable = on                    the value at a path
//! interface lo ip address 10.0.0.1/32 a name that is there without a value
//! [vrf default router bgp]            following lines are below this path, up to the next header
//! enable = on
//! []                                  back to the root
//! ```
//!
//! Words are separated by blanks. A part in double quotes (with JSON's escapes) may hold anything, and joins with what
//! stands directly before and behind it: `vlan"1 6"` is one word. What templates fill in is quoted where it must be.

use super::marks::{TemplateLine, unmark};
use crate::lint::{Clash, Node};

/// A line that is not a statement, or contradicts an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {fault}")]
pub(crate) struct StatementError {
    /// Template and line that the statement comes from, if it is marked.
    pub(crate) place: Option<TemplateLine>,
    pub(crate) text: String,
    pub(crate) fault: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Open,
    Close,
    Equals,
}

/// Reads statements into a tree.
pub(crate) fn read(text: &str) -> Result<Node, StatementError> {
    let mut root = Node::default();
    each(text, |path, value, line, place| {
        root.set(path.iter().map(String::as_str), value).map_err(|clash| {
            let fault = match clash {
                Clash::Value(_) if line.contains("password") => "an earlier line sets another value here".into(),
                clash => clash.to_string(),
            };
            StatementError { place, text: shown(line), fault }
        })
    })?;
    Ok(root)
}

/// Where the first statement at or below a path comes from; names of the path are separated by `/`, as the lint does.
pub(crate) fn place(text: &str, path: &str) -> Option<TemplateLine> {
    let mut found = None;
    // Text that has been read has no more faults.
    let _ = each(text, |names, _, _, place| {
        if found.is_none() {
            let joined: String = names.iter().flat_map(|name| ["/", name]).collect();
            let below = joined.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            found = place.filter(|_| below);
        }
        Ok(())
    });
    found
}

/// ProbeRunner each statement over: its whole path, its value, its line and where that comes from.
fn each(
    text: &str,
    mut take: impl FnMut(&[String], Option<&str>, &str, Option<TemplateLine>) -> Result<(), StatementError>,
) -> Result<(), StatementError> {
    let mut base: Vec<String> = Vec::new();
    for marked in text.lines() {
        let (line, place) = unmark(marked);
        let read = tokens(&line).and_then(statement);
        match read.map_err(|fault| StatementError { place: place.clone(), text: shown(&line), fault: fault.into() })? {
            None => {}
            Some(Statement::Base(path)) => base = path,
            Some(Statement::Set(path, value)) => {
                let depth = base.len();
                base.extend(path);
                take(&base, value.as_deref(), &line, place)?;
                base.truncate(depth);
            }
        }
    }
    Ok(())
}

enum Statement {
    Base(Vec<String>),
    Set(Vec<String>, Option<String>),
}

fn statement(tokens: Vec<Token>) -> Result<Option<Statement>, &'static str> {
    let header = matches!(tokens.first(), Some(Token::Open));
    let mut tokens = tokens.into_iter().skip(usize::from(header));
    let mut path = Vec::new();
    let end = loop {
        match tokens.next() {
            Some(Token::Word(word)) => path.push(word),
            end => break end,
        }
    };
    let statement = match end {
        Some(Token::Close) if header => Statement::Base(path),
        _ if header => return Err("a header ends with `]`"),
        None if path.is_empty() => return Ok(None),
        None => Statement::Set(path, None),
        Some(Token::Equals) if path.is_empty() => return Err("nothing stands before `=`"),
        Some(Token::Equals) => match tokens.next() {
            Some(Token::Word(value)) => Statement::Set(path, Some(value)),
            _ => return Err("no value stands behind `=`"),
        },
        Some(_) => return Err("`[` and `]` belong around a header only; quote them in a word"),
    };
    if tokens.next().is_some() { Err("more stands behind the end of the statement") } else { Ok(Some(statement)) }
}

fn tokens(line: &str) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let single = match first {
            '#' => break,
            '[' => Some(Token::Open),
            ']' => Some(Token::Close),
            '=' => Some(Token::Equals),
            _ => None,
        };
        rest = match single {
            Some(token) => {
                tokens.push(token);
                &rest[1..]
            }
            None => {
                let (word, behind) = word(rest)?;
                tokens.push(Token::Word(word));
                behind
            }
        }
        .trim_start();
    }
    Ok(tokens)
}

/// Splits a word, which may have quoted parts, from what is behind it.
fn word(text: &str) -> Result<(String, &str), &'static str> {
    let mut word = String::new();
    let mut rest = text;
    loop {
        let bare = rest.len() - rest.trim_start_matches(bare).len();
        word.push_str(&rest[..bare]);
        rest = &rest[bare..];
        if !rest.starts_with('"') {
            break;
        }
        let end = closing_quote(rest).ok_or("a quote is not closed")?;
        let part: String = serde_json::from_str(&rest[..end]).map_err(|_| "a quoted part is not a JSON string")?;
        word.push_str(&part);
        rest = &rest[end..];
    }
    if rest.len() == text.len() { Err("a character here must be quoted") } else { Ok((word, rest)) }
}

/// Where the quoted part that `text` starts with ends.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(index, byte)| {
        let closing = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closing.then_some(index + 1)
    })
}

/// Characters that need no quotes in a word.
fn bare(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | ':' | '/' | ',' | '@' | '+' | '*' | '%')
}

/// A text as part of a word: as it is if it can be, else quoted.
pub(crate) fn escape(text: &str) -> String {
    if !text.is_empty() && text.chars().all(bare) {
        return text.into();
    }
    serde_json::Value::from(text).to_string()
}

/// A line as an error shows it. Passwords are never shown.
fn shown(line: &str) -> String {
    let line = line.trim();
    match line.find("password") {
        Some(at) => format!("{}password …", &line[..at]),
        None => line.chars().take(160).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::marks::mark;

    fn yaml(text: &str) -> String {
        let mut yaml = String::new();
        read(text).unwrap().write_yaml(&mut yaml, 0);
        yaml
    }

    #[test]
    fn statements_become_a_tree() {
        let text = "# the DPU\n evpn enable = on # always\n\n[interface lo]\nip address 10.0.0.1/32\ntype = loopback\n\
                    [interface vlan\"1 6\" ]\nvlan = 16\n[]\nnve\n";
        assert_eq!(
            yaml(text),
            "evpn:\n  enable: 'on'\ninterface:\n  lo:\n    ip:\n      address:\n        10.0.0.1/32: {}\n    \
             type: loopback\n  vlan1 6:\n    vlan: 16\nnve: {}\n"
        );
    }

    #[test]
    fn faults_show_the_statement_and_its_place() {
        for (text, fault) in [
            ("a b =", "`a b =`: no value stands behind `=`"),
            ("\n= a", "`= a`: nothing stands before `=`"),
            ("a = b c", "`a = b c`: more stands behind the end of the statement"),
            ("[a", "`[a`: a header ends with `]`"),
            ("[a] b", "`[a] b`: more stands behind the end of the statement"),
            ("a ] b", "`a ] b`: `[` and `]` belong around a header only; quote them in a word"),
            ("a \"b", "`a \"b`: a quote is not closed"),
            ("a {{ b", "`a {{ b`: a character here must be quoted"),
            ("a = 1\na = 2", "`a = 2`: an earlier line says `1` here"),
            ("a b\na = 2", "`a = 2`: earlier lines have names below this path, so it cannot have a value"),
            ("x password = a b", "`x password …`: more stands behind the end of the statement"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), fault);
        }
        let error = read(&format!("a = 1\na = 2{}", mark("nvue/x.nv.j2", 7))).unwrap_err();
        let place = TemplateLine { template: "nvue/x.nv.j2".into(), line: 7 };
        assert_eq!((error.text.as_str(), error.place), ("a = 2", Some(place)));
    }

    #[test]
    fn a_path_is_found_in_its_template() {
        let text = format!("[a b]{}\nc = 1{}\n[]\na bc = 2{}\n", mark("x", 1), mark("x", 2), mark("y", 3));
        let line = |path: &str| place(&text, path).map(|place| place.line);
        assert_eq!((line("/a/b/c"), line("/a/b"), line("/a/bc"), line("/b")), (Some(2), Some(2), Some(3), None));
    }

    #[test]
    fn any_text_survives_escaping() {
        for text in ["", "a", "a b", "\"", "\\", "a\nb", "{{ x }}", "#", "=", "[", "'", "\u{0}", "é", "\u{1f600}\\\""]
        {
            let root = read(&format!("k{} = {}", escape(text), escape(text))).unwrap();
            let key = format!("k{text}");
            assert_eq!(root.get([key.as_str()]).and_then(Node::value), Some(text), "{text:?}");
        }
    }
}
