//! Who may import whom within a crate: its rooms from the lowest to the highest. For a test of every crate that has rooms.

#![allow(clippy::expect_used, clippy::panic, reason = "fails the test that it works for")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A room, a folder or file of `src`, with the names that the crate root gives on from it.
pub type Room<'a> = (&'a str, &'a [&'a str]);

/// Fails the test if a file of a room imports from a room above its own. `manifest_dir` is the crate's; rooms rise.
///
/// # Panics
/// If one does, naming both, or a name behind `crate::` is in no room.
pub fn check_rooms(manifest_dir: &str, rooms: &[Room<'_>]) {
    let source = Path::new(manifest_dir).join("src");
    let mut arrows = 0;
    for (height, (room, _)) in rooms.iter().enumerate() {
        for path in sources(&source, room) {
            let text = fs::read_to_string(&path).expect("a source file");
            for name in text.split("crate::").skip(1).flat_map(first_names) {
                let known = rooms.iter().position(|(room, given)| *room == name || given.contains(&name));
                let called = known.unwrap_or_else(|| panic!("{}: no room has `{name}`", path.display()));
                assert!(called <= height, "{}: `{room}` imports `{name}`, which is above it", path.display());
                arrows += usize::from(called < height);
            }
        }
    }
    assert!(arrows > 50, "only {arrows} imports were found");
}

fn sources(source: &Path, room: &str) -> Vec<PathBuf> {
    let file = source.join(format!("{room}.rs"));
    if file.is_file() { vec![file] } else { below(&source.join(room)) }
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// The first name of a path behind `crate::`, or those of a list in braces.
fn first_names(rest: &str) -> Vec<&str> {
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if !rest.starts_with('{') {
        return vec![&rest[..word(rest)]];
    }
    let (mut depth, mut names) = (0, Vec::new());
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(character, '{' | ',') {
            let item = rest[at + 1..].trim_start();
            names.push(&item[..word(item)]);
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_of_imports_are_found() {
        for (rest, names) in [
            ("store::Store;", vec!["store"]),
            ("{A, b::{C, D}, e::F};", vec!["A", "b", "e"]),
            ("{\n    A,\n    b::{\n        C,\n    },\n};", vec!["A", "b"]),
        ] {
            assert_eq!(first_names(rest), names);
        }
    }
}
