//! Access checks for requests, and the headers of every response.

use axum::body::Body;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::{Answer, Site, Token};

/// Returns an error response with one line of text.
pub(super) fn refuse(status: StatusCode, why: &str) -> Answer {
    let mut answer = Response::new(Body::from(format!("{why}\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// Why a request is refused.
pub(super) type Refusal = (StatusCode, &'static str);

/// Returns the response for a refused request.
pub(super) fn answer((status, why): Refusal) -> Answer {
    let mut answer = refuse(status, why);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    answer
}

/// Headers of every response. Other pages may not embed it, its type is not guessed, it is not cached, and the page may
/// load only from this server.
const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the headers of every response.
pub(super) fn finish(mut answer: Answer) -> Answer {
    for (name, value) in SECURITY_HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Returns a refusal for requests that our own page would not send.
pub(super) fn check<B>(site: &Site, request: &Request<B>) -> Result<(), Refusal> {
    let headers = request.headers();
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered"));
    }
    let length = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    if length || headers.contains_key(header::TRANSFER_ENCODING) {
        return Err((StatusCode::BAD_REQUEST, "requests have no body here"));
    }
    let named = one(headers, &header::HOST)?;
    let named = request.uri().authority().map(|name| name.as_str()).or(named);
    match named {
        None if request.version() != hyper::Version::HTTP_10 => {
            return Err((StatusCode::BAD_REQUEST, "the header Host is missing"));
        }
        Some(name) if !site.open && !is_local(name) => {
            return Err((StatusCode::MISDIRECTED_REQUEST, "this server is http://localhost, by no other name"));
        }
        _ => (),
    }
    if let (Some(origin), Some(name)) = (one(headers, &header::ORIGIN)?, named)
        && origin.strip_prefix("http://") != Some(name)
    {
        return Err((StatusCode::FORBIDDEN, "requests from other pages are refused"));
    }
    let from_elsewhere = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    // A link elsewhere may lead to the page itself. Scripts of other pages get nothing.
    if from_elsewhere && request.uri().path() != "/" {
        return Err((StatusCode::FORBIDDEN, "requests from other pages are refused"));
    }
    match &site.token {
        Some(token) if !has_token(request, token) => {
            Err((StatusCode::UNAUTHORIZED, "a token is needed: open the address that the server printed"))
        }
        _ => Ok(()),
    }
}

/// Returns a header as text. It may appear at most once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) if value.to_str().is_ok() => Ok(value.to_str().ok()),
        _ => Err((StatusCode::BAD_REQUEST, "a header is repeated or is not text")),
    }
}

fn is_local(name: &str) -> bool {
    let (host, port) = match name.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => (host, Some(port)),
        _ => (name, None),
    };
    port.is_none_or(|port| port.parse::<u16>().is_ok())
        && (host.eq_ignore_ascii_case("localhost") || host == "127.0.0.1" || host == "[::1]")
}

/// Returns true if the request has the token: as `?token=` (in the printed address), as a cookie (which the page
/// receives for it), or as a bearer token.
fn has_token<B>(request: &Request<B>, token: &Token) -> bool {
    let headers = request.headers();
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let query = token_of(request.uri().query());
    let mut cookies =
        text(&header::COOKIE).into_iter().flat_map(|all| all.split("; ")).filter_map(|c| c.split_once('='));
    let cookie = cookies.find(|(name, _)| *name == token.cookie).map(|(_, value)| value);
    let bearer = text(&header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    [query, cookie, bearer].into_iter().flatten().any(|given| same(given.as_bytes(), token.text.as_bytes()))
}

/// Returns the token in a query.
pub(super) fn token_of(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Compares in constant time, so that the time does not reveal where the texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {

    use super::*;

    fn status(site: &Site, build: impl FnOnce(hyper::http::request::Builder) -> hyper::http::request::Builder) -> u16 {
        let request = build(Request::get("/api/sample")).body(()).unwrap();
        check(site, &request).err().map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn only_this_machine_by_its_own_name_is_answered() {
        let site = Site::new(None, ([127, 0, 0, 1], 80).into(), None, Box::new(|| unreachable!()));
        for host in ["localhost", "localhost:8000", "127.0.0.1:80", "[::1]:9", "[::1]"] {
            assert_eq!(status(&site, |r| r.header("host", host)), 200, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "localhost:99999", "127.0.0.1:x", "::1", ""] {
            assert_eq!(status(&site, |r| r.header("host", host)), 421, "{host}");
        }
        assert_eq!(status(&site, |r| r), 400);
        assert_eq!(status(&site, |r| r.header("host", "localhost").header("host", "localhost")), 400);
        assert_eq!(status(&site, |r| r.header("host", "localhost").header("origin", "http://evil.example")), 403);
        assert_eq!(status(&site, |r| r.header("host", "localhost:1").header("origin", "http://localhost:1")), 200);
        assert_eq!(status(&site, |r| r.header("host", "localhost").header("sec-fetch-site", "cross-site")), 403);
        assert_eq!(status(&site, |r| r.header("host", "localhost").header("content-length", "5")), 400);
        assert_eq!(status(&site, |r| r.header("host", "localhost").method("DELETE")), 405);
    }

    #[test]
    fn other_machines_need_the_token() {
        let site = Site::new(Some("abc".into()), ([0, 0, 0, 0], 81).into(), None, Box::new(|| unreachable!()));
        let asked = |name: &str, value: &str| status(&site, |r| r.header("host", "box").header(name, value));
        assert_eq!(asked("authorization", "Bearer abc"), 200);
        assert_eq!(asked("cookie", "a=b; cuprous-81=abc"), 200);
        assert_eq!(asked("cookie", "cuprous-80=other; cuprous-81=abc"), 200);
        assert_eq!(asked("cookie", "cuprous-81=abcd"), 401);
        assert_eq!(asked("cookie", "cuprous-80=abc"), 401);
        assert_eq!(asked("authorization", "Bearer ab"), 401);
        assert_eq!(status(&site, |r| r.uri("/?token=abc").header("host", "box")), 200);
        assert_eq!(status(&site, |r| r.uri("/?token=").header("host", "box")), 401);
    }
}
