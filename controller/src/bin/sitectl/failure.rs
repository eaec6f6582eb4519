//! What can go wrong in a command, and the exit code that says so to programs.

use std::process::ExitCode;

use tonic::Code;

/// A command's failure. The text is for people, [`Failure::exit_code`] for programs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The controller understood and said no, or a check did not hold.
    #[error("{0}")]
    Refused(String),
    /// A check did not hold. The text is its result, for whoever reads results.
    #[error("{0}")]
    Found(String),
    /// The command line cannot mean anything.
    #[error("{0}")]
    Usage(String),
    /// The controller knows no such host, DPU, VPC, instance or pack.
    #[error("{0}")]
    NotFound(String),
    /// No answer from the controller.
    #[error("cannot reach the controller at {controller}: {why}")]
    Unreachable { controller: String, why: String },
}

impl Failure {
    /// 1 refused or failed, 2 usage, 3 not found, 4 controller unreachable.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Refused(_) | Self::Found(_) => 1,
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::Unreachable { .. } => 4,
        })
    }

    /// The failure that a status of the controller stands for.
    pub(crate) fn from_status(status: &tonic::Status, controller: &str) -> Self {
        let message = match status.message() {
            "" => format!("the controller answered {}", status.code()),
            message => message.to_owned(),
        };
        match status.code() {
            Code::NotFound => Self::NotFound(message),
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {
                Self::Unreachable { controller: controller.to_owned(), why: message }
            }
            _ => Self::Refused(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_the_exit_code_that_help_promises() {
        for (status, code) in [
            (tonic::Status::not_found("no host `h9`"), 3),
            (tonic::Status::failed_precondition("host is not Ready"), 1),
            (tonic::Status::invalid_argument("no prefix"), 1),
            (tonic::Status::unavailable("connection refused"), 4),
            (tonic::Status::deadline_exceeded("late"), 4),
        ] {
            let failure = Failure::from_status(&status, "http://c");
            assert_eq!(format!("{:?}", failure.exit_code()), format!("{:?}", ExitCode::from(code)), "{status}");
        }
    }
}
