//! A middleware for tower: axum, hyper and others.
//!
//! ```ignore
//! weir_client::http!(Web, axum::http, axum::body::Body, |extensions| {
//!     extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
//! });
//! let limits = RateLimit::new(Web, Limiter::new(&url)?, ["10/s", "1000/h"]);
//! let app = Router::new().route("/", get(hello)).layer(limits);
//! ```
//!
//! It limits each address, and answers 429 with `RateLimit` and `Retry-After`; or 503 if weir is
//! away and the Limiter fails closed; or 500 for a [`Mistake`](crate::Mistake), which it writes to
//! standard error. The [`Decision`](crate::Decision) is in the extensions of the request.
//!
//! No version of the crate `http` is in its signature: [`http!`](crate::http) makes an [`Http`] of
//! the one that the program has.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::counters::write_line;
use crate::limiter::Limiter;

mod http;
mod rules;

pub use http::{Http, text_of};
pub use rules::Builder;
use rules::Rules;

/// The layer. Its options are those of weir's other middlewares.
pub struct RateLimit<Request, Response> {
    rules: Arc<Rules<Request, Response>>,
}

impl<Request, Response> RateLimit<Request, Response> {
    /// One that limits each address by these limits, such as "10/s" or "@free".
    pub fn new<L: Into<String>>(
        http: impl Http<Request, Response> + Send + Sync + 'static,
        limiter: Limiter,
        limits: impl IntoIterator<Item = L>,
    ) -> RateLimit<Request, Response> {
        RateLimit::builder(http, limiter, limits).build()
    }

    /// The same, with options.
    pub fn builder<L: Into<String>>(
        http: impl Http<Request, Response> + Send + Sync + 'static,
        limiter: Limiter,
        limits: impl IntoIterator<Item = L>,
    ) -> Builder<Request, Response> {
        Builder::new(Box::new(http), limiter, limits.into_iter().map(Into::into).collect())
    }
}

impl<Request, Response> Clone for RateLimit<Request, Response> {
    fn clone(&self) -> Self {
        RateLimit { rules: self.rules.clone() }
    }
}

impl<S, Request, Response> Layer<S> for RateLimit<Request, Response> {
    type Service = Limited<S, Request, Response>;

    fn layer(&self, service: S) -> Self::Service {
        Limited { service, rules: self.rules.clone() }
    }
}

/// A service that is limited by a [`RateLimit`].
pub struct Limited<S, Request, Response> {
    service: S,
    rules: Arc<Rules<Request, Response>>,
}

impl<S: Clone, Request, Response> Clone for Limited<S, Request, Response> {
    fn clone(&self) -> Self {
        Limited { service: self.service.clone(), rules: self.rules.clone() }
    }
}

impl<S, Request, Response> Service<Request> for Limited<S, Request, Response>
where
    S: Service<Request, Response = Response> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    Request: Send + 'static,
    Response: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The service that is ready is the one to call.
        let clone = self.service.clone();
        let mut service = std::mem::replace(&mut self.service, clone);
        if self.rules.skips(&request) {
            return Box::pin(service.call(request));
        }
        let cost = self.rules.cost.as_ref().map(|cost| cost(&request));
        match self.rules.key_of(&request) {
            Ok(key) => Box::pin(limit(self.rules.clone(), service, request, key, cost)),
            Err(mistake) => Box::pin(ready(Ok(self.rules.broken(&mistake)))),
        }
    }
}

async fn limit<S, Request, Response>(
    rules: Arc<Rules<Request, Response>>,
    mut service: S,
    mut request: Request,
    key: String,
    cost: Option<u64>,
) -> Result<Response, S::Error>
where
    S: Service<Request, Response = Response>,
{
    let question = rules.question(&key, cost);
    let words: Vec<&str> = question.iter().map(String::as_str).collect();
    let decision = match rules.limiter.allow_with_details(&words).await {
        Ok(decision) if decision.allowed => decision,
        Ok(decision) => return Ok(rules.refuse(&request, &decision)),
        Err(mistake) => return Ok(rules.broken(&mistake)),
    };
    rules.http.keep(&mut request, decision.clone());
    let mut response = service.call(request).await?;
    rules.add_fields(&mut response, &decision);
    if rules.charge_when.as_ref().is_some_and(|charge_when| charge_when(&response)) {
        // A caller that leaves now is charged, too.
        let _ = tokio::spawn(charge(rules.limiter.clone(), rules.charge(&key, cost))).await;
    }
    Ok(response)
}

async fn charge(limiter: Limiter, words: Vec<String>) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Err(mistake) = limiter.charge(&words).await {
        write_line(&format!("weir-client: {mistake}"));
    }
}
