//! A Redfish service on loopback with two machines' worth of power: it authenticates, keeps what it was asked, and can be
//! made to fail or to hang.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use serde_json::{Value, json};

pub const USER: &str = "root";
pub const PASSWORD: &str = "calvin-and-hobbes";

#[derive(Default)]
pub struct Machine {
    off: AtomicBool,
    pub broken: AtomicBool,
    pub hangs: AtomicBool,
    /// Resets are not answered while this is set.
    pub holds_resets: AtomicBool,
    pub requests: AtomicUsize,
    resets: Mutex<Vec<String>>,
    /// Whether it says when it was last reset.
    pub tells_last_reset: AtomicBool,
    last_reset: Mutex<Option<String>>,
    /// It declares that it has no power cycle, as iLO and XCC do.
    pub lacks_power_cycle: AtomicBool,
    /// While this is set, it shows that it powers off, and is not off.
    pub takes_time_to_power_off: AtomicBool,
}

impl Machine {
    /// Reset types that were asked for, in order.
    pub fn resets(&self) -> Vec<String> {
        self.resets.lock().unwrap().clone()
    }

    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    pub fn turn_off(&self) {
        self.off.store(true, Ordering::SeqCst);
    }
}

pub struct RedfishServer {
    pub url: String,
    pub machine: Arc<Machine>,
}

impl RedfishServer {
    pub async fn start() -> Self {
        let machine = Arc::new(Machine::default());
        let app = Router::new()
            .route("/redfish/v1/Systems", get(systems))
            .route("/redfish/v1/Systems/1", get(system))
            .route("/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", post(reset))
            .with_state(Arc::clone(&machine));
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, machine }
    }
}

type Answer = Result<Json<Value>, (StatusCode, Json<Value>)>;

async fn checked(machine: &Machine, headers: &HeaderMap) -> Result<(), (StatusCode, Json<Value>)> {
    machine.requests.fetch_add(1, Ordering::SeqCst);
    if machine.hangs.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    // "root:calvin-and-hobbes" in base64.
    let right = headers.get("authorization").is_some_and(|sent| sent == "Basic cm9vdDpjYWx2aW4tYW5kLWhvYmJlcw==");
    if !right {
        return Err((StatusCode::UNAUTHORIZED, Json(json!({}))));
    }
    if machine.broken.load(Ordering::SeqCst) {
        let error = json!({"error": {"@Message.ExtendedInfo": [{"Message": "The service is shutting down."}]}});
        return Err((StatusCode::SERVICE_UNAVAILABLE, Json(error)));
    }
    Ok(())
}

async fn systems(State(machine): State<Arc<Machine>>, headers: HeaderMap) -> Answer {
    checked(&machine, &headers).await?;
    Ok(Json(json!({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}], "Members@odata.count": 1})))
}

async fn system(State(machine): State<Arc<Machine>>, headers: HeaderMap) -> Answer {
    checked(&machine, &headers).await?;
    let power = match (machine.is_off(), machine.takes_time_to_power_off.load(Ordering::SeqCst)) {
        (true, true) => "PoweringOff",
        (true, false) => "Off",
        (false, _) => "On",
    };
    let target = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
    let mut body = json!({"PowerState": power, "Actions": {"#ComputerSystem.Reset": {"target": target}}});
    if machine.lacks_power_cycle.load(Ordering::SeqCst) {
        let allowed = ["On", "ForceOff", "ForceRestart"];
        body["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"] = json!(allowed);
    }
    if machine.tells_last_reset.load(Ordering::SeqCst) {
        body["LastResetTime"] = machine.last_reset.lock().unwrap().clone().into();
    }
    Ok(Json(body))
}

async fn reset(State(machine): State<Arc<Machine>>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    checked(&machine, &headers).await?;
    while machine.holds_resets.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let kind = body["ResetType"].as_str().unwrap().to_owned();
    // A power cycle gives back the state that it found.
    let off = kind == "ForceOff" || (kind == "PowerCycle" && machine.off.load(Ordering::SeqCst));
    machine.off.store(off, Ordering::SeqCst);
    machine.resets.lock().unwrap().push(kind);
    *machine.last_reset.lock().unwrap() = Some(controller::Timestamp::now().to_string());
    Ok(Json(json!({})))
}
