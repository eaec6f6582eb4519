//! The Redfish client: what it asks, what it makes of answers, and what it does not follow.

use std::time::Duration;

use axum::{Json, Router, http::StatusCode, routing};
use controller::{BmcClient, BmcError, PowerState, Redfish, RedfishSettings, ResetType, store};
use serde_json::{Value, json};
use testbed::{BMC_PASSWORD, BmcFaults, SimBmc};

use crate::support::bmc_at;

/// Serves what no simulated BMC would.
async fn serve(answers: Router) -> store::Bmc {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, answers).await.unwrap() });
    bmc_at(&url)
}

fn client() -> Redfish {
    Redfish::new(&RedfishSettings { ca: None, timeout: Duration::from_millis(500) }).unwrap()
}

#[tokio::test]
async fn resets_that_would_change_nothing_are_not_sent() {
    let server = SimBmc::start(BmcFaults { terse: true, ..BmcFaults::default() }).await.unwrap();
    let (client, bmc) = (client(), bmc_at(server.url()));
    assert_eq!(client.system(&bmc).await.unwrap().power, Some(PowerState::On));
    for reset in [ResetType::On, ResetType::ForceOff, ResetType::ForceOff, ResetType::ForceRestart] {
        client.reset(&bmc, reset).await.unwrap();
    }
    // On was on already, the second ForceOff found it off, and what is off is not restarted but powered on.
    assert_eq!(server.resets(), ["ForceOff", "On"]);
}

#[tokio::test]
async fn every_failure_is_told_apart_and_none_tells_the_password() {
    let server = SimBmc::start(BmcFaults { terse: true, ..BmcFaults::default() }).await.unwrap();
    let (client, right) = (client(), bmc_at(server.url()));
    let wrong = store::Bmc { password: "susie".into(), ..right.clone() };
    let error = client.system(&wrong).await.unwrap_err();
    assert!(matches!(error, BmcError::Unauthorized { .. }) && !error.retryable(), "{error}");

    server.set_faults(|faults| faults.down = true);
    let error = client.reset(&right, ResetType::ForceRestart).await.unwrap_err();
    assert!(matches!(error, BmcError::Refused { status: 503, .. }) && error.retryable(), "{error}");
    assert!(error.to_string().ends_with("503 while resetting the system: The service is shutting down."), "{error}");

    server.set_faults(|faults| faults.hangs = true);
    let error = client.system(&right).await.unwrap_err();
    assert!(matches!(error, BmcError::Late { .. }) && error.retryable(), "{error}");

    let error = client.system(&bmc_at("http://127.0.0.1:1")).await.unwrap_err();
    assert!(matches!(error, BmcError::Unreachable { .. }) && error.retryable(), "{error}");
    assert!(matches!(client.system(&bmc_at("")).await, Err(BmcError::NoAddress)));
    let hidden = client.system(&bmc_at(&format!("ftp://root:{BMC_PASSWORD}@bmc"))).await.unwrap_err();
    assert!(matches!(hidden, BmcError::BadAddress { .. }));
    for text in [hidden.to_string(), format!("{hidden:?}"), format!("{right:?}")] {
        assert!(!text.contains(BMC_PASSWORD), "{text}");
    }
}

#[tokio::test]
async fn a_link_away_from_the_bmc_is_not_followed() {
    let away = async || Json(json!({"Members": [{"@odata.id": "http://127.0.0.2:9/x"}]}));
    let bmc = serve(Router::new().route("/redfish/v1/Systems", routing::get(away))).await;
    let error = client().system(&bmc).await.unwrap_err();
    assert!(error.to_string().contains("leads away from the BMC"), "{error}");
}

#[tokio::test]
async fn secure_boot_tasks_firmware_and_bios_are_found() {
    let answer = |body: Value| routing::get(async move || Json(body));
    let accepted = || {
        routing::post(async |Json(body): Json<Value>| {
            assert_eq!(body, json!({"ImageURI": "http://images/dpu.bfb"}));
            (StatusCode::ACCEPTED, [("location", "/redfish/v1/TaskService/Tasks/7")])
        })
    };
    let patched = routing::patch(async |Json(body): Json<Value>| {
        assert_eq!(body, json!({"SecureBootEnable": true}));
        StatusCode::NO_CONTENT
    });
    let app = Router::new()
        .route("/redfish/v1/Systems", answer(json!({"Members": [{"@odata.id": "/redfish/v1/Systems/Bluefield/"}]})))
        .route("/redfish/v1/Managers", answer(json!({"Members": [{"@odata.id": "/redfish/v1/Managers/1"}]})))
        .route("/redfish/v1/Managers/1", answer(json!({"FirmwareVersion": "BF-24.10-17"})))
        .route(
            "/redfish/v1/Systems/Bluefield/SecureBoot",
            answer(json!({"SecureBootEnable": true, "SecureBootCurrentBoot": "Disabled"})).merge(patched),
        )
        .route("/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate", accepted())
        .route("/redfish/v1/TaskService/Tasks/7", answer(json!({"TaskState": "Running", "PercentComplete": 40})))
        .route("/redfish/v1/Systems/Bluefield/Bios", answer(json!({"Actions": {}})));
    let bmc = serve(app).await;

    let client = client();
    assert_eq!(client.secure_boot(&bmc).await.unwrap(), controller::SecureBoot::Disabled);
    client.set_secure_boot(&bmc, true).await.unwrap();
    let task = client.simple_update(&bmc, "http://images/dpu.bfb").await.unwrap();
    let running = controller::Task { state: controller::TaskState::Running, percent: 40 };
    assert_eq!(client.task(&bmc, &task).await.unwrap(), running);
    assert_eq!(client.firmware_version(&bmc).await.unwrap().as_deref(), Some("BF-24.10-17"));
    let error = client.reset_bios(&bmc).await.unwrap_err();
    assert!(matches!(error, BmcError::Unsupported { .. }), "{error}");
    let named = store::Bmc { system_id: "Other".into(), ..bmc };
    let error = client.secure_boot(&named).await.unwrap_err();
    assert!(error.to_string().contains("has no `Other`"), "{error}");
}
