//! `sitectl rules fmt`: the one way in which rules are laid out.
//!
//! Only white space at line ends and beginnings changes, and empty lines: a statement starts at the margin, its arms are
//! indented by four, what is said of an arm on a line of its own by eight. Lines within brackets stay as they are.

use std::fs;

use super::Pack;
use crate::{failure::Failure, output::Format};

#[derive(clap::Args)]
pub(crate) struct Fmt {
    #[command(flatten)]
    pack: Pack,
    /// Changes nothing, and fails if something would change
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let dir = &self.pack.dir;
        let files = controller::read_pack_dir(dir).map_err(|error| Failure::Usage(error.to_string()))?;
        let mut changed = Vec::new();
        for file in files.iter().filter(|file| file.path.ends_with(".rhai")) {
            let laid_out = lay_out(&file.text);
            if laid_out == file.text {
                continue;
            }
            changed.push(file.path.clone());
            if !self.check {
                let path = dir.join(&file.path);
                fs::write(&path, laid_out)
                    .map_err(|error| Failure::Refused(format!("cannot write {}: {error}", path.display())))?;
            }
        }
        let text = format.answer(&changed, |changed| match changed.as_slice() {
            [] => "nothing to lay out".to_owned(),
            changed => changed.join("\n"),
        })?;
        if self.check && !changed.is_empty() {
            return Err(Failure::Refused(format!("to be laid out with `sitectl rules fmt`:\n{text}")));
        }
        Ok(text)
    }
}

/// Said of the arm, part or gate before.
const SAID_OF_AN_ARM: [&str; 17] = [
    "when",
    "unless",
    "does",
    "ignoring_failure",
    "or_go",
    "or_fail",
    "first_dpu",
    "each_dpu",
    "for_dpus",
    "others",
    "count",
    "reset",
    "note",
    "cause",
    "clears_failure",
    "or_alert",
    "unclassified_when",
];

fn lay_out(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut depth = 0;
    let mut in_comment = false;
    for line in text.lines() {
        let line = line.trim_end();
        let bare = line.trim_start();
        let indented = match bare.strip_prefix('.') {
            _ if depth > 0 || in_comment => line.replace('\t', "    "),
            Some(verb) => {
                let name =
                    verb.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default();
                let by = if SAID_OF_AN_ARM.contains(&name) { 8 } else { 4 };
                format!("{:by$}{bare}", "")
            }
            None if bare.starts_with("//") => line.replace('\t', "    "),
            None => bare.to_owned(),
        };
        let twice_empty = indented.is_empty() && lines.last().is_none_or(String::is_empty);
        if !twice_empty || in_comment {
            lines.push(indented);
        }
        (depth, in_comment) = brackets(line, depth, in_comment);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut out = lines.join("\n");
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// How many brackets are open after a line, and whether a block comment is.
fn brackets(line: &str, mut depth: usize, mut in_comment: bool) -> (usize, bool) {
    let mut letters = line.chars().peekable();
    let mut in_text = false;
    while let Some(letter) = letters.next() {
        match letter {
            '*' if in_comment && letters.peek() == Some(&'/') => in_comment = false,
            _ if in_comment => {}
            '\\' if in_text => drop(letters.next()),
            '"' => in_text = !in_text,
            _ if in_text => {}
            '/' if letters.peek() == Some(&'/') => break,
            '/' if letters.peek() == Some(&'*') => in_comment = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    (depth, in_comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_indented_by_four_and_what_is_said_of_them_by_eight() {
        let rough = "\n\n  state(\"Ready\")  \n.no_sla()\n\t.go(\"Taken\")\n  .when(|h|\n\t  h.x // a ( and a \"\n  )\n  .does(\"a\")\n\n\n\n// a word\nfn f(h) {\n   h.y\n}\n\n\n";
        let smooth = "state(\"Ready\")\n    .no_sla()\n    .go(\"Taken\")\n        .when(|h|\n      h.x // a ( and a \"\n  )\n        .does(\"a\")\n\n// a word\nfn f(h) {\n   h.y\n}\n";
        assert_eq!(lay_out(rough), smooth);
        assert_eq!(lay_out(smooth), smooth);
        assert_eq!(lay_out("\n \n"), "");
    }

    #[test]
    fn no_letter_of_a_rule_is_changed() {
        let text = "gate(\"a b\", |h|\n    h.x == \"(\"\n).waits(\"it's \\\" here\");\n/* block\n   . kept\n*/\n";
        let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
        assert_eq!(letters(&lay_out(text)), letters(text));
        assert_eq!(lay_out(text), text);
    }
}
