//! What a BMC says in error bodies, tasks and jobs, whole: every entry, with id and arguments where there is no text. For
//! errors and tasks.

use serde_json::Value;

/// Longest text that is kept of one answer.
const LONGEST: usize = 600;

/// All messages of a body, in order, without what repeats another; empty if there are none.
pub(crate) fn messages(body: &Value) -> String {
    let error = &body["error"];
    let lists = [&error["@Message.ExtendedInfo"], &body["@Message.ExtendedInfo"], &body["Messages"]];
    let mut texts: Vec<String> = Vec::new();
    for entry in lists.into_iter().filter_map(Value::as_array).flatten() {
        let text = message(entry);
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        texts.extend(error["message"].as_str().map(str::to_owned));
    }
    texts.join("; ").chars().take(LONGEST).collect()
}

/// The last message: of a task that ended, the reason.
pub(crate) fn last_message(resource: &Value) -> String {
    let last = resource["Messages"].as_array().into_iter().flatten().map(message).rfind(|text| !text.is_empty());
    last.unwrap_or_default().chars().take(LONGEST).collect()
}

/// The text of an entry, or else its id with its arguments.
fn message(entry: &Value) -> String {
    if let Some(text) = entry["Message"].as_str().filter(|text| !text.is_empty()) {
        return text.to_owned();
    }
    let Some(id) = entry["MessageId"].as_str() else { return String::new() };
    let arguments = entry["MessageArgs"].as_array().into_iter().flatten();
    let arguments: Vec<String> =
        arguments.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
    if arguments.is_empty() { id.to_owned() } else { format!("{id} ({})", arguments.join(", ")) }
}

/// Whether some message has an id that ends so, whatever its registry.
pub(crate) fn has_message(body: &Value, id: &str) -> bool {
    let lists = [&body["error"]["@Message.ExtendedInfo"], &body["@Message.ExtendedInfo"]];
    let ids = lists.into_iter().filter_map(Value::as_array).flatten().filter_map(|entry| entry["MessageId"].as_str());
    ids.chain(body["error"]["code"].as_str()).any(|known| known.ends_with(id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_a_bmc_says_is_kept() {
        let entry = |id: &str, args: &[&str]| json!({ "MessageId": id, "MessageArgs": args });
        for (body, text) in [
            (json!({}), ""),
            (json!({ "error": { "message": "See ExtendedInfo" } }), "See ExtendedInfo"),
            (
                json!({ "error": { "message": "no", "@Message.ExtendedInfo": [{ "Message": "One." }, { "Message": "Two." }] } }),
                "One.; Two.",
            ),
            (
                json!({ "error": { "@Message.ExtendedInfo": [entry("iLO.2.14.UnauthorizedLoginAttempt", &[]), entry("Base.1.4.PropertyUnknown", &["BootOrder"])] } }),
                "iLO.2.14.UnauthorizedLoginAttempt; Base.1.4.PropertyUnknown (BootOrder)",
            ),
        ] {
            assert_eq!(messages(&body), text);
        }
        let task = json!({ "Messages": [{ "Message": "Started." }, { "Message": "Image is not signed." }, {}] });
        assert_eq!(last_message(&task), "Image is not signed.");
        let closed =
            json!({ "error": { "@Message.ExtendedInfo": [entry("Base.1.8.PasswordChangeRequired", &["/x"])] } });
        assert!(has_message(&closed, "PasswordChangeRequired") && !has_message(&json!({}), "PasswordChangeRequired"));
    }
}
