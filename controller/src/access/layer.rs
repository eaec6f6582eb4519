//! The gatekeeper before all services: knows the caller, limits its share, and refuses what its role may not call.

use std::{
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use proto::MachineKind;
use tonic::{Code, Status, codegen::http};
use tower::{Layer, Service};
use tracing::info;

use super::{
    Caller, Clients, RefusedCertificates,
    certificate::Names,
    share::{InFlight, Shares},
};
use crate::{
    Timestamp,
    listen::{PeerInfo, Rated, is_of_this_machine},
};

/// What a load balancer or `systemctl` asks, without being anybody.
const OPEN: &str = "/grpc.health.v1.Health/";

/// Lets calls through to the services behind it, each with who calls.
#[derive(Debug, Clone)]
pub(crate) struct Gatekeeper {
    /// None where clients need no certificate.
    clients: Option<Arc<Clients>>,
    refused: Option<Arc<RefusedCertificates>>,
    shares: Shares,
    refusals: Arc<Rated>,
}

impl Gatekeeper {
    /// With clients, everybody is who their certificate says; without, everybody may do everything.
    pub(crate) fn new(clients: Option<Clients>, refused: Option<RefusedCertificates>) -> Self {
        Self {
            clients: clients.map(Arc::new),
            refused: refused.map(Arc::new),
            shares: Shares::default(),
            refusals: Arc::default(),
        }
    }

    fn caller<Q>(&self, request: &http::Request<Q>) -> Result<Caller, Status> {
        let Some(clients) = &self.clients else { return Ok(Caller::Anybody) };
        let path = request.uri().path();
        if path.starts_with(OPEN) {
            return Ok(Caller::Anybody);
        }
        let caller = self.known(clients, request.extensions().get::<PeerInfo>())?;
        if caller.may_call(path) {
            Ok(caller)
        } else {
            Err(Status::permission_denied(format!("{caller} may not call {path}")))
        }
    }
}

impl Gatekeeper {
    /// Whether a connection is an operator's: by its certificate, or where nobody needs one by where it comes from.
    pub(crate) fn is_operator(&self, peer: &PeerInfo) -> bool {
        match &self.clients {
            Some(clients) => matches!(self.known(clients, Some(peer)), Ok(Caller::Operator)),
            None => is_of_this_machine(peer),
        }
    }

    fn known(&self, clients: &Clients, peer: Option<&PeerInfo>) -> Result<Caller, Status> {
        let certificates = peer.and_then(|peer| peer.certificates.as_ref());
        let Some(own) = certificates.and_then(|chain| chain.first()) else { return Ok(Caller::Nobody) };
        let names = Names::of(own);
        // TLS looks at that when a connection is opened, and one can stay open for long.
        if names.end.is_some_and(|end| Timestamp::now().since_epoch() > end) {
            return Err(Status::permission_denied("the client's certificate has expired"));
        }
        if self.refused.as_ref().is_some_and(|refused| refused.has(&names)) {
            return Err(Status::permission_denied("the client's certificate is refused here"));
        }
        clients.caller(&names).map_err(|stranger| Status::permission_denied(stranger.to_string()))
    }

    /// Says that a call was refused: few lines, and short ones, whatever is called.
    fn refuse(&self, path: &str, refusal: &Status) {
        if let Some(times) = self.refusals.now() {
            let call: String = path.chars().take(80).collect();
            let refusal: String = refusal.message().chars().take(200).collect();
            info!(call, refusal, times, "a call was refused");
        }
    }
}

/// Gives a call's place back when it ends.
struct WithPermit<F> {
    answer: F,
    _place: InFlight,
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
        let peer = request.extensions().get::<PeerInfo>().cloned();
        let admitted = self.gatekeeper.caller(&request).and_then(|caller| {
            let too_many = |most| {
                Status::resource_exhausted(format!("{caller} has {most} calls in flight: wait for their answers"))
            };
            self.gatekeeper.shares.take(&caller, peer.as_ref()).map_err(too_many).map(|place| (caller, place))
        });
        match admitted {
            Ok((caller, place)) => {
                let is_host = matches!(&caller, Caller::Machine(id) if id.kind() != MachineKind::Dpu);
                request.extensions_mut().insert(caller);
                let held = WithPermit { answer: self.inner.call(request), _place: place };
                if !is_host {
                    return Box::pin(async move {
                        let WithPermit { answer, _place } = held;
                        answer.await
                    });
                }
                // What runs on a host is not to find out what there is; and NOT_FOUND has a meaning of its own for machines.
                Box::pin(async move {
                    let WithPermit { answer, _place } = held;
                    let answer = answer.await?;
                    let code = answer.headers().get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()));
                    match code {
                        Some(Code::NotFound) => Ok(Status::permission_denied("that is not for a host").into_http()),
                        _ => Ok(answer),
                    }
                })
            }
            Err(refusal) => {
                self.gatekeeper.refuse(request.uri().path(), &refusal);
                Box::pin(ready(Ok(refusal.into_http())))
            }
        }
    }
}
