use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use tonic::{Code, codegen::http};
use tower::{Layer, Service};

/// Counts gRPC calls by method and answer, and how long they take.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    answers: Family<Answer, Counter>,
    seconds: Family<Method, Histogram, fn() -> Histogram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    method: String,
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    method: String,
}

impl Default for Calls {
    fn default() -> Self {
        let histogram = || Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0]);
        Self { answers: Family::default(), seconds: Family::new_with_constructor(histogram) }
    }
}

impl Calls {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("grpc_calls", "gRPC calls by method and answer", self.answers.clone());
        registry.register("grpc_call_seconds", "Time that gRPC calls take", self.seconds.clone());
    }

    fn count(&self, path: &str, code: Code, started: Instant) {
        // Paths come from outside: only those that exist may become label values.
        let method = if code == Code::Unimplemented { "unknown" } else { path.trim_start_matches('/') }.to_owned();
        self.seconds.get_or_create_owned(&Method { method: method.clone() }).observe(started.elapsed().as_secs_f64());
        self.answers.get_or_create_owned(&Answer { method, code: format!("{code:?}") }).inc();
    }
}

impl<S> Layer<S> for Calls {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, calls: self.clone() }
    }
}

/// A server whose calls are counted.
#[derive(Debug, Clone)]
pub(crate) struct Counted<S> {
    inner: S,
    calls: Calls,
}

impl<S, Q, A> Service<http::Request<Q>> for Counted<S>
where
    S: Service<http::Request<Q>, Response = http::Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Q>) -> Self::Future {
        let (calls, started) = (self.calls.clone(), Instant::now());
        let path = request.uri().path().to_owned();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            // A refusal is told in the headers; an answer that begins is one that works.
            let status = answer.headers().get("grpc-status");
            calls.count(&path, status.map_or(Code::Ok, |status| Code::from_bytes(status.as_bytes())), started);
            Ok(answer)
        })
    }
}
