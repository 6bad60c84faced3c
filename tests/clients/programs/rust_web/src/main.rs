//! Limits an application of axum, and one of hyper 0.14, with the middleware of weir-client. Its
//! argument is the URL of a server; rust_package.py reads what it prints, a line for each request.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Extension};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use axum::routing::get;
use tower::{Layer, Service, ServiceExt};
use weir_client::Decision;
use weir_client::tokio::Limiter;
use weir_client::tower::{Builder, RateLimit};

weir_client::http!(Web, axum::http, Body, |extensions| {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
});
weir_client::http!(OldWeb, hyper::http, hyper::Body, |extensions| {
    extensions.get::<IpAddr>().copied()
});

/// The Decision's limits, and the status that the request asks for.
async fn hello(decision: Option<Extension<Decision>>, headers: HeaderMap) -> (StatusCode, String) {
    let status =
        headers.get("x-status").map_or(200, |value| value.to_str().unwrap().parse().unwrap());
    let rows = decision.map_or(Vec::new(), |decision| decision.0.limits);
    let rows: Vec<_> = rows.iter().map(|row| format!(" {} {}", row.name, row.remaining)).collect();
    (StatusCode::from_u16(status).unwrap(), format!("hello{}", rows.concat()))
}

fn request(method: &str, peer: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let address = SocketAddr::new(peer.parse().unwrap(), 4711);
    let mut request = Request::builder().method(method).extension(ConnectInfo(address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

struct App(Router);

impl App {
    fn new(limiter: &Limiter, limit: &str, set: impl Fn(Of) -> Of) -> App {
        let layer = set(RateLimit::builder(Web, limiter.clone(), [limit])).build();
        App(Router::new().route("/", get(hello).options(hello)).layer(layer))
    }

    async fn ask(&self, method: &str, peer: &str, headers: &[(&str, &str)]) -> Response<Body> {
        self.0.clone().oneshot(request(method, peer, headers)).await.unwrap()
    }

    async fn statuses(&self, times: usize, peer: &str, headers: &[(&str, &str)]) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..times {
            statuses.push(self.ask("GET", peer, headers).await.status().as_u16());
        }
        statuses
    }
}

type Of = Builder<Request<Body>, Response<Body>>;

async fn shown(response: Response<Body>) -> String {
    let names =
        ["ratelimit-policy", "ratelimit", "x-ratelimit-limit", "retry-after", "content-type"];
    let mut line = response.status().as_u16().to_string();
    for name in names {
        if let Some(value) = response.headers().get(name) {
            line += &format!(" | {name}: {}", value.to_str().unwrap());
        }
    }
    let body = to_bytes(response.into_body(), 65536).await.unwrap();
    line + " | " + &String::from_utf8_lossy(&body)
}

async fn play_axum(limiter: &Limiter) {
    let few = "3/3285d,fixed,name=few";
    let app = App::new(limiter, few, |layer| layer.legacy_headers(true));
    for peer in ["192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.8"] {
        println!("{}", shown(app.ask("GET", peer, &[]).await).await);
    }
    let preflight = [("access-control-request-method", "POST")];
    println!("{}", shown(app.ask("OPTIONS", "192.0.2.7", &preflight).await).await);

    let hops = App::new(limiter, few, |layer| layer.trusted_hops(1));
    let forwarded = [("x-forwarded-for", "203.0.113.9, 198.51.100.1")];
    println!("hops {:?}", hops.statuses(4, "10.0.0.1", &forwarded).await);
    println!("hops {:?}", hops.statuses(1, "10.0.0.1", &[]).await);
    let mut marked = request("GET", "10.0.0.1", &[]);
    let forwarded = HeaderValue::from_bytes(b"\xFF, 198.51.100.2").unwrap();
    marked.headers_mut().insert("x-forwarded-for", forwarded);
    println!("hops {}", hops.0.clone().oneshot(marked).await.unwrap().status().as_u16());

    let keyed = App::new(limiter, few, |layer| {
        let user = |request: &Request<Body>| {
            let user = request.headers().get("x-user");
            user.map_or(String::new(), |user| user.to_str().unwrap().to_string())
        };
        layer.key(user).cost(|_| 2).skip(|request| request.headers().contains_key("x-health"))
    });
    println!("keyed {:?}", keyed.statuses(2, "10.0.0.1", &[("x-user", "ann")]).await);
    println!("keyed {:?}", keyed.statuses(1, "10.0.0.1", &[]).await);
    println!("keyed {:?}", keyed.statuses(2, "10.0.0.1", &[("x-health", "1")]).await);

    let charged = App::new(limiter, few, |layer| {
        layer.charge_when(|response| response.status() == 401).denied(|_, decision| {
            let body = format!("slow down, {}", decision.limits[0].name);
            Response::builder().status(420).body(Body::from(body)).unwrap()
        })
    });
    println!("charged {:?}", charged.statuses(5, "192.0.2.9", &[]).await);
    println!("charged {:?}", charged.statuses(4, "192.0.2.9", &[("x-status", "401")]).await);
    println!("{}", shown(charged.ask("GET", "192.0.2.9", &[]).await).await);

    let closed = Limiter::fail_closed("redis://127.0.0.1:1").unwrap(); // nobody listens
    let away = App::new(&closed, few, |layer| layer);
    println!("{}", shown(away.ask("GET", "192.0.2.7", &[]).await).await);
}

async fn play_hyper(limiter: Limiter) {
    let service = tower::service_fn(async |_: hyper::Request<hyper::Body>| {
        Ok::<_, Infallible>(hyper::Response::new(hyper::Body::from("hello")))
    });
    let mut limited = RateLimit::new(OldWeb, limiter, ["1/3285d,fixed"]).layer(service);
    for _ in 0..2 {
        let mut request = hyper::Request::new(hyper::Body::empty());
        request.extensions_mut().insert::<IpAddr>([192, 0, 2, 10].into());
        let response = limited.ready().await.unwrap().call(request).await.unwrap();
        println!("hyper {}", response.status().as_u16());
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let limiter = Limiter::new(&std::env::args().nth(1).unwrap()).unwrap();
    play_axum(&limiter).await;
    play_hyper(limiter).await;
}
