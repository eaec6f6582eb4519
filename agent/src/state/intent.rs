//! What the controller asked for last, kept on disk. The room `desired` reads and writes it.

use std::{
    io,
    path::{Path, PathBuf},
};

use prost::Message as _;
use proto::forge::ManagedHostNetworkConfigResponse;

use super::{
    digest::Digest,
    private_file::{remove, write_private},
};

/// What the DPU is to do. It survives restarts, so that an agent that starts without a controller goes on with it.
#[derive(Clone, PartialEq)]
pub(crate) enum Intent {
    /// Run this.
    Config(Box<ManagedHostNetworkConfigResponse>),
    /// Cut the host off. The last configuration is kept for its underlay, over which the DPU stays reachable.
    Isolated { last: Option<Box<ManagedHostNetworkConfigResponse>> },
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredIntent {
    #[prost(bool, tag = "1")]
    isolated: bool,
    #[prost(message, optional, tag = "2")]
    config: Option<ManagedHostNetworkConfigResponse>,
}

impl Intent {
    /// A response, without the part that may differ in every response and configures nothing.
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

    /// The intent once the site no longer knows this DPU.
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
        let stored = StoredIntent { isolated: self.is_isolated(), config: self.last().cloned() };
        stored.encode_to_vec()
    }
}

/// The file that holds the last [`Intent`]; it may hold a password, so only its owner reads it.
pub(crate) struct IntentFile(PathBuf);

impl IntentFile {
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self(state_dir.join("intent.pb"))
    }

    pub(crate) fn read(&self) -> io::Result<Option<Intent>> {
        let bytes = match types::read_file(&self.0, crate::MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match StoredIntent::decode(bytes.as_slice()) {
            Ok(StoredIntent { isolated: true, config }) => Ok(Some(Intent::Isolated { last: config.map(Box::new) })),
            Ok(StoredIntent { config, .. }) => Ok(config.map(|response| Intent::Config(Box::new(response)))),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    pub(crate) fn write(&self, intent: &Intent) -> io::Result<()> {
        write_private(&self.0, &intent.encode())
    }

    /// Removes the file. An agent that starts without it leaves alone what runs.
    pub(crate) fn discard(&self) {
        if let Err(error) = remove(&self.0) {
            tracing::error!("the former response cannot be removed from the state directory: {error}");
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
