//! The shipped pack: it loads without a fault, its own tests pass, and they reach every arm.
#![allow(clippy::panic, reason = "helpers of one test program")]
#![allow(clippy::unwrap_used, reason = "helpers are called by tests alone")]

use std::path::{Path, PathBuf};

fn pack() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host")
}

fn rules() -> rules::RuleSet {
    rules::load_pack(&pack()).map_err(|faults| faults.to_string()).unwrap()
}

#[test]
fn its_own_tests_pass_and_reach_every_arm() {
    let tests = rules::read_tests(&pack()).unwrap();
    let result = rules().run_tests(tests.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let failures: Vec<String> = result
        .cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}: {}", case.file, case.name, case.failure.as_ref()?)))
        .collect();
    assert!(result.cases.len() > 100, "only {} cases were read", result.cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let untested: Vec<String> =
        result.untested.iter().map(|arm| format!("{} {}: {}", arm.at, arm.state, arm.arm)).collect();
    assert!(untested.is_empty(), "no test reaches\n{}", untested.join("\n"));
}

#[test]
fn all_its_guards_are_native() {
    let rules = rules();
    let left: Vec<String> = rules.interpreted_guards().map(|(place, why)| format!("{place}: {why}")).collect();
    assert!(left.is_empty(), "left to the interpreter:\n{}", left.join("\n"));
}

#[test]
fn it_is_laid_out_and_no_file_is_too_long_to_read() {
    let rules = rules();
    for (file, text) in rules.sources() {
        assert!(text.lines().count() <= 400, "{file} has {} lines", text.lines().count());
        let formatted = rules::format(text);
        let differs = text.lines().zip(formatted.lines()).position(|(was, is)| was != is);
        let differs = differs.map(|line| (line + 1, formatted.lines().nth(line).unwrap_or_default()));
        assert!(formatted == **text, "{file} is laid out otherwise, first in {differs:?}");
    }
}
