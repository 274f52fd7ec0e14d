//! HTTP on loopback: requests in, whole answers or streams of events out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Sleep;

use crate::answer::pieces;
use crate::dialect::{Dialect, Wanted};
use crate::kept::KeptRequest;
use crate::stage::{Cue, Stage};

/// The largest body that is read.
const MOST_BODY: usize = 64 << 20;

/// Headers whose values log in.
const SECRET: [&str; 5] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
];

/// Answers whoever connects, until it is dropped.
pub(super) async fn serve(listener: TcpListener, stage: Arc<Stage>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection could be taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let stage = Arc::clone(&stage);
        connections.spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&stage), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

async fn answer(
    stage: Arc<Stage>,
    request: Request<Incoming>,
) -> Result<Response<Events>, Infallible> {
    let mut kept = stage.arrived();
    kept.method = request.method().to_string();
    request.uri().path().clone_into(&mut kept.path);
    kept.headers = request
        .headers()
        .iter()
        .map(|(name, value)| {
            let shown = if SECRET.contains(&name.as_str()) {
                "***".into()
            } else {
                String::from_utf8_lossy(value.as_bytes())
            };
            (name.to_string(), shown.into_owned())
        })
        .collect();
    let bytes = whole_body(request.into_body()).await.unwrap_or_default();
    kept.body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    let wanted = Wanted::read(&kept.method, &kept.path);
    let response = match wanted {
        Wanted::Answer(dialect, from_path) => played(&stage, (dialect, from_path), &mut kept).await,
        Wanted::Count(dialect) => plain(200, &dialect.count()),
        Wanted::Models => plain(200, &models()),
        Wanted::Greeting => plain(200, &json!({})),
        Wanted::Nothing => plain(
            404,
            &json!({"error": {"type": "not_found_error", "message": "the script server has no such path"}}),
        ),
    };
    kept.status = response.status().as_u16();
    stage.kept.add(kept, bytes.len() + 1000);
    Ok(response)
}

/// The answer that the script gives.
async fn played(
    stage: &Stage,
    wanted: (Dialect, Option<(String, bool)>),
    kept: &mut KeptRequest,
) -> Response<Events> {
    let (dialect, from_path) = wanted;
    let mut asked = dialect.read(&kept.body);
    if let Some((model, stream)) = from_path {
        (asked.model, asked.stream) = (model, stream);
    }
    let Cue {
        play,
        index,
        turn,
        answer,
        besides,
    } = stage.cue(&asked);
    kept.dialect = dialect.name();
    kept.play = play.map(|play| play.name.clone());
    kept.turn = index;
    kept.besides = besides;
    if let Some(wait) = turn.map(|turn| turn.wait_ms).filter(|wait| *wait > 0) {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    if let Some(fault) = turn.and_then(|turn| turn.fault.as_ref()) {
        let mut response = plain(fault.status, &dialect.error(fault));
        for (name, value) in &fault.headers {
            let name = hyper::header::HeaderName::try_from(name);
            if let (Ok(name), Ok(value)) = (name, hyper::header::HeaderValue::from_str(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        return response;
    }
    let cut = turn.is_some_and(|turn| turn.cut);
    kept.usage = (!cut).then_some(answer.usage);
    if !asked.stream && !cut {
        return plain(200, &dialect.whole(&answer, &asked.model));
    }
    let mut events = dialect.stream(&answer, &asked.model);
    if cut {
        cut_short(&mut events, &answer.say);
    }
    let pace = Duration::from_millis(turn.map_or(0, |turn| turn.pace_ms));
    let body = Events::new(events, cut, pace);
    response(200, "text/event-stream", body)
}

/// Takes away the last words and whatever follows; where there are no words, half of the answer.
fn cut_short(events: &mut Vec<String>, words: &str) {
    let last = pieces(words).pop();
    let last = last.map(|last| Value::String(last).to_string());
    let place = last.and_then(|last| events.iter().position(|event| event.contains(&last)));
    events.truncate(place.unwrap_or(events.len() / 2).max(1));
}

fn models() -> Value {
    let names = ["claude-sonnet-4-5", "gpt-5.5", "gemini-2.5-pro", "scripted"];
    let models = names.map(|name| json!({"id": name, "object": "model", "type": "model", "display_name": name, "created": 1_700_000_000, "owned_by": "script"}));
    json!({"object": "list", "data": models, "has_more": false})
}

fn plain(status: u16, body: &Value) -> Response<Events> {
    let body = Events::new(vec![body.to_string()], false, Duration::ZERO);
    response(status, "application/json", body)
}

fn response(status: u16, kind: &'static str, body: Events) -> Response<Events> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = hyper::header::HeaderValue::from_static(kind);
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, kind);
    response
}

/// All bytes of a body; `None` if it breaks off or is too large.
async fn whole_body(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let Some(frame) = next else {
            return Some(bytes);
        };
        if let Ok(data) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > MOST_BODY {
            return None;
        }
    }
}

/// A body that is sent piece by piece, and may break off.
struct Events {
    left: VecDeque<Bytes>,
    cut: bool,
    pace: Duration,
    rest: Option<Pin<Box<Sleep>>>,
}

impl Events {
    fn new(events: Vec<String>, cut: bool, pace: Duration) -> Self {
        Self {
            left: events.into_iter().map(Bytes::from).collect(),
            cut,
            pace,
            rest: None,
        }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(rest) = &mut self.rest {
            match rest.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => self.rest = None,
            }
        }
        match self.left.pop_front() {
            Some(event) => {
                // A cut comes after a moment, so that what was sent before it is seen.
                let pace = if self.cut && self.left.is_empty() {
                    self.pace.max(Duration::from_millis(50))
                } else {
                    self.pace
                };
                if !pace.is_zero() {
                    self.rest = Some(Box::pin(tokio::time::sleep(pace)));
                }
                Poll::Ready(Some(Ok(Frame::data(event))))
            }
            None if self.cut => Poll::Ready(Some(Err(io::Error::other(
                "the script cuts the answer here",
            )))),
            None => Poll::Ready(None),
        }
    }
}
