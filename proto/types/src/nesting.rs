//! How deep a YAML text is nested, found without reading it: deep ones make parsers slow, or end the process.

/// Deepest nesting that is read anywhere.
pub const MOST_LEVELS: usize = 64;

/// No fewer levels than the text has: brackets that are open at once, and columns that blocks begin at.
#[must_use]
pub fn nesting(text: &str) -> usize {
    let (mut brackets, mut deepest) = (0_usize, 0);
    let mut columns: Vec<usize> = Vec::new();
    for line in text.lines() {
        let (mut column, mut rest) = (0, line);
        loop {
            let inner = rest.trim_start_matches(' ');
            column += rest.len() - inner.len();
            if inner.is_empty() || inner.starts_with('#') {
                break;
            }
            while columns.last().is_some_and(|last| *last >= column) {
                columns.pop();
            }
            columns.push(column);
            match inner.strip_prefix("- ").or_else(|| inner.strip_prefix("? ")) {
                Some(entry) => (column, rest) = (column + 2, entry),
                None => break,
            }
        }
        let mut here = brackets;
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => brackets += 1,
                b']' | b'}' => brackets = brackets.saturating_sub(1),
                _ => {}
            }
            here = here.max(brackets);
        }
        deepest = deepest.max(columns.len() + here);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_brackets_are_levels() {
        for (text, levels) in [
            ("", 0),
            ("a: 1\nb: 2\n", 1),
            ("a:\n  b:\n    - c: 1\n      d: 2\n", 4),
            ("- - - x\n", 4),
            ("a: [[1], {b: 2}]\n", 3),
            ("[\n[\n[\n]]]\n", 4),
        ] {
            assert_eq!(nesting(text), levels, "{text:?}");
        }
        assert!(nesting(&"[".repeat(3_200)) > MOST_LEVELS);
        assert!(nesting(&"- ".repeat(3_200)) > MOST_LEVELS);
        let stairs: String = (0..3_200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        assert!(nesting(&stairs) > MOST_LEVELS);
    }
}
