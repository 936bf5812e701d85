//! The routes of the server.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, RawQuery, State};
use axum::routing::get;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use super::guard::{refuse, token_of};
use super::{Answer, Site, calculator};

/// The files of the page, embedded in the program.
const FILES: [(&str, &str, &str); 11] = [
    ("/style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    ("/main.js", SCRIPT, include_str!("assets/main.js")),
    ("/calculator.js", SCRIPT, include_str!("assets/calculator.js")),
    ("/charts.js", SCRIPT, include_str!("assets/charts.js")),
    ("/dom.js", SCRIPT, include_str!("assets/dom.js")),
    ("/flame.js", SCRIPT, include_str!("assets/flame.js")),
    ("/monitor.js", SCRIPT, include_str!("assets/monitor.js")),
    ("/profile.js", SCRIPT, include_str!("assets/profile.js")),
    ("/tables.js", SCRIPT, include_str!("assets/tables.js")),
    ("/timeline.js", SCRIPT, include_str!("assets/timeline.js")),
    ("/trace.js", SCRIPT, include_str!("assets/trace.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";
const INDEX: &str = include_str!("assets/index.html");
const JSON: &str = "application/json";

fn content(kind: &'static str, body: impl Into<Body>) -> Answer {
    let mut answer = Response::new(body.into());
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Answers a request without parameters; a token is allowed.
fn plain(query: RawQuery, answer: impl FnOnce() -> Answer) -> Answer {
    let query = query.0.unwrap_or_default();
    if query.is_empty() || token_of(Some(&query)).is_some_and(|token| query.len() == token.len() + 6) {
        answer()
    } else {
        refuse(StatusCode::BAD_REQUEST, "this address takes no parameters")
    }
}

type Shared = State<Arc<Site>>;
type QueryPairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

pub(super) fn router(site: Arc<Site>, only_metrics: bool) -> Router {
    let metrics = get(async |State(site): Shared, query: RawQuery| {
        plain(query, || content(crate::metrics::TYPE, site.latest().metrics))
    });
    let router = Router::new().route("/metrics", metrics);
    let router = if only_metrics { router } else { with_pages(router) };
    router.fallback(async || refuse(StatusCode::NOT_FOUND, "not found")).with_state(site)
}

fn with_pages(mut router: Router<Arc<Site>>) -> Router<Arc<Site>> {
    for (name, kind, text) in FILES {
        router = router.route(name, get(async move |query: RawQuery| plain(query, || content(kind, text))));
    }
    router
        .route("/", get(index))
        .route(
            "/api/hardware",
            // Refreshed each time, so that the page shows a new calibration.
            get(async |State(site): Shared, query: RawQuery| {
                plain(query, || content(JSON, calculator::hardware(&site.refresh_machine())))
            }),
        )
        .route(
            "/api/estimate",
            get(async |State(site): Shared, query: QueryPairs| match query {
                Err(_) => refuse(StatusCode::BAD_REQUEST, "the parameters are not understood"),
                Ok(Query(pairs)) => match calculator::answer(&pairs, || site.here()) {
                    Ok(answer) => content(JSON, answer),
                    Err(why) => refuse(StatusCode::UNPROCESSABLE_ENTITY, &why),
                },
            }),
        )
        .route(
            "/api/sample",
            get(async |State(site): Shared, query: RawQuery| plain(query, || content(JSON, site.latest().sample))),
        )
        .route(
            "/api/profile",
            get(async |State(site): Shared, query: RawQuery| {
                plain(query, || match &site.profile {
                    Some(profile) => content(JSON, Bytes::clone(profile)),
                    None => {
                        let mut none = Response::new(Body::empty());
                        *none.status_mut() = StatusCode::NO_CONTENT;
                        none
                    }
                })
            }),
        )
}

/// Serves the page. Its inputs are in the query, which scripts read. A token in the query becomes a cookie.
async fn index(State(site): Shared, RawQuery(query): RawQuery) -> Answer {
    if let (Some(token), Some(_)) = (&site.token, token_of(query.as_deref())) {
        let rest: Vec<&str> = query.as_deref().unwrap_or("").split('&').filter(|p| !p.starts_with("token=")).collect();
        let mut answer = refuse(StatusCode::SEE_OTHER, "the token is a cookie now");
        let target = if rest.is_empty() { "/".to_owned() } else { format!("/?{}", rest.join("&")) };
        // A query has only visible characters, which are valid in a header.
        if let Ok(target) = HeaderValue::from_str(&target) {
            answer.headers_mut().insert(header::LOCATION, target);
        }
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", token.cookie, token.text);
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        return answer;
    }
    content("text/html; charset=utf-8", INDEX)
}
