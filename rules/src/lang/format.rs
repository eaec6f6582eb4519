//! The formatter of rule files: indentation, blank lines, line ends. Only white space at the ends of lines changes,
//! so a formatted pack is the same pack.
//!
//! A state's verbs are indented by four, modifiers of arms by eight, content of brackets four deeper than the line
//! that opened them, and a line that begins with an operator four deeper than the line it continues.

/// Verbs that modify the one before them.
const MODIFIERS: [&str; 17] = [
    "when",
    "unless",
    "does",
    "ignoring_failure",
    "or_go",
    "first_dpu",
    "each_dpu",
    "for_dpus",
    "others",
    "count",
    "reset",
    "note",
    "cause",
    "clears_failure",
    "or_fail",
    "unclassified_when",
    "or_alert",
];
/// The same, in reports only.
const OF_REPORTS: [&str; 2] = ["only", "except"];

const STEP: usize = 4;

/// The text of a rule file, formatted.
#[must_use]
pub fn format(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut state = Layout::default();
    let mut blank = true;
    for line in text.lines() {
        if state.verbatim() {
            // The inside of a text or a block comment stays as it is.
            out.push_str(line);
            out.push('\n');
            state.read(line);
            blank = false;
            continue;
        }
        let line = line.trim();
        if line.is_empty() {
            if !blank {
                out.push('\n');
            }
            blank = true;
            continue;
        }
        if !state.unfinished {
            state.report = line.starts_with("report(") || line.starts_with("dpu_report(");
        }
        let indent = state.indent(line);
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(line);
        out.push('\n');
        state.line_indent = indent;
        state.read(line);
        blank = false;
    }
    let kept = out.trim_end_matches('\n').len();
    out.truncate(kept);
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// The state of the scanner: open brackets, and whether it is in a text or comment.
#[derive(Default)]
struct Layout {
    /// Indentation of the lines that opened the brackets which are open.
    open: Vec<usize>,
    line_indent: usize,
    within: Within,
    /// The statement declares a report.
    report: bool,
    /// The statement goes on after the line.
    unfinished: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    #[default]
    Code,
    /// A text in these quotes, which goes on over the line.
    Text(char),
    /// Block comments, nested this deep.
    Comment(usize),
}

impl Layout {
    fn verbatim(&self) -> bool {
        self.within != Within::Code
    }

    fn indent(&self, line: &str) -> usize {
        let inside = self.open.last().map_or(0, |opened| opened + STEP);
        if line.starts_with([')', ']', '}']) {
            // The line closes what this bracket opened.
            return self.open.last().copied().unwrap_or(0);
        }
        if let Some(verb) = line.strip_prefix('.') {
            let name = verb.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let modifier = MODIFIERS.contains(&name) || (self.report && OF_REPORTS.contains(&name));
            return inside + if modifier { 2 * STEP } else { STEP };
        }
        if ["&&", "||", "+ ", "- ", "* ", "/ ", "% ", "== ", "!= ", "< ", "> "].iter().any(|op| line.starts_with(op)) {
            return inside + STEP;
        }
        // A comment between the verbs of a state is indented like them.
        if line.starts_with("//") && self.unfinished && self.open.is_empty() { STEP } else { inside }
    }

    fn read(&mut self, line: &str) {
        let mut chars = line.chars().peekable();
        let mut last = None;
        while let Some(c) = chars.next() {
            let opens_comment = self.within == Within::Code && c == '/' && matches!(chars.peek(), Some('/' | '*'));
            if !c.is_whitespace() && !opens_comment && !matches!(self.within, Within::Comment(_)) {
                last = Some(c);
            }
            match self.within {
                Within::Text(quote) => match c {
                    '\\' if quote != '`' => drop(chars.next()),
                    c if c == quote => self.within = Within::Code,
                    _ => {}
                },
                Within::Comment(depth) => match (c, chars.peek()) {
                    ('*', Some('/')) => {
                        chars.next();
                        self.within = if depth > 1 { Within::Comment(depth - 1) } else { Within::Code };
                    }
                    ('/', Some('*')) => {
                        chars.next();
                        self.within = Within::Comment(depth + 1);
                    }
                    _ => {}
                },
                Within::Code => match (c, chars.peek()) {
                    ('/', Some('/')) => break,
                    ('/', Some('*')) => {
                        chars.next();
                        self.within = Within::Comment(1);
                    }
                    ('"' | '`', _) => self.within = Within::Text(c),
                    ('(' | '[' | '{', _) => self.open.push(self.line_indent),
                    (')' | ']' | '}', _) => drop(self.open.pop()),
                    _ => {}
                },
            }
        }
        if let Some(last) = last {
            self.unfinished = !matches!(last, ';' | '}');
        }
        // A text in double quotes ends with its line unless the line ends with a backslash.
        if self.within == Within::Text('"') && !line.ends_with('\\') {
            self.within = Within::Code;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rules_are_formatted_by_their_structure() {
        let untidy = "\n\n// A state.\nstate(\"A\")   \n.sla(minutes(5))\n  .go(\"B\")\n.when(|h|\nh.instance.present\n&& h.dpus.all(|d|\nd.primary\n)\n)\n.does(\"x\", #{\na: 1,\nb: [\n1\n]\n})\n// later: more\n.wait(\"x\");\n\n\n\nfn f(h) {\nif a {\nb\n} else {\nc\n}\n}\n\n";
        let tidy = r#"// A state.
state("A")
    .sla(minutes(5))
    .go("B")
        .when(|h|
            h.instance.present
                && h.dpus.all(|d|
                    d.primary
                )
        )
        .does("x", #{
            a: 1,
            b: [
                1
            ]
        })
    // later: more
    .wait("x");

fn f(h) {
    if a {
        b
    } else {
        c
    }
}
"#;
        assert_eq!(format(untidy), tidy);
        assert_eq!(format(tidy), tidy);
    }

    #[test]
    fn texts_and_comments_over_several_lines_stay_as_they_are() {
        let text = "let a = `one\n  two (\n`;\n/* a\n      b ( /* c */\n   d */\nlet b = \"(\"; // (\nlet c = 1;\n";
        assert_eq!(format(text), text);
    }

    proptest! {
        #[test]
        fn only_white_space_changes_and_only_once(text in "([a-z.(){}\\[\\]\"`/* \\n&|]|\\.when\\(|&& |// ){0,80}") {
            let formatted = format(&text);
            let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(dense(&formatted), dense(&text));
            prop_assert_eq!(format(&formatted), formatted);
        }
    }
}
