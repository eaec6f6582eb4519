//! Texts of others as a terminal may get them: nothing that moves the cursor, changes colours or turns the direction.

/// A text of several lines in which each character that a terminal would act on, but for the ends of lines, is written as
/// `\u` and four digits. Within JSON that is the same text.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' || !acts(letter) {
            shown.push(letter);
        } else {
            shown.push_str(&format!("\\u{:04x}", u32::from(letter)));
        }
    }
    shown
}

/// The same as one line: what would end one becomes `; `.
#[must_use]
pub fn one_line(text: &str) -> String {
    printable(&text.trim_end().replace("\r\n", "\n").replace('\n', "; "))
}

/// Control characters, and those that turn the direction of what follows or end a line unseen.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        let text = "a\u{1b}[31mb\u{7}\u{7f}\u{9b}2J\u{202e}c\u{2066}\u{200f}\u{61c}\u{2028}\té ü\r\nnext";
        let shown = "a\\u001b[31mb\\u0007\\u007f\\u009b2J\\u202ec\\u2066\\u200f\\u061c\\u2028\\u0009é ü";
        assert_eq!(printable(text), format!("{shown}\\u000d\nnext"));
        assert_eq!(one_line(text), format!("{shown}; next"));
        let json = printable("\"\u{202e}\"");
        assert_eq!(json, "\"\\u202e\"");
    }
}
