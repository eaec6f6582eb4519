//! Checks of each state's arms: no unreachable arm, and an unconditional last one.

use crate::{
    ir::{diagnostic::Diagnostics, pack::Pack},
    lang::resolve::AnyRule,
};

pub(super) fn check(rules: &Pack, any: &[AnyRule], diagnostics: &mut Diagnostics) {
    for state in &rules.states {
        unreachable_arms(&state.arms, rules, diagnostics);
        let last = state.arms.last().and_then(|arm| rules.arms.get(*arm));
        match last {
            None => {
                let message = format!("state `{}` has no arms", state.path);
                diagnostics.error("no-arms", &state.place, message, "add at least `.wait(\"why\")`");
            }
            Some(arm) if !arm.is_unconditional() => {
                let message = format!("in state `{}` it is possible that no arm applies", state.path);
                diagnostics.error(
                    "no-last-arm",
                    &arm.place,
                    message,
                    "end with an arm without `when`, such as `.wait(\"why\")`",
                );
            }
            Some(_) => {}
        }
    }
    for rule in any {
        unreachable_arms(&rule.arms, rules, diagnostics);
        let always = rule.arms.iter().filter_map(|arm| rules.arms.get(*arm)).find(|arm| arm.is_unconditional());
        if let Some(arm) = always {
            let message = "an arm for any state that always applies would stop every host";
            diagnostics.error("dead-arm", &arm.place, message, "add `.when(…)`");
        }
        if rule.arms.is_empty() {
            diagnostics.error(
                "no-arms",
                &rule.place,
                "this rule has no arms",
                "remove it, or add arms with `.when(…)`",
            );
        }
    }
}

fn unreachable_arms(arms: &[usize], rules: &Pack, diagnostics: &mut Diagnostics) {
    let arms = arms.iter().filter_map(|arm| rules.arms.get(*arm)).collect::<Vec<_>>();
    if let Some(always) = arms.iter().position(|arm| arm.is_unconditional()) {
        for arm in &arms[always + 1..] {
            let message = format!("this arm is never reached: the one at {} always applies", arms[always].place);
            diagnostics.error("dead-arm", &arm.place, message, "move it up, or give the other a condition");
        }
    }
}
