//! The options of the middleware: what it asks weir for a request, and what it tells of the answer.

use std::sync::Arc;

use super::{Http, RateLimit};
use crate::caller::caller_key;
use crate::counters::write_line;
use crate::decision::Decision;
use crate::error::Mistake;
use crate::fields::{PROBLEM_TYPE, fields, legacy_fields, problem};
use crate::limiter::Limiter;

const BROKEN: &str = r#"{"title":"Internal Server Error"}"#;

type Of<T, R> = Box<dyn Fn(&T) -> R + Send + Sync>;
type Denied<Request, Response> = Box<dyn Fn(&Request, &Decision) -> Response + Send + Sync>;

pub(super) struct Rules<Request, Response> {
    pub limiter: Limiter,
    pub http: Box<dyn Http<Request, Response> + Send + Sync>,
    pub limits: Vec<String>,
    pub key: Option<Of<Request, String>>,
    pub skip: Option<Of<Request, bool>>,
    pub cost: Option<Of<Request, u64>>,
    pub denied: Option<Denied<Request, Response>>,
    pub charge_when: Option<Of<Response, bool>>,
    pub trusted_hops: usize,
    pub has_legacy: bool,
}

/// Makes a [`RateLimit`].
#[must_use]
pub struct Builder<Request, Response> {
    rules: Rules<Request, Response>,
}

impl<Request, Response> Builder<Request, Response> {
    pub(super) fn new(
        http: Box<dyn Http<Request, Response> + Send + Sync>,
        limiter: Limiter,
        limits: Vec<String>,
    ) -> Builder<Request, Response> {
        Builder {
            rules: Rules {
                limiter,
                http,
                limits,
                key: None,
                skip: None,
                cost: None,
                denied: None,
                charge_when: None,
                trusted_hops: 0,
                has_legacy: false,
            },
        }
    }

    /// Makes the key, in place of "ip:" and the address of the caller. An empty one is a mistake.
    pub fn key(mut self, key: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        self.rules.key = Some(Box::new(key));
        self
    }

    /// Says which requests pass without a question, in place of those by which browsers ask for
    /// CORS (OPTIONS with Access-Control-Request-Method).
    pub fn skip(mut self, skip: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.rules.skip = Some(Box::new(skip));
        self
    }

    /// How many tokens a request takes, in place of 1.
    pub fn cost(mut self, cost: impl Fn(&Request) -> u64 + Send + Sync + 'static) -> Self {
        self.rules.cost = Some(Box::new(cost));
        self
    }

    /// Makes the response to a request that is not allowed.
    pub fn denied(
        mut self,
        denied: impl Fn(&Request, &Decision) -> Response + Send + Sync + 'static,
    ) -> Self {
        self.rules.denied = Some(Box::new(denied));
        self
    }

    /// How many proxies of yours there are: the address is that entry of X-Forwarded-For, counted
    /// from the right. 0, if this is not said, takes that of the connection.
    pub fn trusted_hops(mut self, hops: usize) -> Self {
        self.rules.trusted_hops = hops;
        self
    }

    /// Whether X-RateLimit-Limit, -Remaining and -Reset are sent, too.
    pub fn legacy_headers(mut self, has_legacy: bool) -> Self {
        self.rules.has_legacy = has_legacy;
        self
    }

    /// Says which responses are charged. Then a request passes if its tokens are there, and takes
    /// them only after its response.
    pub fn charge_when(mut self, when: impl Fn(&Response) -> bool + Send + Sync + 'static) -> Self {
        self.rules.charge_when = Some(Box::new(when));
        self
    }

    pub fn build(self) -> RateLimit<Request, Response> {
        RateLimit { rules: Arc::new(self.rules) }
    }
}

impl<Request, Response> Rules<Request, Response> {
    pub fn skips(&self, request: &Request) -> bool {
        match &self.skip {
            Some(skip) => skip(request),
            None => {
                let asked = "access-control-request-method";
                self.http.method(request) == "OPTIONS"
                    && !self.http.header(request, asked).is_empty()
            }
        }
    }

    /// An empty key would be one bucket for all callers.
    pub fn key_of(&self, request: &Request) -> Result<String, Mistake> {
        match &self.key {
            None => {
                let peer = self.http.peer(request).unwrap_or_default();
                let forwarded = self.http.header(request, "x-forwarded-for");
                caller_key(&peer, &forwarded, self.trusted_hops)
            }
            Some(key) => Some(key(request)).filter(|key| !key.is_empty()).ok_or_else(|| {
                Mistake::new("key(request) answers nothing: one bucket for all callers")
            }),
        }
    }

    /// The words to ask with RL.ALLOW: with `charge_when`, a look.
    pub fn question(&self, key: &str, cost: Option<u64>) -> Vec<String> {
        if self.charge_when.is_none() {
            return self.charge(key, cost);
        }
        let keep = cost.unwrap_or(1);
        let limits = self.limits.iter().map(|limit| format!("{limit},cost=0,keep={keep}"));
        std::iter::once(key.to_string()).chain(limits).collect()
    }

    pub fn charge(&self, key: &str, cost: Option<u64>) -> Vec<String> {
        let mut words = [&[key.to_string()], self.limits.as_slice()].concat();
        words.extend(cost.iter().flat_map(|cost| ["COST".to_string(), cost.to_string()]));
        words
    }

    pub fn add_fields(&self, response: &mut Response, decision: &Decision) {
        let told = if self.has_legacy { legacy_fields(decision) } else { fields(decision) };
        for (name, value) in told {
            self.http.add(response, name, &value);
        }
    }

    pub fn refuse(&self, request: &Request, decision: &Decision) -> Response {
        let mut response = match &self.denied {
            Some(denied) => denied(request, decision),
            None => {
                let problem = problem(decision);
                self.http.respond(problem.status, PROBLEM_TYPE, problem.body)
            }
        };
        self.add_fields(&mut response, decision);
        response
    }

    pub fn broken(&self, mistake: &Mistake) -> Response {
        write_line(&format!("weir-client: {mistake}"));
        self.http.respond(500, PROBLEM_TYPE, BROKEN.to_string())
    }
}
