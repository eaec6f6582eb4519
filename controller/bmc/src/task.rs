//! How far the work is that a BMC does by itself: tasks of Redfish, and jobs of iDRACs. Pure but for [`read`].

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::{
    BmcError,
    transport::{Call, IfMatch},
    words,
};

/// Work of a BMC, as it tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// How far it is.
    pub state: TaskState,
    /// 0 to 100.
    pub percent: u8,
    /// Its last message, of one that failed the reason; empty if it has none.
    pub message: String,
}

/// How far a task or job of a BMC is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Accepted.
    New,
    /// It waits for a restart.
    Scheduled,
    /// About to run.
    Starting,
    /// Running.
    Running,
    /// Ended well.
    Completed,
    /// Ended otherwise.
    Exception,
    /// The BMC does not know it, or not any more.
    Missing,
    /// A state that is not understood.
    Other,
}

/// Reads a task by its path: the task itself, or its monitor, which tells by its status.
pub(crate) async fn read(call: &Call<'_>, path: &str) -> Result<Task, BmcError> {
    let answer = call.send(Method::GET, path, None, IfMatch::None).await?;
    let plain = |state, message: &str| Task { state, percent: 0, message: message.to_owned() };
    Ok(match answer.status {
        StatusCode::NOT_FOUND => plain(TaskState::Missing, "the BMC does not know the task"),
        StatusCode::NO_CONTENT => Task { percent: 100, ..plain(TaskState::Completed, "") },
        StatusCode::ACCEPTED if answer.body["TaskState"].is_null() => plain(TaskState::Running, ""),
        _ => {
            let answer = call.good(answer)?;
            let mut task = of(&answer.body);
            // A monitor that ended without a task to show has ended well.
            if path.contains("/TaskMonitors/") && task.state == TaskState::Other {
                task.state = TaskState::Completed;
            }
            task.message = call.without_secrets(&task.message);
            task
        }
    })
}

/// A task or job from its resource.
pub(crate) fn of(resource: &Value) -> Task {
    let word = |name: &str| resource[name].as_str();
    let message = words::last_message(resource);
    let message = if message.is_empty() { word("Message").unwrap_or_default().to_owned() } else { message };
    let percent = resource["PercentComplete"].as_u64().unwrap_or_default().min(100);
    let failed = message.contains("initialization failure") || word("TaskStatus") == Some("Critical");
    let state = match word("TaskState").or(word("JobState")).unwrap_or_default() {
        "Completed" if failed => TaskState::Exception,
        "Scheduled" if failed => TaskState::Exception,
        "New" | "Pending" => TaskState::New,
        "Scheduled" => TaskState::Scheduled,
        "Starting" | "ReadyForExecution" => TaskState::Starting,
        "Running" | "Service" | "Stopping" | "Suspended" | "Downloading" | "Waiting" => TaskState::Running,
        "Completed" => TaskState::Completed,
        "Exception" | "Killed" | "Cancelled" | "Interrupted" | "Failed" | "CompletedWithErrors" | "RebootFailed" => {
            TaskState::Exception
        }
        _ => TaskState::Other,
    };
    Task { state, percent: u8::try_from(percent).unwrap_or(100), message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_that_ended_badly_says_so_whatever_its_state_says() {
        for (resource, state, message) in [
            (json!({ "TaskState": "Running", "PercentComplete": 40 }), TaskState::Running, ""),
            (json!({ "TaskState": "Completed", "TaskStatus": "OK" }), TaskState::Completed, ""),
            (
                json!({ "TaskState": "Completed", "TaskStatus": "Critical", "Messages": [{ "Message": "Bad image." }] }),
                TaskState::Exception,
                "Bad image.",
            ),
            (
                json!({ "JobState": "Scheduled", "Message": "Task successfully scheduled." }),
                TaskState::Scheduled,
                "Task successfully scheduled.",
            ),
            (
                json!({ "JobState": "Scheduled", "Message": "Job processing initialization failure." }),
                TaskState::Exception,
                "Job processing initialization failure.",
            ),
            (json!({ "JobState": "CompletedWithErrors" }), TaskState::Exception, ""),
            (json!({ "TaskState": "Teleporting" }), TaskState::Other, ""),
            (json!({}), TaskState::Other, ""),
        ] {
            let task = of(&resource);
            assert_eq!((task.state, task.message.as_str()), (state, message), "{resource}");
        }
    }
}
