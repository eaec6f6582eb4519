//! The server's certificate, its key and who signs clients: files that are read again when they change.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use arc_swap::ArcSwap;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};

use crate::Tls;

const MOST_BYTES: u64 = 1 << 20;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[error("[tls]: cannot use {path}: {fault}")]
pub struct TlsFault {
    path: String,
    fault: String,
}

/// TLS by files.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    files: Tls,
    /// Who has no certificate gets in, too: a machine's may be over. The gatekeeper lets it do nothing else.
    optional: bool,
    current: ArcSwap<ServerConfig>,
}

/// When each of the files was changed last.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Modified(Vec<Option<SystemTime>>);

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsFault`] that names the one that is wrong.
    pub(crate) fn open(files: &Tls, optional: bool) -> Result<Self, TlsFault> {
        let current = ArcSwap::from_pointee(read(files, optional)?);
        Ok(Self { files: files.clone(), optional, current })
    }

    /// As the files were when they last made sense.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        self.current.load_full()
    }

    /// Reads the files again if one has changed since `known`, and says when they were changed last. Connections that are
    /// open stay as they are.
    pub(crate) fn reload_if_changed(&self, known: Modified) -> Modified {
        let now = self.modified();
        if now != known {
            // Whoever writes them may not have written all.
            match read(&self.files, self.optional) {
                Ok(config) => {
                    self.current.store(Arc::new(config));
                    tracing::info!("the TLS files have changed: new connections go by them");
                }
                Err(fault) => tracing::warn!(%fault, "the TLS files have changed, but cannot be used: the former stay"),
            }
        }
        now
    }

    /// When the files were changed last.
    pub(crate) fn modified(&self) -> Modified {
        let files: [Option<&PathBuf>; 3] =
            [Some(&self.files.cert), Some(&self.files.key), self.files.client_ca.as_ref()];
        let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        Modified(files.into_iter().flatten().map(changed).collect())
    }
}

fn read(files: &Tls, optional: bool) -> Result<ServerConfig, TlsFault> {
    let chain = certificates(&files.cert)?;
    let key = pem(&files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| fault(&files.key, &error))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(&files.cert, &error))?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(path)? {
                roots.add(root).map_err(|error| fault(path, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if optional { verifier.allow_unauthenticated() } else { verifier };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| fault(path, &error))?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| fault(&files.key, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let text = pem(path)?;
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| fault(path, &error))?;
    if found.is_empty() { Err(fault(path, &"it holds no certificate")) } else { Ok(found) }
}

fn pem(path: &Path) -> Result<Vec<u8>, TlsFault> {
    types::read_file(path, MOST_BYTES).map_err(|error| fault(path, &error))
}

fn fault(path: &Path, fault: &dyn std::fmt::Display) -> TlsFault {
    TlsFault { path: path.display().to_string(), fault: fault.to_string() }
}
