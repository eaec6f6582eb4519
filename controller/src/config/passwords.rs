//! Passwords in URLs of databases: whether there is one, and texts without them. For whatever shows or logs.

/// A text without what stands between the `://` and the `@` of URLs in it, and without passwords among their parameters.
pub(crate) fn without_passwords(text: &str) -> String {
    let word = |word: &str| {
        let word = match (word.split_once("://"), word.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}"),
            _ => word.to_owned(),
        };
        match word.split_once("password=") {
            Some((before, _)) if before.contains("://") => format!("{before}password=***"),
            _ => word,
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Whether a database's URL holds a password.
#[must_use]
pub fn has_password(url: &str) -> bool {
    let user = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':')) || url.contains("password=")
}
