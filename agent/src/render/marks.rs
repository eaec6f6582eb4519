//! Marks in rendered text that say which line of which template a line comes from, so that a fault in what a template
//! renders to is found in the template.
//!
//! A mark stands between two control characters, which no value can bring in: all dialects escape them.

const START: char = '\u{1}';
const END: char = '\u{2}';

/// A line of a template, which a fault is reported at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateLine {
    pub(crate) template: String,
    /// Number of the line, from 1.
    pub(crate) line: usize,
}

pub(crate) fn mark(template: &str, line: usize) -> String {
    format!("{START}{template}:{line}{END}")
}

/// A text without its marks, and each mark with the length of the text before it.
pub(super) fn unmarked(marked: &str) -> (String, Vec<(usize, TemplateLine)>) {
    let mut text = String::with_capacity(marked.len());
    let mut places = Vec::new();
    let mut rest = marked;
    while let Some((before, behind)) = rest.split_once(START) {
        let (mark, behind) = behind.split_once(END).unwrap_or((behind, ""));
        text.push_str(before);
        if let Some((template, line)) = mark.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            places.push((text.len(), TemplateLine { template: template.into(), line }));
        }
        rest = behind;
    }
    text.push_str(rest);
    (text, places)
}

/// A line without its marks, and the place that it comes from: the last one, where a tag joined several.
pub(crate) fn unmark(line: &str) -> (String, Option<TemplateLine>) {
    let (text, mut places) = unmarked(line);
    (text, places.pop().map(|(_, place)| place))
}

/// Puts the place of each line of a template behind it.
pub(super) fn marked(name: &str, text: &str) -> String {
    let mut marked = String::with_capacity(text.len() * 2);
    let mut open: Option<&str> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end();
        let mut rest = content;
        // Tags may go over several lines; a mark inside one would be part of it.
        while let Some((at, tag)) = match open {
            Some(end) => rest.find(end).map(|at| (at, None)),
            None => rest.find(['{']).map(|at| (at, tag_end(&rest[at..]))),
        } {
            rest = &rest[at + rest[at..].chars().next().map_or(1, char::len_utf8)..];
            open = if open.is_some() { None } else { tag };
        }
        marked.push_str(content);
        if open.is_none() && !content.is_empty() && !content.ends_with("%}") && !content.ends_with("#}") {
            marked.push_str(&mark(name, index + 1));
        }
        marked.push_str(&line[content.len()..]);
    }
    marked
}

/// What ends the tag that a text starts with.
fn tag_end(text: &str) -> Option<&'static str> {
    [("{{", "}}"), ("{%", "%}"), ("{#", "#}")]
        .into_iter()
        .find(|(start, _)| text.starts_with(start))
        .map(|(_, end)| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again_in_its_template() {
        let text = "a\n{% if x %}\n\nb {{ y }}{# 1\n2 #} c\n{{ f(\n1) }}\n";
        let marked = marked("t.nv.j2", text);
        let lines: Vec<_> = marked.lines().map(|line| unmark(line).1.map(|place| place.line)).collect();
        assert_eq!(lines, [Some(1), None, None, None, Some(5), None, Some(7)]);
        assert_eq!(marked.lines().map(|line| unmark(line).0 + "\n").collect::<String>(), text);
    }

    #[test]
    fn lines_that_a_tag_joined_keep_all_their_text() {
        let line = format!("\"a\": 1{}, \"b\": 2{} ", mark("x.json.j2", 3), mark("y:z.json.j2", 4));
        let place = TemplateLine { template: "y:z.json.j2".into(), line: 4 };
        assert_eq!(unmark(&line), ("\"a\": 1, \"b\": 2 ".into(), Some(place)));
        assert_eq!(unmark("a \u{1}b"), ("a ".into(), None));
    }
}
