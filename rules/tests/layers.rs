//! The layers of the crate: `ir`, then `lang` and `eval`, then `suite`. A source file imports what stands below it, never
//! what stands beside or above.
#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use std::path::{Path, PathBuf};

/// Each layer, with those that its files may import.
const LAYERS: [(&str, &[&str]); 4] = [
    ("ir", &["ir"]),
    ("lang", &["ir", "lang"]),
    ("eval", &["ir", "eval"]),
    ("suite", &["ir", "lang", "eval", "suite"]),
];

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The first words of all paths of a text that begin with `crate::`.
fn imports(text: &str) -> Vec<String> {
    let code: String = text.lines().map(|line| format!("{}\n", line.split("//").next().unwrap_or(""))).collect();
    code.split("crate::").skip(1).flat_map(first_words).collect()
}

/// The first word after `crate::`, or those of a list in braces.
fn first_words(rest: &str) -> Vec<String> {
    let word = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let Some(list) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let mut words: Vec<String> = vec![word(list)];
    let mut depth = 0;
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => words.push(word(&list[at + 1..])),
            _ => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What is wrong with the imports of a file, by its path below `src`.
fn faults(file: &str, text: &str) -> Vec<String> {
    let layer = file.split('/').next().unwrap();
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else { return Vec::new() };
    let depth = file.trim_end_matches("/mod.rs").split('/').count();
    let outside = imports(text).into_iter().filter(|word| !allowed.contains(&word.as_str()));
    let mut faults: Vec<String> = outside.map(|word| format!("{file} imports `crate::{word}`")).collect();
    if text.contains(&"super::".repeat(depth)) {
        faults.push(format!("{file} climbs out of its layer by `super`"));
    }
    faults
}

#[test]
fn a_source_file_imports_nothing_above_or_beside_its_layer() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut seen) = (Vec::new(), Vec::new());
    for path in sources(&src) {
        let file = path.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        seen.push(file.split('/').next().unwrap().to_owned());
        found.extend(faults(&file, &std::fs::read_to_string(&path).unwrap()));
    }
    assert_eq!(found, [""; 0]);
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["eval", "ir", "lang", "lib.rs", "load.rs", "suite"], "a new layer belongs into the table above");
}

#[test]
fn an_import_that_points_up_is_found_in_every_form() {
    for (file, text, expected) in [
        ("ir/pack.rs", "use crate::lang::declare::Wanted;", "ir/pack.rs imports `crate::lang`"),
        ("lang/load.rs", "use crate::{eval::RuleSet, ir::pack::Pack};", "lang/load.rs imports `crate::eval`"),
        (
            "eval/env.rs",
            "use crate::{\n    ir::{a, b::{c, d}},\n    lang::lower,\n};",
            "eval/env.rs imports `crate::lang`",
        ),
        ("eval/a/b.rs", "let x = crate::suite::read_tests(y);", "eval/a/b.rs imports `crate::suite`"),
        ("suite/mod.rs", "use crate::load_pack;", "suite/mod.rs imports `crate::load_pack`"),
        ("ir/snapshot/dpu.rs", "use crate::Snapshot;", "ir/snapshot/dpu.rs imports `crate::Snapshot`"),
        (
            "ir/snapshot/dpu.rs",
            "use super::super::super::lang;",
            "ir/snapshot/dpu.rs climbs out of its layer by `super`",
        ),
        ("ir/snapshot/mod.rs", "use super::super::lang;", "ir/snapshot/mod.rs climbs out of its layer by `super`"),
    ] {
        assert_eq!(faults(file, text), [expected], "{text}");
    }
    for (file, text) in [
        ("suite/graph.rs", "use crate::{eval::RuleSet, ir::pack, lang::load};"),
        ("ir/a.rs", "// use crate::lang;\nuse super::pack;"),
        ("lib.rs", "use crate::suite;"),
    ] {
        assert_eq!(faults(file, text), [""; 0], "{text}");
    }
}
