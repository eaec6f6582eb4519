//! Who clients are, by the configuration: their certificates, those refused, and the issuer of machines' new ones.

use std::{io, sync::Arc};

use tracing::warn;

use super::ServeError;
use crate::{
    Config,
    access::{Clients, Gatekeeper, Issuer, RefusedCertificates},
};

/// The gatekeeper, and what renews machines' certificates where that is configured.
pub(super) fn open(config: &Config) -> Result<(Gatekeeper, Option<Arc<Issuer>>), ServeError> {
    let clients = clients(config)?;
    let issuer = issuer(config, clients.as_ref())?.map(Arc::new);
    Ok((Gatekeeper::new(clients, refused_certificates(config)?), issuer))
}

/// Who clients are; none where they need no certificate.
fn clients(config: &Config) -> Result<Option<Clients>, ServeError> {
    let has_ca = config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    match &config.access {
        Some(_) if !has_ca => Err(ServeError::NoCertificates),
        access if has_ca => Ok(Some(Clients::new(&access.clone().unwrap_or_default())?)),
        _ if !config.listen.ip().is_loopback() && !config.open => Err(ServeError::Open(config.listen)),
        _ => {
            warn!("whoever reaches this address may do everything: set tls.client_ca on anything but a demo");
            Ok(None)
        }
    }
}

/// Certificates that are let in no more.
fn refused_certificates(config: &Config) -> Result<Option<RefusedCertificates>, ServeError> {
    let Some(path) = config.access.as_ref().and_then(|access| access.refused.as_ref()) else { return Ok(None) };
    let fault = |error: io::Error| ServeError::File { path: path.display().to_string(), fault: error.to_string() };
    RefusedCertificates::open(path).map(Some).map_err(fault)
}

fn issuer(config: &Config, clients: Option<&Clients>) -> Result<Option<Issuer>, ServeError> {
    let Some(files) = &config.issuer else { return Ok(None) };
    let client_ca = config.tls.as_ref().and_then(|tls| tls.client_ca.as_ref());
    let (Some(client_ca), Some(clients)) = (client_ca, clients) else { return Err(ServeError::NothingToRenew) };
    Ok(Some(Issuer::open(files, client_ca, clients.clone())?))
}
