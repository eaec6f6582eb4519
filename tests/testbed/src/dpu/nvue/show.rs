use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;
use serde_json::json;

use super::{Tree, revisions::Revisions};
use crate::dpu::Answer;

/// Release that the stand-in claims to be.
const BUILD: &str = "HBN 3.2.0";

/// `nv config show`.
pub(super) fn config(tree: &Tree, output: &str) -> Answer {
    let header = BTreeMap::from([
        ("model", Tree::Text("BLUEFIELD".into())),
        ("nvue-api-version", Tree::Text("nvue_v1".into())),
        ("rev-id", Tree::Text("1.0".into())),
        ("version", Tree::Text(BUILD.into())),
    ]);
    let header = Tree::Map(header.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    print(&[BTreeMap::from([("header", &header)]), BTreeMap::from([("set", tree)])], output)
}

/// `nv config diff`: nothing at all if there is no difference.
pub(super) fn diff(set: Option<Tree>, unset: Option<Tree>, output: &str) -> Answer {
    let parts: Vec<_> = [("unset", unset), ("set", set)]
        .into_iter()
        .filter_map(|(verb, tree)| tree.map(|tree| BTreeMap::from([(verb, tree)])))
        .collect();
    if parts.is_empty() { Answer::default() } else { print(&parts, output) }
}

/// `nv config history` (only what was applied) and `nv config revision`.
pub(super) fn history(revisions: &Revisions, output: &str, only_applied: bool) -> Answer {
    let listed = revisions.all().iter().filter(|(_, revision)| !only_applied || revision.applied_at.is_some());
    if output == "json" {
        let mut map = serde_json::Map::new();
        for (id, revision) in listed {
            let entry = json!({
                "state": revision.state,
                "transition": {"issue": {}, "progress": ""},
                "additional-data": {"parent-revision-id": revision.parent.to_string()},
            });
            map.insert(id.to_string(), entry);
        }
        map.insert(
            "applied".into(),
            json!({"additional-data": {"parent-revision-id": revisions.applied().to_string()}}),
        );
        return print(&map, "json");
    }
    let widths = [20, 17, 32, 19, 8, 7, 13, 31];
    let titles = ["Rev ID", "State", "Apply ID", "Apply Date", "Type", "User", "Reason", "Message"];
    let mut text = String::new();
    row(&mut text, &titles, &widths);
    row(&mut text, &widths.map(|width| "-".repeat(width)).each_ref().map(String::as_str), &widths);
    for (id, revision) in listed {
        let (apply_id, date) = match revision.applied_at {
            Some(at) => (format!("rev_{id}_apply_1"), date(at)),
            None => Default::default(),
        };
        let message = format!("Config update by {}", revision.by);
        let how =
            if revision.applied_at.is_some() { ["CLI", &revision.by, "Config update", &message] } else { [""; 4] };
        let [kind, user, reason, message] = how;
        let cells = [&id.to_string(), revision.state.word(), &apply_id, &date, kind, user, reason, message];
        row(&mut text, &cells, &widths);
    }
    Answer::says(text)
}

fn row(text: &mut String, cells: &[&str], widths: &[usize]) {
    for (cell, width) in cells.iter().zip(widths) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{cell:<width$}  ");
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

fn date(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1000).unwrap_or_default();
    let text = prost_types::Timestamp { seconds, nanos: 0 }.to_string();
    text.trim_end_matches('Z').replace('T', " ")
}

/// `nv show PATH`: what runs, and the little that is not configuration.
pub(super) fn object(running: &Tree, path: &[String], output: &str) -> Answer {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    if keys == ["system"] {
        let hostname = running.text(&["system", "hostname"]).unwrap_or("dpu");
        return print(&json!({"build": BUILD, "hostname": hostname, "uptime": 11051}), output);
    }
    match running.at(&keys) {
        Some(tree) => print(tree, output),
        None => Answer::complains("Error: The requested item does not exist.\n"),
    }
}

fn print(value: &impl Serialize, output: &str) -> Answer {
    let text = if output == "json" {
        serde_json::to_string_pretty(value).map_err(|error| error.to_string())
    } else {
        serde_yaml::to_string(value).map_err(|error| error.to_string())
    };
    match text {
        Ok(text) => Answer::says(format!("{}\n", text.trim_end())),
        Err(error) => Answer::fails(format!("Error: {error}\n")),
    }
}
