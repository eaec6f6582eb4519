//! A machine's certificate is renewed, on a certificate that may have expired.

use proto::{MachineId, forge};
use tonic::{Status, metadata::MetadataMap};
use tracing::info;

use super::{ForgeService, answer::from_store};
use crate::{
    Timestamp,
    access::{Caller, Issued, RenewalRefusal},
};

impl ForgeService {
    /// A new certificate for the machine that calls, or for the one whose former certificate the caller shows.
    pub(super) async fn renew(
        &self,
        caller: &Caller,
        metadata: &MetadataMap,
    ) -> Result<forge::MachineCertificateResult, Status> {
        let issuer = self.issuer.as_ref().ok_or_else(|| {
            Status::failed_precondition("this controller renews no certificates: its configuration has no [issuer]")
        })?;
        let now = Timestamp::now();
        let (machine, issued) = match (caller, metadata.get_bin(proto::FORMER_CERTIFICATE)) {
            (Caller::Machine(machine), _) => (machine.clone(), issuer.with_new_key(machine, now).map_err(refused)?),
            (Caller::Nobody, Some(former)) => {
                let former = former.to_bytes().map_err(|_| Status::invalid_argument("the certificate is no base64"))?;
                issuer.with_same_key(&former, now).map_err(refused)?
            }
            _ => return Err(Status::permission_denied(format!("{caller} has no machine's certificate to renew"))),
        };
        self.known(&machine).await?;
        issuer.rated(&machine, now).map_err(refused)?;
        let how = if issued.private_key.is_some() { "with a new key" } else { "for the key that it has" };
        info!(%machine, how, "a certificate was renewed");
        Ok(forge::MachineCertificateResult { machine_certificate: Some(to_wire(issued)) })
    }

    /// Never NOT_FOUND, which DPUs take for an order to isolate their host.
    async fn known(&self, machine: &MachineId) -> Result<(), Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        match tx.dpu(machine).await.map_err(from_store)? {
            Some(_) => Ok(()),
            None => Err(Status::permission_denied(format!("the site knows no DPU {machine}"))),
        }
    }
}

fn to_wire(issued: Issued) -> forge::MachineCertificate {
    forge::MachineCertificate {
        public_key: issued.certificate.into_bytes(),
        private_key: issued.private_key.unwrap_or_default().into_bytes(),
        issuing_ca: issued.issuing_ca.into_bytes(),
    }
}

fn refused(refusal: RenewalRefusal) -> Status {
    match refusal {
        RenewalRefusal::Unreadable(_) => Status::invalid_argument(refusal.to_string()),
        RenewalRefusal::Strange(_) | RenewalRefusal::TooLate(_) => Status::permission_denied(refusal.to_string()),
        RenewalRefusal::WeakKey(_) => Status::invalid_argument(refusal.to_string()),
        RenewalRefusal::TooOften(_) => Status::resource_exhausted(refusal.to_string()),
        RenewalRefusal::Signing(_) => Status::internal(refusal.to_string()),
    }
}
