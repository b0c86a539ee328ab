//! A running site, and a client that knows only HTTP and JSON.

use std::time::Duration;

use knightwatch::sim::{Endpoint, NewUser, Sim, SimOptions};
use reqwest::Method;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Timeout of anything that should happen at once.
const SOON: Duration = Duration::from_secs(10);

/// Two bots, two humans and a running site.
pub(super) struct Site {
    pub sim: Sim,
    pub base: String,
    http: reqwest::Client,
    _stop: oneshot::Sender<()>,
}

impl Site {
    pub(super) async fn start() -> Self {
        Self::with(SimOptions::default()).await
    }

    pub(super) async fn with(options: SimOptions) -> Self {
        let mut users = options.users.clone();
        users.extend([
            NewUser::bot("Whitey"),
            NewUser::bot("Blacky"),
            NewUser::human("Anna"),
            NewUser::human("Bobby"),
        ]);
        let sim = Sim::new(SimOptions { users, ..options });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let serving = sim.clone();
        tokio::spawn(async move {
            serving
                .serve(listener, async {
                    let _ = stopped.await;
                })
                .await
                .unwrap();
        });
        Self {
            sim,
            base,
            http: crate::common::http_client(),
            _stop: stop,
        }
    }

    pub(super) fn request(
        &self,
        method: Method,
        user: &str,
        path: &str,
    ) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match user {
            "" => request,
            _ => request.bearer_auth(self.sim.token_of(user)),
        }
    }

    pub(super) async fn get(&self, user: &str, path: &str) -> (u16, Value) {
        answer(self.request(Method::GET, user, path)).await
    }

    pub(super) async fn text(&self, user: &str, path: &str) -> String {
        let response = self.request(Method::GET, user, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.unwrap()
    }

    pub(super) async fn post(&self, user: &str, path: &str, form: &str) -> (u16, Value) {
        let request = self.request(Method::POST, user, path);
        let request = if form.is_empty() {
            request
        } else {
            request
                .header("Content-Type", "application/x-www-form-urlencoded")
                .body(form.to_owned())
        };
        answer(request).await
    }

    /// Posts, expecting success.
    pub(super) async fn ok(&self, user: &str, path: &str) {
        let (status, body) = self.post(user, path, "").await;
        assert_eq!(
            (status, body.to_string().as_str()),
            (200, r#"{"ok":true}"#),
            "{path}"
        );
    }

    /// Posts, expecting this status and error message.
    pub(super) async fn refused(
        &self,
        user: &str,
        path: &str,
        form: &str,
        status: u16,
        error: &str,
    ) {
        let (code, body) = self.post(user, path, form).await;
        assert_eq!(
            (code, &body["error"]),
            (status, &Value::from(error)),
            "{path}"
        );
    }

    pub(super) async fn stream(&self, user: &str, path: &str) -> Lines {
        Lines::open(self.request(Method::GET, user, path)).await
    }

    /// Sends a request and disconnects once it has arrived.
    pub(super) async fn send_and_disconnect(
        &self,
        request: reqwest::RequestBuilder,
        endpoint: Endpoint,
    ) {
        let calls = || self.sim.faults().request_count(endpoint);
        let before = calls();
        tokio::select! {
            answer = request.send() => panic!("it is answered: {answer:?}"),
            () = until(async || calls() > before) => {}
        }
    }

    /// Creates a challenge and returns its id.
    pub(super) async fn challenge(&self, from: &str, to: &str, form: &str) -> String {
        let (status, body) = self.post(from, &format!("/api/challenge/{to}"), form).await;
        assert_eq!(status, 200, "{form}: {body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// Starts a game between the two bots and returns its id.
    pub(super) async fn game(&self, form: &str) -> String {
        self.game_between("Whitey", "Blacky", form).await
    }

    pub(super) async fn game_between(&self, white: &str, black: &str, form: &str) -> String {
        let id = self
            .challenge(white, black, &format!("color=white&{form}"))
            .await;
        self.ok(black, &format!("/api/challenge/{id}/accept")).await;
        id
    }

    pub(super) async fn game_stream(&self, user: &str, id: &str) -> Lines {
        self.stream(user, &format!("/api/bot/game/stream/{id}"))
            .await
    }

    /// The first line of a game stream.
    pub(super) async fn full(&self, user: &str, id: &str) -> Value {
        let mut stream = self.game_stream(user, id).await;
        let full = stream.next().await.unwrap();
        assert_eq!(full["type"], "gameFull");
        full
    }

    pub(super) async fn play(&self, user: &str, id: &str, uci: &str) {
        self.ok(user, &format!("/api/bot/game/{id}/move/{uci}"))
            .await;
    }

    /// Waits until this many games have finished.
    pub(super) async fn finished(&self, games: usize) {
        let mut finished = self.sim.finished_count();
        let all = finished.wait_for(|count| *count == games);
        tokio::time::timeout(Duration::from_secs(60), all)
            .await
            .expect("the games end")
            .expect("the site is there");
    }

    /// Plays moves in turn, White first.
    pub(super) async fn moves(&self, id: &str, moves: &str) {
        for (ply, uci) in moves.split(' ').enumerate() {
            let user = ["Whitey", "Blacky"][ply % 2];
            self.play(user, id, uci).await;
        }
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = tokio::time::timeout(SOON, request.send())
        .await
        .unwrap()
        .unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// The lines of a stream.
pub(super) struct Lines {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Lines {
    pub(super) async fn open(request: reqwest::RequestBuilder) -> Self {
        let response = tokio::time::timeout(SOON, request.send())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/x-ndjson");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Self {
            response,
            buffer: Vec::new(),
        }
    }

    /// The next line without its newline, possibly empty; `None` at the end of the stream.
    pub(super) async fn raw(&mut self) -> Option<String> {
        self.try_raw().await.expect("the connection holds")
    }

    pub(super) async fn try_raw(&mut self) -> Result<Option<String>, reqwest::Error> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let line = String::from_utf8(line).unwrap();
                return Ok(Some(line.trim_end().to_owned()));
            }
            let chunk = tokio::time::timeout(SOON, self.response.chunk())
                .await
                .expect("something comes soon")?;
            match chunk {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// The next line that is not empty.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.raw().await?;
            if !line.is_empty() {
                return Some(serde_json::from_str(&line).unwrap());
            }
        }
    }

    /// The next line that is not empty; there must be one.
    pub(super) async fn line(&mut self) -> Value {
        self.next().await.expect("the stream goes on")
    }

    /// Expects only keep-alive lines within this time.
    pub(super) async fn quiet(&mut self, wait: Duration) {
        let next = tokio::time::timeout(wait, self.next()).await;
        assert!(next.is_err(), "unexpected: {next:?}");
    }

    /// The next state, skipping `opponentGone`.
    pub(super) async fn full_state(&mut self) -> Value {
        loop {
            let line = self.line().await;
            if line["type"] != "opponentGone" {
                assert_eq!(line["type"], "gameState", "{line}");
                return line;
            }
        }
    }

    /// The moves and the status of the next state.
    pub(super) async fn state(&mut self) -> (String, String) {
        let state = self.full_state().await;
        (text(&state["moves"]), text(&state["status"]))
    }
}

/// Waits until the condition holds.
pub(super) async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(SOON, waiting).await;
    waited.expect("it comes soon");
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The keys of an object in order of appearance.
pub(super) fn keys_in_order(line: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(line).unwrap();
    let mut keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    keys.sort_by_key(|key| line.find(&format!("\"{key}\":")));
    keys.into_iter().cloned().collect()
}
