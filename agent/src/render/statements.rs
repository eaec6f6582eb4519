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

use crate::lint::{Clash, Node};

/// A line that is no statement, or contradicts an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {fault}")]
pub(crate) struct StatementError {
    /// Template and line that the statement comes from, if it is marked.
    pub(crate) place: Option<(String, usize)>,
    pub(crate) text: String,
    pub(crate) fault: String,
}

/// What stands before the place of a statement in its comment.
const MARK: &str = " #@";

/// A comment that says where a statement comes from.
pub(crate) fn mark(template: &str, line: usize) -> String {
    format!("{MARK}{template}:{line}")
}

/// Splits a line into the statement and its place.
fn unmark(line: &str) -> (&str, Option<(String, usize)>) {
    let marked = line.rsplit_once(MARK).and_then(|(statement, place)| {
        let (template, line) = place.rsplit_once(':')?;
        Some((statement, Some((template.to_owned(), line.parse().ok()?))))
    });
    marked.unwrap_or((line, None))
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
    let mut base: Vec<String> = Vec::new();
    for line in text.lines() {
        let fault = |fault: String| {
            let (statement, place) = unmark(line);
            StatementError { place, text: shown(statement), fault }
        };
        let tokens = tokens(line).map_err(|what| fault(what.into()))?;
        let Some(statement) = statement(tokens).map_err(|what| fault(what.into()))? else { continue };
        match statement {
            Statement::Base(path) => base = path,
            Statement::Set(path, value) => {
                let path = base.iter().chain(&path).map(String::as_str);
                root.set(path, value.as_deref()).map_err(|clash| match clash {
                    Clash::Value(_) if line.contains("password") => {
                        fault("an earlier line says another value here".into())
                    }
                    clash => fault(clash.to_string()),
                })?;
            }
        }
    }
    Ok(root)
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
        let part: String = serde_json::from_str(&rest[..end]).map_err(|_| "a quoted part is no JSON string")?;
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

/// Characters that stand for themselves in a word.
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
        assert_eq!((error.text.as_str(), error.place), ("a = 2", Some(("nvue/x.nv.j2".into(), 7))));
        let error = read("a = \" #@x:1\" b").unwrap_err();
        assert_eq!(error.place, None);
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
