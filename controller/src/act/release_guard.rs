//! What no rule can set aside: the addresses of an instance are free only after every DPU of its host has said that it
//! no longer uses them. Rules wait for that; if they did not, nothing is given back.

use super::{ActionError, Rows};
use crate::store::{Dpu, HostRecord};

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
    for dpu in &record.dpus {
        let seen = record.observations.get(&dpu.id);
        let wanted = record.host.network_version;
        if seen.and_then(|seen| seen.network_version) != Some(wanted) {
            return held(dpu, format!("has not acknowledged the host's network {wanted}"));
        }
        match rows {
            Rows::ReleaseInstance if !record.host.use_admin_network => {
                return held(dpu, "is still to run the tenant's network".to_owned());
            }
            Rows::ReleaseOldResources => {
                let wanted = instance.required_dpus().contains(&dpu.position).then_some(instance.network_version);
                if seen.and_then(|seen| seen.instance_network_version) != wanted {
                    let wanted =
                        wanted.map_or_else(|| "the end of".to_owned(), |wanted| format!("version {wanted} of"));
                    return held(dpu, format!("has not acknowledged {wanted} the instance's network"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
