//! Who may call what.
//!
//! Where clients need a certificate, its names say who they are: a machine of the site, an operator, a tenants' service or
//! an observer. A layer before all services refuses calls that are not for the caller; the handlers that machines call
//! refuse what is not about the caller itself. A refusal is never NOT_FOUND, which DPUs take for being unknown.
//!
//! Machines' certificates are renewed here, too. An expired one is let in nowhere, so its owner comes without any, shows
//! it, and gets another for the same key.

mod caller;
mod certificate;
mod clients;
mod issuer;
mod layer;
mod refused;
mod share;

pub(crate) use caller::Caller;
pub use clients::AccessFault;
pub(crate) use clients::Clients;
pub use issuer::IssuerFault;
pub(crate) use issuer::{Issued, Issuer, RenewalRefusal};
pub(crate) use layer::Gatekeeper;
pub(crate) use refused::RefusedCertificates;
