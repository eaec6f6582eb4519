//! Counts gRPC calls by method and status code; a layer around all services.

use std::{
    collections::BTreeSet,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::{Code, codegen::http};
use tower::{Layer, Service};

/// Counts gRPC calls by method and answer, and how long they take.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    answers: Family<CallLabels, Counter>,
    seconds: Family<Method, Histogram, fn() -> Histogram>,
    /// Paths of all calls that are served. Anything else comes from outside and becomes no label.
    known: Arc<BTreeSet<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
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
        let known = Arc::new(served());
        Self { answers: Family::default(), seconds: Family::new_with_constructor(histogram), known }
    }
}

impl Calls {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("grpc_calls", "gRPC calls by method and answer", self.answers.clone());
        registry.register("grpc_call_seconds", "Time that gRPC calls take", self.seconds.clone());
    }

    fn count(&self, path: &str, code: Code, started: Instant) {
        let path = path.trim_start_matches('/');
        let method = if self.known.contains(path) { path } else { "unknown" }.to_owned();
        self.seconds.get_or_create_owned(&Method { method: method.clone() }).observe(started.elapsed().as_secs_f64());
        self.answers.get_or_create_owned(&CallLabels { method, code: format!("{code:?}") }).inc();
    }
}

/// `package.Service/Method` of all that is served.
fn served() -> BTreeSet<String> {
    let of_files = |bytes: &[u8]| {
        let files = FileDescriptorSet::decode(bytes).map(|set| set.file).unwrap_or_default();
        files.into_iter().flat_map(|file| {
            let package = file.package.unwrap_or_default();
            file.service.into_iter().flat_map(move |service| {
                let service_name = format!("{package}.{}", service.name.unwrap_or_default());
                let methods = service.method.into_iter().filter_map(|method| method.name);
                methods.map(move |method| format!("{service_name}/{method}")).collect::<Vec<_>>()
            })
        })
    };
    let own = of_files(proto::DESCRIPTORS).chain(of_files(tonic_health::pb::FILE_DESCRIPTOR_SET));
    own.chain(of_files(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET)).collect()
}

impl<S> Layer<S> for Calls {
    type Service = CountCalls<S>;

    fn layer(&self, inner: S) -> CountCalls<S> {
        CountCalls { inner, calls: self.clone() }
    }
}

/// A server whose calls are counted.
#[derive(Debug, Clone)]
pub(crate) struct CountCalls<S> {
    inner: S,
    calls: Calls,
}

impl<S, Q, A> Service<http::Request<Q>> for CountCalls<S>
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

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn paths_that_nobody_serves_are_one_label() {
        let calls = Calls::default();
        for number in 0..10_000 {
            for code in [Code::Unimplemented, Code::PermissionDenied] {
                calls.count(&format!("/x.{number}/{}", "y".repeat(1_000)), code, Instant::now());
            }
        }
        for path in ["/forge.Forge/Version", "/site.Site/ListHosts", "/grpc.health.v1.Health/Check"] {
            calls.count(path, Code::Ok, Instant::now());
        }
        let mut registry = Registry::default();
        calls.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert!(text.len() < 10_000, "{} bytes", text.len());
        for line in [
            "grpc_calls_total{method=\"unknown\",code=\"PermissionDenied\"} 10000",
            "grpc_calls_total{method=\"forge.Forge/Version\",code=\"Ok\"} 1",
            "grpc_calls_total{method=\"grpc.health.v1.Health/Check\",code=\"Ok\"} 1",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
