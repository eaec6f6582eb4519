//! What no rule can set aside: the addresses of an instance are free only after every DPU of its host has said that it
//! no longer uses them. Rules wait for that; if they did not, nothing is given back.

use super::{ActionError, Rows};
use crate::{
    network::first_unconverged,
    store::{Dpu, HostRecord},
};

/// Refuses rows that would give addresses back too early.
///
/// # Errors
/// [`ActionError::Held`] with the first DPU that has not let go, and why.
pub(super) fn check(rows: Rows, record: &HostRecord) -> Result<(), ActionError> {
    let held = |dpu: &Dpu, why: String| Err(ActionError::Held { dpu: dpu.name.clone(), why });
    if !matches!(rows, Rows::ReleaseInstance | Rows::ReleaseOldResources) {
        return Ok(());
    }
    let Some(instance) = &record.instance else { return Ok(()) };
    if let Some(place) = instance.missing_dpus(&record.dpus).first() {
        let why = "is not known, so nobody says that it let go".to_owned();
        return Err(ActionError::Held { dpu: format!("at place {place}"), why });
    }
    if let Some((dpu, why)) = first_unconverged(record) {
        return held(dpu, why.to_string());
    }
    match record.dpus.first() {
        Some(dpu) if rows == Rows::ReleaseInstance && !record.host.use_admin_network => {
            held(dpu, "is still to run the tenant's network".to_owned())
        }
        _ => Ok(()),
    }
}
