//! The isolated DPU: the host is cut off, the underlay stays.

use serde::Serialize;

use super::text;
use crate::render::{Environment, RenderError, Templates, Underlay};

#[derive(Serialize)]
struct Isolated<'a> {
    uplinks: Vec<String>,
    ports: Vec<String>,
    underlay: Option<UnderlayView<'a>>,
}

#[derive(Serialize)]
struct UnderlayView<'a> {
    asn: u32,
    loopback: String,
    password: Option<&'a str>,
    default_route_only: bool,
}

/// NVUE's file for a DPU that the site does not know.
pub(crate) fn isolated(
    environment: &Environment,
    underlay: Option<&Underlay>,
    templates: &Templates,
) -> Result<String, RenderError> {
    let context = Isolated {
        uplinks: environment.uplinks(),
        // Virtual functions are left out: without bridge, VRF and address none of them reaches anything.
        ports: vec![environment.physical_port()],
        underlay: underlay.map(|known| UnderlayView {
            asn: known.asn,
            loopback: known.loopback.to_string(),
            password: known.password.as_ref().map(|password| password.reveal()),
            default_route_only: known.default_route_only,
        }),
    };
    text(templates, "nvue/isolated.nv.j2", context)
}
