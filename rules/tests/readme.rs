//! What the README shows works as it stands there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

use std::path::Path;

use rules::{LoadOptions, fact_dictionary, load_files, load_pack};

const README: &str = include_str!("../README.md");

/// Blocks of code in one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    README.split(opening.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn pack() -> rules::RuleSet {
    load_pack(&Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host")).unwrap_or_else(|faults| panic!("{faults}"))
}

/// The shipped pack's files without these states.
fn without(states: &[&str]) -> Vec<(String, String)> {
    let cut = |text: &str| {
        let mut text = text.to_owned();
        for state in states {
            if let Some(from) = text.find(state) {
                let to = from + text[from..].find(";\n").unwrap() + 2;
                text.replace_range(from..to, "");
            }
        }
        text
    };
    pack().sources().iter().map(|(name, text)| (name.to_string(), cut(text))).collect()
}

#[test]
fn its_states_fit_into_the_shipped_pack() {
    let examples = blocks("rhai");
    assert!(examples.len() >= 2);
    for example in examples {
        assert_eq!(rules::format(example), example);
        let states: Vec<&str> = example.lines().filter(|line| line.contains("state(\"")).collect();
        let mut files = without(&states);
        files.push(("example.rhai".to_owned(), example.to_owned()));
        if let Err(faults) = load_files(files, &LoadOptions::default()) {
            panic!("{example}\n{faults}");
        }
    }
}

#[test]
fn its_tests_pass() {
    let examples = blocks("yaml");
    assert!(!examples.is_empty());
    for example in examples {
        let result = pack().run_tests([("example.yaml", example)]);
        let failures: Vec<&String> = result.cases.iter().filter_map(|case| case.failure.as_ref()).collect();
        assert!(failures.is_empty() && !result.cases.is_empty(), "{failures:#?}");
    }
}

#[test]
fn it_names_every_area_of_facts() {
    for fact in fact_dictionary() {
        let area = if fact.area == "dpu" { "`h.dpus`".to_owned() } else { format!("`h.{}`", fact.area) };
        assert!(README.contains(&area), "{area}");
    }
}
