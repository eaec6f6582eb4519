//! The Redfish service in front of a maker's BMC.

use std::sync::Arc;

use anyhow::Result;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::{
    maker::{EtagRule, Maker, MakerBmc, merge},
    serve::listen,
};
use crate::{BMC_PASSWORD, BMC_USER};

impl MakerBmc {
    /// Starts one of this maker.
    ///
    /// # Errors
    /// If there is no profile of the maker, or no port is available.
    pub async fn start(maker: &str) -> Result<Self> {
        let maker = Arc::new(Self::profile(maker)?);
        let (listener, url) = listen(0).await?;
        let service = Router::new().fallback(serve).with_state(Arc::clone(&maker));
        tokio::spawn(async move { axum::serve(listener, service).await });
        Ok(Self { url, maker })
    }
}

async fn serve(State(maker): State<Arc<Maker>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    answer(&maker, &head.method, &path, &head.headers, &body)
}

fn answer(maker: &Maker, method: &Method, path: &str, headers: &HeaderMap, body: &Bytes) -> Response {
    let refuse = |status: StatusCode, id: &str, message: &str| {
        maker.with(|state| state.refused.push(format!("{method} {path}: {message}")));
        refusal(status, id, message)
    };
    if maker.with(|state| state.faults.down) {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "ServiceTemporarilyUnavailable", "Try again later.");
    }
    let login = format!("Basic {}", BASE64.encode(format!("{BMC_USER}:{BMC_PASSWORD}").as_bytes()));
    if path != "/redfish/v1"
        && headers.get(header::AUTHORIZATION).is_none_or(|given| given.as_bytes() != login.as_bytes())
    {
        return refuse(StatusCode::UNAUTHORIZED, "NoValidSession", "There is no valid session established.");
    }
    if method == Method::GET {
        let (resource, tag) = maker.with(|state| (state.resources.get(path).cloned(), state.tags));
        return match (resource, maker.profile.etag) {
            (None, _) => refuse(StatusCode::NOT_FOUND, "ResourceMissingAtURI", "There is no such resource."),
            (Some(resource), EtagRule::None) => Json(resource).into_response(),
            (Some(resource), _) => ([(header::ETAG, format!("\"{tag}\""))], Json(resource)).into_response(),
        };
    }
    if maker.closes(path) {
        return refuse(StatusCode::BAD_REQUEST, "SystemLocked", "The system is locked.");
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let sent = headers.get(header::IF_MATCH).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    if method == Method::PATCH
        && let Some(response) = wrong_tag(maker, sent.as_deref())
    {
        maker.with(|state| state.refused.push(format!("{method} {path}: If-Match {sent:?}")));
        return response;
    }
    maker.with(|state| state.changes.push(format!("{method} {path}")));
    match *method {
        Method::PATCH => patch(maker, path, &body),
        Method::POST => post(maker, path, &body).unwrap_or_else(|(status, id, message)| refuse(status, id, message)),
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "OperationNotAllowed", "Not here."),
    }
}

fn wrong_tag(maker: &Maker, sent: Option<&str>) -> Option<Response> {
    let stale = maker.with(|state| {
        let stale = state.faults.stale_etags > 0;
        state.faults.stale_etags = state.faults.stale_etags.saturating_sub(1);
        stale
    });
    let tag = format!("\"{}\"", maker.with(|state| state.tags));
    let status = match (maker.profile.etag, sent) {
        (EtagRule::None, _) => return None,
        (EtagRule::Any, Some("*")) => return None,
        (EtagRule::Current, Some(sent)) if sent == tag && !stale => return None,
        (_, None) => StatusCode::PRECONDITION_REQUIRED,
        (_, Some(_)) => StatusCode::PRECONDITION_FAILED,
    };
    Some(refusal(status, "PreconditionFailed", "The ETag is missing or does not match."))
}

fn patch(maker: &Maker, path: &str, body: &Value) -> Response {
    let settings = maker.profile.settings.get(path).cloned();
    let unknown = |attributes: &Value| {
        let of = settings.as_ref().map_or(path, |settings| &settings.of);
        let known = maker.with(|state| state.resources.get(of).map(|it| it["Attributes"].clone())).unwrap_or_default();
        attributes
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .find(|name| known.get(name).is_none())
    };
    if let Some(name) = unknown(&body["Attributes"]) {
        let message = format!("The property {name} is not in the list of valid properties.");
        maker.with(|state| state.refused.push(format!("PATCH {path}: {message}")));
        return refusal(StatusCode::BAD_REQUEST, "PropertyUnknown", &message);
    }
    let mut change = body.clone();
    if let Some(change) = change.as_object_mut() {
        change.retain(|name, _| !name.starts_with('@'));
    }
    let Some(settings) = settings else {
        maker.with(|state| {
            state.tags += 1;
            if let Some(resource) = state.resources.get_mut(path) {
                merge(resource, &change);
            }
        });
        // A BMC that has jobs has one for the boot order as well.
        if maker.profile.jobs.is_some() && path == maker.profile.system && change["Boot"].is_object() {
            return started(&maker.start_job(true));
        }
        return StatusCode::NO_CONTENT.into_response();
    };
    maker.with(|state| {
        state.tags += 1;
        let pending = state.pending.entry(settings.of.clone()).or_insert_with(|| json!({}));
        merge(pending, &change);
    });
    if settings.job { started(&maker.start_job(true)) } else { StatusCode::OK.into_response() }
}

/// A job was started: in `Location` alone, with a message as body, as iDRACs answer.
fn started(job: &str) -> Response {
    let info = json!({ "@Message.ExtendedInfo": [{ "MessageId": "Base.1.12.Success", "Message": "Accepted." }] });
    (StatusCode::OK, [(header::LOCATION, job.to_owned())], Json(info)).into_response()
}

type Refusal = (StatusCode, &'static str, &'static str);

fn post(maker: &Maker, path: &str, body: &Value) -> Result<Response, Refusal> {
    if path == maker.profile.reset {
        let kind = body["ResetType"].as_str().unwrap_or_default();
        let unknown = (StatusCode::BAD_REQUEST, "ActionParameterNotSupported", "Unknown ResetType.");
        return if maker.reset(kind) { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(unknown) };
    }
    if Some(path) == maker.profile.password.as_deref() {
        let (old, new) = (body["OldPassword"].as_str(), body["NewPassword"].as_str());
        let right = maker.with(|state| old == Some(&*state.uefi_password));
        if !right {
            return Err((StatusCode::BAD_REQUEST, "PropertyValueIncorrect", "The old password is wrong."));
        }
        maker.with(|state| state.next_uefi_password = new.map(str::to_owned));
        return Ok(StatusCode::OK.into_response());
    }
    if Some(path) == maker.profile.jobs.as_deref() {
        return Ok(started(&maker.start_job(true)));
    }
    let missing = (StatusCode::NOT_FOUND, "ResourceMissingAtURI", "There is no such action.");
    let what = maker.profile.posts.get(path).cloned().ok_or(missing)?;
    maker.with(|state| {
        if what.clears_jobs {
            state.scheduled.clear();
            state.pending.clear();
        }
        if what.clears_password && body["ImportBuffer"].as_str().is_some_and(|xml| xml.contains(&state.uefi_password)) {
            state.uefi_password.clear();
        }
        if let Some(resource) = what.into.and_then(|path| state.resources.get_mut(&path)) {
            merge(resource, body);
        }
    });
    Ok(if what.job { started(&maker.start_job(false)) } else { StatusCode::NO_CONTENT.into_response() })
}

fn refusal(status: StatusCode, id: &str, message: &str) -> Response {
    let info = json!([{ "MessageId": format!("Base.1.16.{id}"), "Message": message }]);
    (status, Json(json!({ "error": { "@Message.ExtendedInfo": info } }))).into_response()
}
