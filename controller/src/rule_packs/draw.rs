//! Faults of a pack drawn with their source line, for people.

use std::{collections::BTreeMap, sync::Arc};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use rules::{PackFault, PackFaults};

/// Faults of a pack, each with its source line and a caret, as they are shown to people. `colours` for terminals.
#[must_use]
pub fn draw_faults(faults: &PackFaults, colours: bool) -> Vec<String> {
    faults.faults.iter().map(|fault| draw(fault, &faults.sources, colours)).collect()
}

fn draw(fault: &PackFault, sources: &BTreeMap<Arc<str>, Arc<str>>, colours: bool) -> String {
    let theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false);
    let message = format!("{}: {}", fault.place, fault.message);
    let mut diagnostic = MietteDiagnostic::new(message).with_code(fault.check).with_help(&fault.hint);
    let source = sources.get(&fault.place.file);
    let span = source.and_then(|text| span(text, fault.place.line, fault.place.column));
    if let Some((start, length)) = span {
        diagnostic = diagnostic.with_label(LabeledSpan::new(None, start, length));
    }
    let report = Report::new(diagnostic);
    let report = match source.filter(|_| span.is_some()) {
        Some(text) => report.with_source_code(NamedSource::new(&fault.place.file, text.to_string())),
        None => report,
    };
    let mut drawn = String::new();
    match handler.render_report(&mut drawn, report.as_ref()) {
        Ok(()) => drawn.trim_end().to_owned(),
        Err(_) => fault.to_string(),
    }
}

/// Byte offset of a place, and the length of the word there. A place beyond the text has none.
fn span(text: &str, line: usize, column: usize) -> Option<(usize, usize)> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = text.get(before..).filter(|rest| !rest.is_empty())?;
    let line = rest.split('\n').next().unwrap_or_default();
    let skipped: usize = line.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let at = line.get(skipped..)?;
    let word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '/');
    let length = match at.strip_prefix('"') {
        Some(quoted) => quoted.find('"').map_or(at.len(), |end| end + 2),
        None => at.find(|letter| !word(letter)).filter(|end| *end > 0).unwrap_or(at.len().min(1)),
    };
    Some((before + skipped, length))
}

#[cfg(test)]
mod tests {
    use rules::Place;

    use super::*;

    #[test]
    fn places_become_byte_spans_of_their_words() {
        let text = "gate(\"é\", |h| h.presnt);\nstate(\"Ready\")\n";
        assert_eq!(span(text, 1, 15), Some((15, 8)));
        assert_eq!(span(text, 2, 7), Some((32, 7)));
        assert_eq!(span(text, 2, 1), Some((26, 5)));
        assert_eq!(span(text, 9, 1), None);
        assert_eq!(span(text, 0, 0), None);
    }

    #[test]
    fn a_fault_is_drawn_with_its_line_and_the_hint() {
        let text: Arc<str> = "gate(\"free\", |h| h.instance.presnt);\n".into();
        let faults = PackFaults {
            faults: vec![PackFault {
                place: Place { file: "gates.rhai".into(), line: 1, column: 18 },
                check: "unknown-fact",
                message: "unknown fact `instance.presnt`".into(),
                hint: "did you mean `present`?".into(),
            }],
            sources: BTreeMap::from([("gates.rhai".into(), text)]),
        };
        let drawn = draw_faults(&faults, false).remove(0);
        for part in ["unknown-fact", "gates.rhai:1:18: unknown fact", "h.instance.presnt", "did you mean `present`?"] {
            assert!(drawn.contains(part), "{part} in\n{drawn}");
        }
        assert!(!drawn.contains('\u{1b}'));
    }
}
