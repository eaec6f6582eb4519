//! Fingerprints of texts: they tell whether two are equal without keeping both.

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(String);

impl Digest {
    /// Of several parts; each counts with its length, so moving text from one part to the next changes the digest.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it to recognise it in a log.
    pub(crate) fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}
