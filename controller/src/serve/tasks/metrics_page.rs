//! Task `metrics`: the page that Prometheus reads.

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::get};
use tokio::net::TcpListener;
use tracing::error;

use super::super::ServeError;
use crate::{
    listen::Scrapers,
    metrics::{self, Heartbeat, Sources},
};

/// Serves the page. Without it the site goes on.
pub(in crate::serve) async fn run(
    listener: TcpListener,
    sources: Sources,
    heartbeat: Heartbeat,
) -> Result<(), ServeError> {
    let sources = Arc::new((sources, heartbeat));
    let scrape = move || {
        let sources = Arc::clone(&sources);
        async move {
            sources.1.beat();
            match metrics::render(&sources.0).await {
                Ok(text) => (StatusCode::OK, text),
                Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            }
        }
    };
    let router = Router::new().route("/metrics", get(scrape));
    if let Err(error) = axum::serve(Scrapers::new(listener), router).await {
        error!(%error, "metrics are no longer served");
    }
    Ok(())
}
