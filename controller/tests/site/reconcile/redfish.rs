use std::{sync::atomic::Ordering, time::Duration};

use controller::{Bmc, BmcError, PowerState, Redfish, RedfishSettings, ResetType, store};

use crate::bmc::{PASSWORD, RedfishServer, USER};

fn access(url: &str) -> store::Bmc {
    store::Bmc { url: url.into(), username: USER.into(), password: PASSWORD.into(), ..store::Bmc::default() }
}

fn client() -> Redfish {
    Redfish::new(&RedfishSettings { ca: None, timeout: Duration::from_millis(500) }).unwrap()
}

#[tokio::test]
async fn resets_reach_the_system_and_those_that_change_nothing_are_not_sent() {
    let server = RedfishServer::start().await;
    let (client, bmc) = (client(), access(&server.url));
    assert_eq!(client.system(&bmc).await.unwrap().power, Some(PowerState::On));
    for reset in [ResetType::On, ResetType::ForceOff, ResetType::ForceOff, ResetType::ForceRestart] {
        client.reset(&bmc, reset).await.unwrap();
    }
    // On was on already, the second ForceOff found it off, and what is off is not restarted but powered on.
    assert_eq!(server.machine.resets(), ["ForceOff", "On"]);
}

#[tokio::test]
async fn every_failure_is_told_apart_and_none_tells_the_password() {
    let server = RedfishServer::start().await;
    let (client, right) = (client(), access(&server.url));
    let wrong = store::Bmc { password: "susie".into(), ..right.clone() };
    let error = client.system(&wrong).await.unwrap_err();
    assert!(matches!(error, BmcError::Unauthorized { .. }) && !error.retryable(), "{error}");

    server.machine.broken.store(true, Ordering::SeqCst);
    let error = client.reset(&right, ResetType::ForceRestart).await.unwrap_err();
    assert!(matches!(error, BmcError::Refused { status: 503, .. }) && error.retryable(), "{error}");
    assert!(error.to_string().ends_with("503 while resetting the system: The service is shutting down."), "{error}");

    server.machine.hangs.store(true, Ordering::SeqCst);
    let error = client.system(&right).await.unwrap_err();
    assert!(matches!(error, BmcError::Late { .. }) && error.retryable(), "{error}");

    let error = client.system(&access("http://127.0.0.1:1")).await.unwrap_err();
    assert!(matches!(error, BmcError::Unreachable { .. }) && error.retryable(), "{error}");
    assert!(matches!(client.system(&access("")).await, Err(BmcError::NoAddress)));
    let hidden = client.system(&access("ftp://root:calvin-and-hobbes@bmc")).await.unwrap_err();
    assert!(matches!(hidden, BmcError::BadAddress { .. }));
    for text in [hidden.to_string(), format!("{hidden:?}"), format!("{right:?}")] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

#[tokio::test]
async fn a_link_away_from_the_bmc_is_not_followed() {
    let app = axum::Router::new().route(
        "/redfish/v1/Systems",
        axum::routing::get(async || {
            axum::Json(serde_json::json!({"Members": [{"@odata.id": "http://127.0.0.2:9/x"}]}))
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let error = client().system(&access(&url)).await.unwrap_err();
    assert!(error.to_string().contains("leads away from the BMC"), "{error}");
}

#[tokio::test]
async fn secure_boot_tasks_firmware_and_bios_are_where_redfish_has_them() {
    use axum::{Json, Router, http::StatusCode, routing};
    use serde_json::{Value, json};
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
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bmc = access(&format!("http://{}", listener.local_addr().unwrap()));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });

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
