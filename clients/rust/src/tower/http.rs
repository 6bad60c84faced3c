//! What the middleware needs to know of requests and responses.

use crate::decision::Decision;

/// What the middleware does with requests and responses; [`http!`](crate::http) makes one.
pub trait Http<Request, Response> {
    fn method<'a>(&self, request: &'a Request) -> &'a str;
    /// The values of a header.
    fn header<'a>(&self, request: &'a Request, name: &str) -> Vec<&'a str>;
    /// The address of the connection.
    fn peer(&self, request: &Request) -> Option<String>;
    /// Puts the Decision where the program finds it.
    fn keep(&self, request: &mut Request, decision: Decision);
    /// Adds a header.
    fn add(&self, response: &mut Response, name: &'static str, value: &str);
    /// A response with this type and body.
    fn respond(&self, status: u16, media_type: &'static str, body: String) -> Response;
}

/// The text behind the last byte that no address has. What a caller sends as X-Forwarded-For may be
/// anything, and a proxy adds its entry to the right of that.
#[doc(hidden)]
pub fn text_of(value: &[u8]) -> &str {
    let begin = value.iter().rposition(|byte| !byte.is_ascii()).map_or(0, |last| last + 1);
    std::str::from_utf8(&value[begin..]).unwrap_or_default()
}

/// Makes a struct of this name: the [`Http`](crate::tower::Http) of the program's crate `http` and
/// its body, which is made from a String. The last argument is a function from the extensions of a
/// request to the address of its connection, an `Option<std::net::IpAddr>`.
#[macro_export]
macro_rules! http {
    ($name:ident, $($http:ident)::+, $body:ty, $peer:expr) => {
        #[derive(Clone, Copy)]
        pub struct $name;

        impl<B> $crate::tower::Http<$($http)::+::Request<B>, $($http)::+::Response<$body>>
            for $name
        {
            fn method<'a>(&self, request: &'a $($http)::+::Request<B>) -> &'a str {
                request.method().as_str()
            }

            fn header<'a>(
                &self,
                request: &'a $($http)::+::Request<B>,
                name: &str,
            ) -> Vec<&'a str> {
                let values = request.headers().get_all(name).iter();
                values.map(|value| $crate::tower::text_of(value.as_bytes())).collect()
            }

            fn peer(&self, request: &$($http)::+::Request<B>) -> Option<String> {
                let peer: fn(&$($http)::+::Extensions) -> Option<::std::net::IpAddr> = $peer;
                peer(request.extensions()).map(|address| address.to_string())
            }

            fn keep(
                &self,
                request: &mut $($http)::+::Request<B>,
                decision: $crate::Decision,
            ) {
                request.extensions_mut().insert(decision);
            }

            fn add(
                &self,
                response: &mut $($http)::+::Response<$body>,
                name: &'static str,
                value: &str,
            ) {
                if let Ok(value) = $($http)::+::HeaderValue::from_str(value) {
                    let name = name.to_ascii_lowercase();
                    if let Ok(name) = $($http)::+::HeaderName::from_bytes(name.as_bytes()) {
                        response.headers_mut().append(name, value);
                    }
                }
            }

            fn respond(
                &self,
                status: u16,
                media_type: &'static str,
                body: String,
            ) -> $($http)::+::Response<$body> {
                let mut response = $($http)::+::Response::new(<$body>::from(body));
                if let Ok(status) = $($http)::+::StatusCode::from_u16(status) {
                    *response.status_mut() = status;
                }
                let media_type = $($http)::+::HeaderValue::from_static(media_type);
                response.headers_mut().insert("content-type", media_type);
                response
            }
        }
    };
}
