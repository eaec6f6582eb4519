//! Whatever is printed, a parser answers: with data, or with a fault that has a place.

use std::fs;

use agent::parse::KINDS;
use proptest::prelude::*;

use super::{case, fixture, fixtures};

/// A text of each shape that parsers know, to be bent.
fn seeds() -> Vec<String> {
    let cases = [
        "idle-with-reason.txt",
        "vrf-all-instance-lines.txt",
        "summary-failed.txt",
        "new-field-set.json",
        "nv-bgp-uptime-with-days.txt",
        "nv-show-interface-nested.txt",
        "nv-show-titled-subtable.txt",
        "nv-config-revision.txt",
        "nv-config-show.yaml",
        "supervisorctl-status.txt",
        "mac-table.json",
        "apply-success-words.txt",
    ];
    cases.iter().map(|name| case(name)).chain([fixture("commands/df_HP.txt")]).collect()
}

fn read_all(text: &str) {
    for kind in KINDS {
        if let Err(fault) = kind.read(text) {
            let lines = text.lines().count() + 1;
            assert!((1..=lines).contains(&fault.line) && fault.column >= 1, "{}: {fault}", kind.name);
            assert!(fault.found.len() < 256 && fault.to_string().len() < 1024, "{}: {fault}", kind.name);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC*|[ -~\\n\\t(){}\\[\\]:,\"%*…é-]{0,400}") {
        read_all(&text);
    }

    #[test]
    fn a_bent_output_is_answered(
        seed in 0..13_usize,
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        put in "[ -~\\né…]{0,12}",
    ) {
        let mut characters: Vec<char> = seeds()[seed].chars().collect();
        characters.truncate(cut.index(characters.len() + 1));
        let at = at.index(characters.len() + 1);
        characters.splice(at..at, put.chars());
        read_all(&characters.into_iter().collect::<String>());
    }
}

#[test]
fn an_output_of_another_kind_is_answered() {
    let mut folders = vec![fixtures()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                read_all(&text);
            }
        }
    }
}

#[test]
fn kinds_are_found_by_name() {
    assert!(KINDS.is_sorted_by_key(|kind| kind.name));
    let kind = agent::parse::Kind::named("df").unwrap();
    assert_eq!(kind.read(&fixture("commands/df_HP.txt")).unwrap()[3]["mount"], "/");
    assert!(agent::parse::Kind::named("du").is_none());
}
