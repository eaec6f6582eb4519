//! Snapshots as they are kept for replay: without what they share with an empty one.

use serde_json::{Map, Value};

/// A snapshot as JSON without what it shares with an empty one. It reads back the same, and is a tenth of the size:
/// every transition keeps what the rules saw, for replay.
pub(crate) fn compact(snapshot: &rules::Snapshot) -> String {
    let bare = |value: Result<Value, serde_json::Error>| value.unwrap_or_default();
    let mut whole = bare(serde_json::to_value(snapshot));
    let (empty, dpu) =
        (bare(serde_json::to_value(rules::Snapshot::default())), bare(serde_json::to_value(rules::Dpu::default())));
    if let Some(dpus) = whole.get_mut("dpus").and_then(Value::as_array_mut) {
        for each in dpus {
            strip(each, &dpu);
        }
    }
    strip(&mut whole, &empty);
    whole.to_string()
}

fn strip(value: &mut Value, empty: &Value) {
    let (Value::Object(fields), Value::Object(defaults)) = (value, empty) else { return };
    let none = Value::Object(Map::new());
    fields.retain(|name, field| {
        let Some(default) = defaults.get(name) else { return true };
        if field == default {
            return false;
        }
        strip(field, default);
        *field != none
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compact_snapshot_reads_back_the_same() {
        let report = rules::HealthReport { source: "x".into(), ..Default::default() };
        let snapshot = rules::Snapshot {
            now: 9,
            state: rules::State { path: "Ready".into(), since: 5, ..Default::default() },
            bmc: rules::Bmc { power: rules::PowerState::Off.into(), ..Default::default() },
            dpus: vec![
                rules::Dpu { name: "dpu0".into(), primary: true, ..Default::default() },
                rules::Dpu {
                    health: rules::DpuHealth { agent: Some(report), ..Default::default() },
                    counters: [("a".to_owned(), 0)].into(),
                    ..Default::default()
                },
            ],
            ..Default::default()
        };
        let text = compact(&snapshot);
        assert_eq!(serde_json::from_str::<rules::Snapshot>(&text).unwrap(), snapshot);
        assert!(text.len() < 400, "{} bytes: {text}", text.len());
        assert_eq!(compact(&rules::Snapshot::default()), "{}");
    }
}
