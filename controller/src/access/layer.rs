use std::{
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use proto::MachineKind;
use tonic::{
    Code, Status,
    codegen::http,
    transport::server::{TcpConnectInfo, TlsConnectInfo},
};
use tower::{Layer, Service};
use tracing::info;

use super::{Caller, Clients, RefusedCertificates, certificate::Names};
use crate::Moment;

/// What a load balancer or `systemctl` asks, without being anybody.
const OPEN: &str = "/grpc.health.v1.Health/";

/// Lets calls through to the services behind it, each with who calls.
#[derive(Debug, Clone)]
pub(crate) struct Gatekeeper {
    /// None where clients need no certificate.
    clients: Option<Arc<Clients>>,
    refused: Option<Arc<RefusedCertificates>>,
}

impl Gatekeeper {
    /// With clients, everybody is who their certificate says; without, everybody may do everything.
    pub(crate) fn new(clients: Option<Clients>, refused: Option<RefusedCertificates>) -> Self {
        Self { clients: clients.map(Arc::new), refused: refused.map(Arc::new) }
    }

    fn caller<Q>(&self, request: &http::Request<Q>) -> Result<Caller, Status> {
        let Some(clients) = &self.clients else { return Ok(Caller::Anybody) };
        let path = request.uri().path();
        if path.starts_with(OPEN) {
            return Ok(Caller::Anybody);
        }
        let certificates =
            request.extensions().get::<TlsConnectInfo<TcpConnectInfo>>().and_then(TlsConnectInfo::peer_certs);
        let caller = match certificates.as_ref().and_then(|chain| chain.first()) {
            Some(own) => {
                let names = Names::of(own);
                // TLS looks at that when a connection is opened, and one can stay open for long.
                if names.end.is_some_and(|end| Moment::now().since_epoch() > end) {
                    return Err(Status::permission_denied("the client's certificate is over"));
                }
                if self.refused.as_ref().is_some_and(|refused| refused.has(&names)) {
                    return Err(Status::permission_denied("the client's certificate is refused here"));
                }
                clients.caller(&names).map_err(|stranger| Status::permission_denied(stranger.to_string()))?
            }
            None => Caller::Nobody,
        };
        if caller.may_call(path) {
            Ok(caller)
        } else {
            Err(Status::permission_denied(format!("{caller} may not call {path}")))
        }
    }
}

impl<S> Layer<S> for Gatekeeper {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, gatekeeper: self.clone() }
    }
}

/// A server behind a gatekeeper.
#[derive(Debug, Clone)]
pub(crate) struct Guarded<S> {
    inner: S,
    gatekeeper: Gatekeeper,
}

impl<S, Q, A> Service<http::Request<Q>> for Guarded<S>
where
    S: Service<http::Request<Q>, Response = http::Response<A>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    A: Default + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Q>) -> Self::Future {
        match self.gatekeeper.caller(&request) {
            Ok(caller) => {
                let is_host = matches!(&caller, Caller::Machine(id) if id.kind() != MachineKind::Dpu);
                request.extensions_mut().insert(caller);
                let answer = self.inner.call(request);
                if !is_host {
                    return Box::pin(answer);
                }
                // What runs on a host is not to find out what there is; and NOT_FOUND has a meaning of its own for machines.
                Box::pin(async move {
                    let answer = answer.await?;
                    let code = answer.headers().get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()));
                    match code {
                        Some(Code::NotFound) => Ok(Status::permission_denied("that is not for a host").into_http()),
                        _ => Ok(answer),
                    }
                })
            }
            Err(refusal) => {
                info!(call = request.uri().path(), refusal = refusal.message(), "a call was refused");
                Box::pin(ready(Ok(refusal.into_http())))
            }
        }
    }
}
