//! Ids of hosts and DPUs.

use std::{fmt, str::FromStr, sync::Arc};

/// Id of a host or DPU, derived from its hardware: `fm100`, a letter for the kind, a letter for the source of the
/// hash, and 52 letters of lower-case base32hex (RFC 4648 section 7, no padding) of a SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MachineId(Arc<str>);

/// What a [`MachineId`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MachineKind {
    /// Letter `d`.
    Dpu,
    /// Letter `h`.
    Host,
    /// Letter `p`: a host that is expected because its DPU was seen.
    PredictedHost,
}

/// A text that is no machine id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no machine id: {fault}")]
pub struct MachineIdError {
    text: String,
    fault: &'static str,
}

const PREFIX: &str = "fm100";
const LENGTH: usize = 59;

impl MachineId {
    /// What the id names.
    #[must_use]
    pub fn kind(&self) -> MachineKind {
        match self.0.as_bytes().get(PREFIX.len()) {
            Some(b'd') => MachineKind::Dpu,
            Some(b'h') => MachineKind::Host,
            _ => MachineKind::PredictedHost,
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for MachineId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for MachineId {
    type Err = MachineIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = |fault| Err(MachineIdError { text: text.chars().take(80).collect(), fault });
        let Some(rest) = text.strip_prefix(PREFIX) else { return refuse("it must start with fm100") };
        if text.len() != LENGTH {
            return refuse("it must be 59 characters long");
        }
        let mut letters = rest.bytes();
        if !matches!(letters.next(), Some(b'd' | b'h' | b'p')) {
            return refuse("its sixth letter must be d (DPU), h (host) or p (predicted host)");
        }
        if !matches!(letters.next(), Some(b't' | b's')) {
            return refuse("its seventh letter must be t (TPM) or s (serial numbers)");
        }
        if !letters.all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'v')) {
            return refuse("its last 52 letters must be 0-9 or a-v");
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdefghijklmnopqrstuv0123456789abcdefghij";

    #[test]
    fn kind_is_the_sixth_letter() {
        for (letters, kind) in [("dt", MachineKind::Dpu), ("hs", MachineKind::Host), ("pt", MachineKind::PredictedHost)]
        {
            let id: MachineId = format!("fm100{letters}{HASH}").parse().unwrap();
            assert_eq!(id.kind(), kind);
            assert_eq!(id.to_string().len(), 59);
        }
    }

    #[test]
    fn refuses_with_the_reason() {
        for (text, fault) in [
            (String::new(), "start with fm100"),
            (format!("fm200dt{HASH}"), "start with fm100"),
            (format!("fm100dt{HASH}x"), "59 characters"),
            (format!("fm100xt{HASH}"), "sixth letter"),
            (format!("fm100dx{HASH}"), "seventh letter"),
            (format!("fm100dt{}", HASH.to_uppercase()), "0-9 or a-v"),
            (format!("fm100dt{}", HASH.replace('a', "w")), "0-9 or a-v"),
            (format!("fm100dt{}é", &HASH[2..]), "0-9 or a-v"),
        ] {
            let error = text.parse::<MachineId>().unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }
}
