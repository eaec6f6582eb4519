//! The Redfish service in front of a BMC: paths, answers and refusals.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    bmc::{Bmc, BmcView, Reset},
    boot::boot,
};
use crate::{BMC_PASSWORD, BMC_USER};

/// As good as never.
const NEVER: Duration = Duration::from_secs(86_400);
/// Time between two looks at whether a reset that waits may go on.
const LOOK: Duration = Duration::from_millis(10);

type Shared = State<Arc<Bmc>>;

/// The Redfish service of a BMC.
pub(super) fn router(bmc: Arc<Bmc>) -> Router {
    let service = Router::new()
        .route("/redfish/v1/Systems", get(|| async { members(&["/redfish/v1/Systems/1"]) }))
        .route("/redfish/v1/Systems/1", get(system).patch(set_boot))
        .route("/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", post(reset))
        .route("/redfish/v1/Systems/1/SecureBoot", get(secure_boot).patch(set_secure_boot))
        .route("/redfish/v1/Systems/1/Bios", get(|| async { Json(bios()) }))
        .route("/redfish/v1/Systems/1/Bios/Actions/Bios.ResetBios", post(|| async { StatusCode::NO_CONTENT }))
        .route("/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate", post(install_image))
        .route("/redfish/v1/TaskService/Tasks/{task}", get(task))
        .route("/redfish/v1/Managers", get(|| async { members(&["/redfish/v1/Managers/1"]) }))
        .route("/redfish/v1/Managers/1", get(manager))
        .route("/redfish/v1/Managers/1/Actions/{action}", post(|| async { StatusCode::NO_CONTENT }))
        .layer(middleware::from_fn(authenticate));
    Router::new()
        .route("/redfish/v1", get(root))
        .route("/redfish/v1/", get(root))
        .route("/sim", get(view))
        .merge(service)
        .layer(middleware::from_fn_with_state(bmc.clone(), fail))
        .with_state(bmc)
}

/// What goes wrong with every request alike.
async fn fail(State(bmc): Shared, request: Request, next: Next) -> Response {
    if request.uri().path() == "/sim" {
        return next.run(request).await;
    }
    bmc.count_request();
    let faults = bmc.faults();
    let wait = if faults.hangs { NEVER } else { Duration::from_secs_f64(faults.slow_secs) };
    if !wait.is_zero() {
        sleep(wait).await;
    }
    if faults.down {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceShuttingDown", "The service is shutting down.");
    }
    next.run(request).await
}

async fn authenticate(headers: HeaderMap, request: Request, next: Next) -> Response {
    let expected = format!("Basic {}", BASE64.encode(format!("{BMC_USER}:{BMC_PASSWORD}").as_bytes()));
    match headers.get(header::AUTHORIZATION) {
        Some(given) if given.as_bytes() == expected.as_bytes() => next.run(request).await,
        _ => refusal(StatusCode::UNAUTHORIZED, "NoValidSession", "There is no valid session established."),
    }
}

async fn root() -> Json<Value> {
    Json(json!({
        "@odata.id": "/redfish/v1",
        "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
        "RedfishVersion": "1.15.0",
        "Systems": { "@odata.id": "/redfish/v1/Systems" },
        "Managers": { "@odata.id": "/redfish/v1/Managers" },
    }))
}

fn members(paths: &[&str]) -> Json<Value> {
    let links: Vec<_> = paths.iter().map(|path| json!({ "@odata.id": path })).collect();
    Json(json!({ "Members": links, "Members@odata.count": paths.len() }))
}

async fn system(State(bmc): Shared) -> Json<Value> {
    Json(bmc.resource())
}

async fn manager() -> Json<Value> {
    let action = |name: &str| json!({ "target": format!("/redfish/v1/Managers/1/Actions/{name}") });
    Json(json!({
        "@odata.id": "/redfish/v1/Managers/1",
        "Id": "1",
        "ManagerType": "BMC",
        "FirmwareVersion": "24.10-simulated",
        "Actions": {
            "#Manager.Reset": action("Manager.Reset"),
            "#Manager.ResetToDefaults": action("Manager.ResetToDefaults"),
        },
    }))
}

fn bios() -> Value {
    let target = "/redfish/v1/Systems/1/Bios/Actions/Bios.ResetBios";
    json!({ "Id": "Bios", "Attributes": {}, "Actions": { "#Bios.ResetBios": { "target": target } } })
}

/// Installing an image is a task that takes as long as a boot.
async fn install_image(State(bmc): Shared, Json(body): Json<Value>) -> Response {
    if body.get("ImageURI").and_then(Value::as_str).is_none_or(str::is_empty) {
        return refusal(StatusCode::BAD_REQUEST, "ActionParameterMissing", "ImageURI is missing.");
    }
    let link = format!("/redfish/v1/TaskService/Tasks/{}", bmc.start_task());
    (StatusCode::ACCEPTED, [(header::LOCATION, link.clone())], Json(json!({ "@odata.id": link }))).into_response()
}

async fn task(State(bmc): Shared, Path(number): Path<usize>) -> Response {
    let Some(percent) = bmc.task_percent(number) else {
        return refusal(StatusCode::NOT_FOUND, "ResourceMissingAtURI", "There is no such task.");
    };
    let state = if percent == 100 { "Completed" } else { "Running" };
    Json(json!({ "Id": number.to_string(), "TaskState": state, "PercentComplete": percent })).into_response()
}

async fn set_boot(State(bmc): Shared, Json(body): Json<Value>) -> Response {
    let Some(Value::Object(boot)) = body.get("Boot").cloned() else {
        return refusal(StatusCode::BAD_REQUEST, "PropertyMissing", "Only Boot can be set.");
    };
    bmc.with(|state| {
        if let Value::Object(known) = &mut state.boot_override {
            known.extend(boot);
        }
    });
    Json(bmc.resource()).into_response()
}

async fn secure_boot(State(bmc): Shared) -> Json<Value> {
    let (on, booted) = bmc.with(|state| (state.secure_boot, state.booted_secure));
    let current = if booted { "Enabled" } else { "Disabled" };
    Json(json!({ "Id": "SecureBoot", "SecureBootEnable": on, "SecureBootCurrentBoot": current }))
}

async fn set_secure_boot(State(bmc): Shared, Json(body): Json<Value>) -> Response {
    let Some(on) = body.get("SecureBootEnable").and_then(Value::as_bool) else {
        return refusal(StatusCode::BAD_REQUEST, "PropertyMissing", "Only SecureBootEnable can be set.");
    };
    bmc.with(|state| state.secure_boot = on);
    StatusCode::NO_CONTENT.into_response()
}

async fn reset(State(bmc): Shared, Json(body): Json<Value>) -> Response {
    while bmc.faults().holds_resets {
        sleep(LOOK).await;
    }
    let kind = body.get("ResetType").and_then(Value::as_str).unwrap_or_default();
    match bmc.reset(kind) {
        Reset::Boots(generation) => {
            tokio::spawn(boot(bmc.clone(), generation));
            StatusCode::NO_CONTENT.into_response()
        }
        Reset::Done => StatusCode::NO_CONTENT.into_response(),
        Reset::Refused => refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceTemporarilyUnavailable", "Try again later."),
        Reset::Unknown => refusal(StatusCode::BAD_REQUEST, "ActionParameterNotSupported", "Unknown ResetType."),
    }
}

async fn view(State(bmc): Shared) -> Json<BmcView> {
    Json(bmc.view())
}

fn refusal(status: StatusCode, message_id: &str, message: &str) -> Response {
    let info = json!([{ "MessageId": format!("Base.1.16.{message_id}"), "Message": message }]);
    let error = json!({ "code": "Base.1.16.GeneralError", "message": message, "@Message.ExtendedInfo": info });
    (status, Json(json!({ "error": error }))).into_response()
}
