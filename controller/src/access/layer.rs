use std::{
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tonic::{
    Status,
    codegen::http,
    transport::server::{TcpConnectInfo, TlsConnectInfo},
};
use tower::{Layer, Service};
use tracing::info;

use super::{Caller, Clients, certificate::Names};
use crate::Timestamp;

/// What a load balancer or `systemctl` asks, without being anybody.
const OPEN: &str = "/grpc.health.v1.Health/";

/// Lets calls through to the services behind it, each with who calls.
#[derive(Debug, Clone)]
pub(crate) struct Gatekeeper {
    /// None where clients need no certificate.
    clients: Option<Arc<Clients>>,
}

impl Gatekeeper {
    /// With clients, everybody is who their certificate says; without, everybody may do everything.
    pub(crate) fn new(clients: Option<Clients>) -> Self {
        Self { clients: clients.map(Arc::new) }
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
                if names.end.is_some_and(|end| Timestamp::now().since_epoch() > end) {
                    return Err(Status::permission_denied("the client's certificate is over"));
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
                request.extensions_mut().insert(caller);
                Box::pin(self.inner.call(request))
            }
            Err(refusal) => {
                info!(call = request.uri().path(), refusal = refusal.message(), "a call was refused");
                Box::pin(ready(Ok(refusal.into_http())))
            }
        }
    }
}
