//! What `nv config apply` and its kin print, read into what happened.

use agent::parse::{ApplyAnswer, Diff, apply_answer, diff, is_applied};

use super::case;

#[test]
fn an_error_is_one_whatever_the_exit_status() {
    let answer = apply_answer(&case("apply-zero-exit-error.txt"));
    let ApplyAnswer::Refused(reason) = answer else { panic!("{answer:?}") };
    assert_eq!(
        reason,
        "Invalid config [rev_id: 8] Config invalid at interface.pf0hpf_if.link.breakout: '4x10G' is not of type 'object'"
    );
}

#[test]
fn only_two_words_mean_applied() {
    let text = case("apply-success-words.txt");
    let answers: Vec<_> = text.split("---\n").map(apply_answer).collect();
    let id = || "7".into();
    assert_eq!(answers[..3], [ApplyAnswer::Applied(id()), ApplyAnswer::Applied(id()), ApplyAnswer::Applied(id())]);
    assert!(matches!(answers[3], ApplyAnswer::Prompt(_)), "{:?}", answers[3]);
    assert_eq!(answers[4..], [ApplyAnswer::Named(id()), ApplyAnswer::Named(id())]);
}

#[test]
fn a_daemon_that_goes_away_is_no_refusal() {
    let answer = apply_answer(&case("apply-dies-midway.txt"));
    assert!(matches!(answer, ApplyAnswer::DaemonGone(_)), "{answer:?}");
}

#[test]
fn a_failed_replace_says_why() {
    let answer = apply_answer(&case("replace-null-value.stderr.txt"));
    assert_eq!(answer, ApplyAnswer::Failed("Error: 'set' operation values must not be 'null'.".into()));
}

#[test]
fn other_words_are_told_apart() {
    for (text, wanted) in [
        ("", ApplyAnswer::Silent),
        (
            "applied [rev_id: changeset/agent/2031-04-06_20.22.44_T2XP]\n",
            ApplyAnswer::Applied("changeset/agent/2031-04-06_20.22.44_T2XP".into()),
        ),
        (
            "Failed to prepare to apply\n  no space left\nmore\n",
            ApplyAnswer::Refused("Failed to prepare to apply no space left".into()),
        ),
        (
            "Failed to apply [rev_id: 9]\n  frr did not reload\n",
            ApplyAnswer::BrokeOff("Failed to apply [rev_id: 9] frr did not reload".into()),
        ),
        ("Failure during apply. Ignore?\n", ApplyAnswer::BrokeOff("Failure during apply. Ignore?".into())),
        ("confirm [rev_id: 9]\n", ApplyAnswer::OnTrial("9".into())),
        ("no config diff\n", ApplyAnswer::Unclear("no config diff".into())),
        // Both yes and no is neither.
        (
            "applied [rev_id: 7]\nError: cannot save\n",
            ApplyAnswer::Failed("applied [rev_id: 7] Error: cannot save".into()),
        ),
        (
            "Invalid config [rev_id: 8]\n  Error at interface.x\n",
            ApplyAnswer::Refused("Invalid config [rev_id: 8] Error at interface.x".into()),
        ),
        (
            "Invalid config [rev_id: 8]\nUnrecoverable internal error\n",
            ApplyAnswer::Failed("Invalid config [rev_id: 8] Unrecoverable internal error".into()),
        ),
        ("confirm_fail [rev_id: 2]\n", ApplyAnswer::TakenBack("2".into())),
        (
            "Error: There is no configuration to confirm.\n",
            ApplyAnswer::NothingOnTrial("Error: There is no configuration to confirm.".into()),
        ),
        ("Error: Invalid option: --confirm\n", ApplyAnswer::UnknownOption("Error: Invalid option: --confirm".into())),
        ("usage: nv config apply [-y]\n", ApplyAnswer::UnknownOption("usage: nv config apply [-y]".into())),
        ("Error: another apply is in progress\n", ApplyAnswer::Failed("Error: another apply is in progress".into())),
        ("reloadingError: 500\n", ApplyAnswer::Failed("reloadingError: 500".into())),
        ("Failure during apply. Ignore? [y/N] ", ApplyAnswer::BrokeOff("Failure during apply. Ignore? [y/N]".into())),
    ] {
        assert_eq!(apply_answer(text), wanted, "{text}");
    }
}

#[test]
fn only_the_last_state_of_the_sequence_is_applied() {
    let sequence: Vec<serde_json::Value> = serde_json::from_str(&case("revision-poll-sequence.json")).unwrap();
    let applied: Vec<bool> =
        sequence.iter().map(|step| step["body"]["state"].as_str().is_some_and(is_applied)).collect();
    assert_eq!(applied, [false, false, false, false, true]);
}

#[test]
fn masked_secrets_alone_are_no_change_but_hide_none() {
    let masked = case("diff-never-empty.txt");
    assert_eq!(diff(&masked), Ok(Diff::MaskedOnly));
    assert_eq!(diff(&format!("{masked}          hostname: dpu-9\n")), Ok(Diff::Changes));
    assert_eq!(diff(""), Ok(Diff::Empty));
    assert_eq!(diff("\n"), Ok(Diff::Empty));
    assert_eq!(diff("- header:\n    model: VX\n"), Ok(Diff::Empty), "a header is no change");
    assert_eq!(diff("- unset:\n    vrf:\n      vpc_7: {}\n"), Ok(Diff::Changes));
    assert_eq!(diff("- set:\n    evpn:\n      enable: on\n"), Ok(Diff::Changes));
    assert!(diff("Error: Could not connect to nvued.\n").is_err());
}
