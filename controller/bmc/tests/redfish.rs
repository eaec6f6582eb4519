//! The Redfish client: what it asks, what it makes of answers, and what it does not follow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

use std::time::Duration;

use axum::{Json, Router, http::StatusCode, response::IntoResponse, routing};
use bmc::{Access, BmcClient, BmcError, PowerState, Redfish, RedfishSettings, ResetType, SecureBoot, TaskState};
use serde_json::{Value, json};
use testbed::{BMC_PASSWORD, BMC_USER, BmcFaults, SimBmc};

fn bmc_at(url: &str) -> Access {
    Access { url: url.into(), username: BMC_USER.into(), password: BMC_PASSWORD.into(), ..Access::default() }
}

/// Serves what no simulated BMC would; the root is that of no maker.
async fn serve(answers: Router) -> Access {
    serve_root(answers, json!({})).await
}

async fn serve_root(answers: Router, root: Value) -> Access {
    let answers = answers.route("/redfish/v1/", routing::get(async move || Json(root)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, answers).await.unwrap() });
    bmc_at(&url)
}

fn client() -> Redfish {
    Redfish::new(&RedfishSettings { timeout: Duration::from_millis(500), ..RedfishSettings::default() }).unwrap()
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
    let wrong = Access { password: "susie".into(), ..right.clone() };
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
            let target = "/redfish/v1/UpdateService/FirmwareInventory/DPU_OS";
            let expected =
                json!({"ImageURI": "http://images/dpu.bfb", "TransferProtocol": "HTTP", "Targets": [target]});
            assert_eq!(body, expected);
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
        .route(
            "/redfish/v1/Systems/Bluefield",
            answer(json!({"Bios": {"@odata.id": "/redfish/v1/Systems/Bluefield/Bios"}})),
        )
        .route(
            "/redfish/v1/UpdateService/FirmwareInventory",
            answer(json!({"Members": [
                {"@odata.id": "/redfish/v1/UpdateService/FirmwareInventory/BMC_Firmware"},
                {"@odata.id": "/redfish/v1/UpdateService/FirmwareInventory/DPU_OS"},
            ]})),
        )
        .route("/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate", accepted())
        .route("/redfish/v1/TaskService/Tasks/7", answer(json!({"TaskState": "Running", "PercentComplete": 40})))
        .route("/redfish/v1/Systems/Bluefield/Bios", answer(json!({"Actions": {}})));
    let bmc = serve(app).await;

    let client = client();
    assert_eq!(client.secure_boot(&bmc).await.unwrap(), SecureBoot::Disabled);
    client.set_secure_boot(&bmc, true).await.unwrap();
    let task = client.simple_update(&bmc, "http://images/dpu.bfb").await.unwrap();
    let task = client.task(&bmc, &task).await.unwrap();
    assert_eq!((task.state, task.percent), (TaskState::Running, 40));
    assert_eq!(client.firmware_version(&bmc).await.unwrap().as_deref(), Some("BF-24.10-17"));
    let error = client.reset_bios(&bmc).await.unwrap_err();
    assert!(matches!(error, BmcError::Unsupported { .. }), "{error}");
    let named = Access { system_id: "Other".into(), ..bmc };
    let error = client.secure_boot(&named).await.unwrap_err();
    assert!(error.to_string().contains("has no `Other`"), "{error}");
}

/// A system with these properties beside its power, behind a BMC of no maker.
fn system(more: Value) -> Router {
    let mut system = json!({"@odata.id": "/redfish/v1/Systems/1", "PowerState": "On"});
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        system[name] = value;
    }
    let members = json!({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]});
    Router::new()
        .route("/redfish/v1/Systems", routing::get(async move || Json(members)))
        .route("/redfish/v1/Systems/1", routing::get(async move || Json(system)))
}

fn manager(actions: Value) -> Router {
    let manager = json!({"@odata.id": "/redfish/v1/Managers/1", "Actions": actions});
    let members = json!({"Members": [{"@odata.id": "/redfish/v1/Managers/1"}]});
    Router::new()
        .route("/redfish/v1/Managers", routing::get(async move || Json(members)))
        .route("/redfish/v1/Managers/1", routing::get(async move || Json(manager)))
}

/// An action that takes this body alone.
fn takes(expected: Value) -> routing::MethodRouter {
    routing::post(async move |Json(body): Json<Value>| match body == expected {
        true => StatusCode::NO_CONTENT.into_response(),
        false => (StatusCode::BAD_REQUEST, Json(refusal("Base.1.12.ActionParameterMissing", &[]))).into_response(),
    })
}

fn refusal(id: &str, args: &[&str]) -> Value {
    json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id, "MessageArgs": args}]}})
}

#[tokio::test]
async fn a_task_is_followed_by_itself_or_by_its_monitor() {
    let install = |status: StatusCode, location: &'static str, body: Value| {
        Router::new().route(
            "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate",
            routing::post(async move || (status, [("location", location)], Json(body))),
        )
    };
    let task = "/redfish/v1/TaskService/Tasks/4";
    for (case, location, body, path) in [
        ("the body names it", "/redfish/v1/TaskService/TaskMonitors/4", json!({"@odata.id": task}), task),
        ("Location alone", task, json!({}), task),
        (
            "a monitor alone",
            "/redfish/v1/TaskService/TaskMonitors/4",
            json!({}),
            "/redfish/v1/TaskService/TaskMonitors/4",
        ),
        ("a BMC with another name", "https://bmc-7.oob.example/redfish/v1/TaskService/Tasks/4", json!({}), task),
    ] {
        let bmc = serve(install(StatusCode::ACCEPTED, location, body)).await;
        assert_eq!(client().simple_update(&bmc, "http://images/x").await.unwrap(), path, "{case}");
    }
    let answer = |status: StatusCode, body: Value| async move { (status, Json(body)) };
    for (case, status, body, state, message) in [
        ("it runs", StatusCode::OK, json!({"TaskState": "Running"}), TaskState::Running, ""),
        ("its monitor waits", StatusCode::ACCEPTED, json!({}), TaskState::Running, ""),
        ("its monitor ended", StatusCode::NO_CONTENT, json!({}), TaskState::Completed, ""),
        ("it is forgotten", StatusCode::NOT_FOUND, json!({}), TaskState::Missing, "the BMC does not know the task"),
        (
            "it failed",
            StatusCode::OK,
            json!({"TaskState": "Exception", "Messages": [{"Message": "Begun."}, {"Message": "The image is not signed."}]}),
            TaskState::Exception,
            "The image is not signed.",
        ),
        (
            "it ended badly",
            StatusCode::OK,
            json!({"TaskState": "Completed", "TaskStatus": "Critical", "Messages": []}),
            TaskState::Exception,
            "",
        ),
    ] {
        let bmc = serve(Router::new().route(task, routing::get(async move || answer(status, body).await))).await;
        let read = client().task(&bmc, task).await.unwrap();
        assert_eq!((read.state, read.message.as_str()), (state, message), "{case}");
    }
}

#[tokio::test]
async fn requests_follow_what_the_bmc_declares() {
    let reset = "/redfish/v1/Managers/1/Actions/Manager.Reset";
    let defaults = "/redfish/v1/Managers/1/Actions/Manager.ResetToDefaults";
    let allowed =
        |values: Value| json!({"#Manager.Reset": {"target": reset, "ResetType@Redfish.AllowableValues": values}});
    for (values, sent) in [(json!(["GracefulRestart"]), "GracefulRestart"), (json!(["ForceRestart"]), "ForceRestart")] {
        let app = manager(allowed(values)).route(reset, takes(json!({"ResetType": sent})));
        client().reset_bmc(&serve(app).await).await.unwrap();
    }
    let error = client().reset_bmc(&serve(manager(allowed(json!(["Nmi"])))).await).await.unwrap_err();
    assert!(matches!(error, BmcError::Unsupported { .. }), "{error}");

    for (action, name) in [
        (
            json!({"target": defaults, "ResetToDefaultsType@Redfish.AllowableValues": ["ResetAll"]}),
            "ResetToDefaultsType",
        ),
        (json!({"target": defaults, "ResetType@Redfish.AllowableValues": ["ResetAll"]}), "ResetType"),
        // It declares nothing, and refuses the first name.
        (json!({"target": defaults}), "ResetToDefaultsType"),
    ] {
        let app =
            manager(json!({"#Manager.ResetToDefaults": action})).route(defaults, takes(json!({name: "ResetAll"})));
        client().factory_reset_bmc(&serve(app).await).await.unwrap();
    }
    let error = client().factory_reset_bmc(&serve(manager(json!({}))).await).await.unwrap_err();
    assert!(error.to_string().contains("does not support Manager.ResetToDefaults"), "{error}");
    let ilo = "/redfish/v1/Managers/1/Actions/Oem/Hpe/HpeiLO.ResetToFactoryDefaults";
    let actions = json!({"Oem": {"#HpeiLO.ResetToFactoryDefaults": {"target": ilo}}});
    let app = manager(actions).route(ilo, takes(json!({"ResetType": "Default"})));
    client().factory_reset_bmc(&serve_root(app, json!({"Vendor": "HPE"})).await).await.unwrap();
}

#[tokio::test]
async fn a_power_cycle_that_a_bmc_lacks_is_refused_whole() {
    let target = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
    let action = json!({"target": target, "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "ForceRestart"]});
    let app = system(json!({"Actions": {"#ComputerSystem.Reset": action}}))
        .route(target, takes(json!({"ResetType": "ForceRestart"})));
    let bmc = serve(app).await;
    let error = client().reset(&bmc, ResetType::PowerCycle).await.unwrap_err();
    assert!(error.to_string().contains("reset type PowerCycle"), "{error}");
    client().reset(&bmc, ResetType::ForceRestart).await.unwrap();
}

#[tokio::test]
async fn the_next_boot_is_set_where_and_how_the_bmc_wants_it() {
    let boot = |mode: Option<&str>| {
        let mut boot = json!({"BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideEnabled": "Once"});
        if let Some(mode) = mode {
            boot["BootSourceOverrideMode"] = mode.into();
        }
        json!({"Boot": boot})
    };
    let patched = |expected: Value| {
        routing::patch(async move |Json(body): Json<Value>| match body == expected {
            true => StatusCode::NO_CONTENT,
            false => StatusCode::BAD_REQUEST,
        })
    };
    let settings = json!({"@Redfish.Settings": {"SettingsObject": {"@odata.id": "/redfish/v1/Systems/1/Settings"}}});
    let app = system(settings).route("/redfish/v1/Systems/1/Settings", patched(boot(None)));
    client().boot_once_uefi_http(&serve(app).await).await.unwrap();
    for refused in [false, true] {
        let shown = json!({"Boot": {"BootSourceOverrideMode": "Legacy"}});
        let wanted = boot((!refused).then_some("UEFI"));
        let members = json!({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]});
        let app = Router::new()
            .route("/redfish/v1/Systems", routing::get(async move || Json(members)))
            .route("/redfish/v1/Systems/1", routing::get(async move || Json(shown)).merge(patched(wanted)));
        client().boot_once_uefi_http(&serve(app).await).await.unwrap();
    }
}

#[tokio::test]
async fn one_odd_answer_hides_nothing_and_is_named() {
    let bmc = serve(system(json!({"BootProgress": null, "LastResetTime": 7, "Manufacturer": []}))).await;
    assert_eq!(client().system(&bmc).await.unwrap().power, Some(PowerState::On));
    let garbled = Router::new().route("/redfish/v1/Systems", routing::get(async || "<html>login</html>"));
    let error = client().system(&serve(garbled).await).await.unwrap_err().to_string();
    assert!(error.contains("/redfish/v1/Systems is no JSON"), "{error}");
}

#[tokio::test]
async fn a_bmcs_own_words_are_told() {
    let closed = (StatusCode::FORBIDDEN, Json(refusal("Base.1.11.PasswordChangeRequired", &["/x"])));
    let app = Router::new().route("/redfish/v1/Systems", routing::get(async move || closed));
    let error = client().system(&serve(app).await).await.unwrap_err();
    assert!(matches!(error, BmcError::PasswordChangeRequired { .. }), "{error}");
    let odd = (StatusCode::BAD_REQUEST, Json(refusal("iLO.2.14.UnableToModifyDuringSystemPOST", &["Bios"])));
    let app = Router::new().route("/redfish/v1/Systems", routing::get(async move || odd));
    let error = client().system(&serve(app).await).await.unwrap_err().to_string();
    assert!(error.ends_with("iLO.2.14.UnableToModifyDuringSystemPOST (Bios)"), "{error}");
}

#[tokio::test]
async fn redirects_are_followed_within_the_bmc_alone() {
    let members = json!({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]});
    let app = |to: &'static str| {
        let moved = async move || (StatusCode::PERMANENT_REDIRECT, [("location", to)]);
        system(json!({})).route("/redfish/v1/Managers", routing::get(moved)).route(
            "/redfish/v1/Managers/",
            routing::get({
                let members = members.clone();
                async move || Json(members)
            }),
        )
    };
    let within = app("/redfish/v1/Managers/").route("/redfish/v1/Managers/1", routing::get(async || Json(json!({}))));
    // The members are systems, so there is no such manager: the redirect itself was followed.
    assert_eq!(client().firmware_version(&serve(within).await).await.unwrap(), None);
    let error =
        client().firmware_version(&serve(app("http://127.0.0.2:9/redfish/v1/Managers")).await).await.unwrap_err();
    assert!(error.to_string().contains("leads away from the BMC"), "{error}");
}
