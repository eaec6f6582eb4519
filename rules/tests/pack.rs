//! The shipped pack: it loads without a fault, its own tests pass, and they reach every arm.
#![allow(clippy::panic, reason = "helpers of one test program")]

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
