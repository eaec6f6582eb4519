//! Why the daemon cannot start, or ended. `main` prints it.

use std::net::SocketAddr;

use super::new_site::NewSiteError;
use crate::{
    AccessFault, ConfigError, IssuerFault, RedfishSetupError, RulePackError, SiteFileError, listen::TlsFault,
    network::AdoptError, store::StoreError,
};

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The site file has faults.
    #[error("the site file is refused:\n{0}")]
    SiteFile(SiteFileError),
    /// Hosts of the site file do not fit the rules.
    #[error("the site file's hosts are refused:\n{0}")]
    Hosts(String),
    /// The site file's networks do not fit what is given out.
    #[error(transparent)]
    Networks(#[from] AdoptError),
    /// The site is new without a word, or is said to be new and is not.
    #[error(transparent)]
    NewSite(#[from] NewSiteError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another controller has started.
    #[error("this controller has stopped, because another works on the database now ({0})")]
    LockLost(StoreError),
    /// The configuration's roles make no sense.
    #[error(transparent)]
    Access(#[from] AccessFault),
    /// Everybody could do everything.
    #[error(
        "{0} is no address of this machine alone, and without tls.client_ca whoever reaches it may do everything: set \
         tls.client_ca, or `open = true` if that is meant"
    )]
    Open(SocketAddr),
    /// There are roles, but nothing to know clients by.
    #[error("[access] needs tls.client_ca: without certificates nobody is known")]
    NoCertificates,
    /// The server's own files.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// Certificates of machines cannot be renewed.
    #[error(transparent)]
    Issuer(#[from] IssuerFault),
    /// Certificates are issued, but nobody is asked for one.
    #[error("[issuer] needs tls.client_ca: without certificates there is nothing to renew")]
    NothingToRenew,
    /// There are no usable rules.
    #[error(transparent)]
    Rules(#[from] RulePackError),
    /// BMCs cannot be reached at all.
    #[error(transparent)]
    Bmc(#[from] RedfishSetupError),
    /// A file that the configuration names cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {fault}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        fault: String,
    },
    /// A file cannot be read or written.
    #[error("cannot use {path}: {fault}")]
    File {
        /// The file.
        path: String,
        /// Why.
        fault: String,
    },
    /// The server failed while it ran.
    #[error("gRPC server failed: {0}")]
    Server(String),
}
