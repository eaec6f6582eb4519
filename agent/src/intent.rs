use std::{
    io,
    path::{Path, PathBuf},
};

use prost::Message as _;
use proto::forge::ManagedHostNetworkConfigResponse;
use sha2::{Digest as _, Sha256};

use crate::private_file::{remove, write_private};

/// What the controller wants, kept over restarts so that an agent that starts without a controller goes on with it.
#[derive(Clone, PartialEq)]
pub(crate) enum Intent {
    Config(Box<ManagedHostNetworkConfigResponse>),
    /// The host is cut off; the last configuration is kept for its underlay, which brings the DPU back.
    Isolated {
        last: Option<Box<ManagedHostNetworkConfigResponse>>,
    },
}

/// SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(String);

impl Digest {
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

    pub(crate) fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

#[derive(Clone, PartialEq, prost::Message)]
struct Kept {
    #[prost(bool, tag = "1")]
    isolated: bool,
    #[prost(message, optional, tag = "2")]
    config: Option<ManagedHostNetworkConfigResponse>,
}

impl Intent {
    /// The answer, without what may change in every answer and configures nothing.
    pub(crate) fn config(mut response: Box<ManagedHostNetworkConfigResponse>) -> Self {
        if let Some(instance) = &mut response.instance {
            instance.status = None;
        }
        Self::Config(response)
    }

    /// The configuration to run, or the one that ran before the DPU was isolated.
    pub(crate) fn last(&self) -> Option<&ManagedHostNetworkConfigResponse> {
        match self {
            Self::Config(response) => Some(response),
            Self::Isolated { last } => last.as_deref(),
        }
    }

    pub(crate) fn isolated(self) -> Self {
        match self {
            Self::Config(response) => Self::Isolated { last: Some(response) },
            isolated => isolated,
        }
    }

    pub(crate) fn is_isolated(&self) -> bool {
        matches!(self, Self::Isolated { .. })
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&[&self.encode()])
    }

    fn encode(&self) -> Vec<u8> {
        let kept = Kept { isolated: self.is_isolated(), config: self.last().cloned() };
        kept.encode_to_vec()
    }
}

/// The file that holds the last [`Intent`]; it may hold a password, so only its owner reads it.
pub(crate) struct IntentFile(PathBuf);

impl IntentFile {
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self(state_dir.join("intent.pb"))
    }

    pub(crate) fn read(&self) -> io::Result<Option<Intent>> {
        let bytes = match types::read_file(&self.0, crate::MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match Kept::decode(bytes.as_slice()) {
            Ok(Kept { isolated: true, config }) => Ok(Some(Intent::Isolated { last: config.map(Box::new) })),
            Ok(Kept { config, .. }) => Ok(config.map(|response| Intent::Config(Box::new(response)))),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    pub(crate) fn write(&self, intent: &Intent) -> io::Result<()> {
        write_private(&self.0, &intent.encode())
    }

    /// Takes away what is kept. An agent that starts without it leaves alone what runs.
    pub(crate) fn forget(&self) {
        if let Err(error) = remove(&self.0) {
            tracing::error!("the former answer stays on file: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn response(asn: u32) -> Box<ManagedHostNetworkConfigResponse> {
        Box::new(ManagedHostNetworkConfigResponse { asn, ..Default::default() })
    }

    #[test]
    fn an_intent_outlives_the_process_and_only_its_owner_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = IntentFile::new(&directory.path().join("state"));
        assert!(file.read().unwrap().is_none());
        for intent in
            [Intent::Config(response(7)), Intent::Config(response(7)).isolated(), Intent::Isolated { last: None }]
        {
            file.write(&intent).unwrap();
            assert!(file.read().unwrap() == Some(intent));
        }
        let mode = std::fs::metadata(directory.path().join("state/intent.pb")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_configures_nothing_does_not_count() {
        let mut with_status = response(7);
        with_status.instance = Some(proto::forge::Instance { status: Some(Default::default()), ..Default::default() });
        let mut without = response(7);
        without.instance = Some(proto::forge::Instance::default());
        assert_eq!(Intent::config(with_status).digest(), Intent::config(without).digest());
        assert_ne!(Intent::config(response(7)).digest(), Intent::config(response(8)).digest());
        assert_ne!(Intent::Config(response(7)).digest(), Intent::Config(response(7)).isolated().digest());
    }
}
