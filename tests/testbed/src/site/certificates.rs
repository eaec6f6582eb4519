//! Certificates of a site whose parts know each other by them. Written before anything starts.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType, string::Ia5String};

use super::{DpuPlan, SitePlan, layout::SiteDir};

/// Writes the certificates of a site whose parts know each other by them: a pair each for the authority, `ca`, the
/// controller, an operator, and every DPU.
///
/// # Errors
/// If one cannot be made or written.
pub(super) fn write(dir: &SiteDir, plan: &SitePlan) -> Result<()> {
    let mut params = CertificateParams::new(vec!["the site's CA".to_owned()])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    dir.write("ca.pem", &params.self_signed(&key)?.pem())?;
    dir.write("ca.key", &key.serialize_pem())?;
    let ca = Issuer::new(params, key);

    write_pair(dir, &ca, "controller", &CertificateParams::new(vec!["127.0.0.1".to_owned()])?)?;
    let mut operator = CertificateParams::default();
    operator.distinguished_name.push(DnType::OrganizationalUnitName, "operators");
    write_pair(dir, &ca, "operator", &operator)?;
    for dpu in plan.dpus() {
        write_pair(dir, &ca, &format!("dpus/{}", dpu.name), &of_dpu(dpu, plan.certificates_over)?)?;
    }
    Ok(())
}

fn of_dpu(dpu: &DpuPlan, over: bool) -> Result<CertificateParams> {
    let mut params = CertificateParams::default();
    let uri = Ia5String::try_from(format!("spiffe://forge.local/forge-system/machine/{}", dpu.id))?;
    params.subject_alt_names.push(SanType::URI(uri));
    if over {
        let yesterday = UNIX_EPOCH.elapsed()? - Duration::from_secs(86_400);
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + yesterday;
    }
    Ok(params)
}

fn write_pair(dir: &SiteDir, ca: &Issuer<'_, KeyPair>, name: &str, params: &CertificateParams) -> Result<()> {
    let key = KeyPair::generate()?;
    dir.write(&format!("{name}.pem"), &params.signed_by(&key, ca)?.pem())?;
    dir.write(&format!("{name}.key"), &key.serialize_pem()).map(drop)
}
