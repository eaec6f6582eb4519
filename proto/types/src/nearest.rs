//! What a misspelt name most likely means: one measure for rules, files, commands and calls.

/// The known name that a misspelt one most likely means.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), other_beginning(name, candidate), candidate))
        .filter(|(distance, _, candidate)| *distance <= 2.max(candidate.len() / 3))
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// The end of a sentence about an unknown name: the known one that it looks like, or all of them.
#[must_use]
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(candidate) => format!(", did you mean `{candidate}`?"),
        None => format!("; known are {}", known.join(", ")),
    }
}

/// How much of a candidate's beginning is not that of the name: `go` is nearer to `gone` than `gate` is.
fn other_beginning(name: &str, candidate: &str) -> usize {
    let alike = name.chars().zip(candidate.chars()).take_while(|(a, b)| a == b).count();
    candidate.chars().count() - alike
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_that_could_be_meant() {
        let known = ["present", "deletion_requested", "segments_ready"];
        assert_eq!(nearest("deletion_requestd", known), Some("deletion_requested"));
        assert_eq!(nearest("presnt", known), Some("present"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("gone", ["gate", "go", "note"]), Some("go"));
    }

    #[test]
    fn a_name_like_none_is_answered_with_all() {
        assert_eq!(did_you_mean("cleand", &["cleaned", "booted"]), ", did you mean `cleaned`?");
        assert_eq!(did_you_mean("x", &["cleaned", "booted"]), "; known are cleaned, booted");
    }
}
