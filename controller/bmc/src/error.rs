//! Why a BMC did not do what was asked.

/// Why a BMC did not do what was asked. No text carries a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BmcError {
    /// No BMC address is known for the machine.
    #[error("no BMC address is known: give it in the site file or with `sitectl host add`")]
    NoAddress,
    /// Something that the site has to say.
    #[error("the controller's configuration lacks `{what}`")]
    NotConfigured {
        /// The setting.
        what: &'static str,
    },
    /// The address cannot be used.
    #[error("BMC address `{bmc}` is not usable: {why}")]
    BadAddress {
        /// Scheme, host and port.
        bmc: String,
        /// What is wrong with it.
        why: String,
    },
    /// No connection, or it broke.
    #[error("BMC {bmc} is unreachable while {doing}: {why}")]
    Unreachable {
        /// Scheme, host and port.
        bmc: String,
        /// What was attempted.
        doing: &'static str,
        /// What the network said.
        why: String,
    },
    /// Connected, but no answer in time.
    #[error("BMC {bmc} did not answer within {seconds} s while {doing}")]
    Late {
        /// Scheme, host and port.
        bmc: String,
        /// What was attempted.
        doing: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// User or password is wrong.
    #[error("BMC {bmc} refused the user name or password while {doing}")]
    Unauthorized {
        /// Scheme, host and port.
        bmc: String,
        /// What was attempted.
        doing: &'static str,
    },
    /// The login is right, and everything is closed until its password is changed.
    #[error("BMC {bmc} wants its password changed before anything else, also {doing}")]
    PasswordChangeRequired {
        /// Scheme, host and port.
        bmc: String,
        /// What was attempted.
        doing: &'static str,
    },
    /// The BMC answered with an error.
    #[error("BMC {bmc} answered {status} while {doing}{}", if .message.is_empty() { String::new() } else { format!(": {}", .message) })]
    Refused {
        /// Scheme, host and port.
        bmc: String,
        /// What was attempted.
        doing: &'static str,
        /// HTTP status.
        status: u16,
        /// What the BMC said.
        message: String,
    },
    /// The BMC cannot do that at all.
    #[error("BMC {bmc} does not support {what}")]
    Unsupported {
        /// Scheme, host and port.
        bmc: String,
        /// What it lacks.
        what: String,
    },
    /// The answer is not what Redfish says it should be.
    #[error("BMC {bmc} gave an answer that cannot be used while {doing}: {why}")]
    Unexpected {
        /// Scheme, host and port.
        bmc: String,
        /// What was attempted.
        doing: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

impl BmcError {
    /// Whether the same call can succeed later without anybody changing anything.
    #[must_use]
    pub fn retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Late { .. } => true,
            Self::Refused { status, .. } => *status >= 500 || *status == 429,
            Self::NoAddress
            | Self::NotConfigured { .. }
            | Self::BadAddress { .. }
            | Self::Unauthorized { .. }
            | Self::PasswordChangeRequired { .. }
            | Self::Unsupported { .. }
            | Self::Unexpected { .. } => false,
        }
    }
}
