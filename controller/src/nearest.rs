/// What to say about an unknown name: the known one that it looks like, or all of them.
pub(crate) fn hint(name: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .filter(|(likeness, _)| *likeness > 0.8);
    match near {
        Some((_, candidate)) => format!(", did you mean `{candidate}`?"),
        None => format!("; known are {}", known.join(", ")),
    }
}
