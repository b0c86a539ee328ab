//! Keys of the simulator's JSON, compared in order with the documented samples. The samples are the fixtures of the
//! client's types; no types of the bot are involved.

use std::collections::BTreeSet;
use std::fmt;

use knightwatch::sim::{NewUser, SimOptions};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::site::Site;

const EVENTS: &str = include_str!("../../../crates/lichess/tests/fixtures/event-stream.ndjson");
const FULL: &str = include_str!("../../../crates/lichess/tests/fixtures/game-full.ndjson");
const GAME: &str = include_str!("../../../crates/lichess/tests/fixtures/game-stream.ndjson");

/// The keys of an object in order, nested ones joined with dots.
struct Shape(Vec<String>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, Shape(inner))) = map.next_entry::<String, Shape>()? {
            keys.extend(inner.iter().map(|inner| format!("{key}.{inner}")));
            keys.push(key);
        }
        Ok(Shape(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape(Vec::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape(Vec::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape(Vec::new()))
    }
}

fn shape(line: &str) -> Vec<String> {
    serde_json::from_str::<Shape>(line).unwrap().0
}

/// The first sample that contains this text.
fn sample(samples: &str, mark: &str) -> Vec<String> {
    shape(samples.lines().find(|line| line.contains(mark)).unwrap())
}

#[tokio::test]
async fn stream_lines_match_sample_keys() {
    // As in the samples: a new bot with provisional ratings and an experienced human.
    let site = Site::with(SimOptions {
        users: vec![
            NewUser {
                games: 0,
                ..NewUser::bot("Kestrel")
            },
            NewUser {
                games: 50,
                ..NewUser::human("Greta")
            },
        ],
        ..SimOptions::default()
    })
    .await;
    let mut events = site.stream("Kestrel", "/api/stream/event").await;
    let _present = site.stream("Greta", "/api/stream/event").await;
    let form = "clock.limit=180&clock.increment=2&rated=true&color=white";
    let declined = site.challenge("Greta", "Kestrel", form).await;
    let line = events.raw().await.unwrap();
    assert_eq!(shape(&line), sample(EVENTS, "FRESH001"));
    site.ok("Kestrel", &format!("/api/challenge/{declined}/decline"))
        .await;
    let line = events.raw().await.unwrap();
    let (mut ours, mut theirs) = (shape(&line), sample(EVENTS, "challengeDeclined"));
    // In the sample the bot is the challenger.
    for keys in [&mut ours, &mut theirs] {
        keys.retain(|key| !key.contains("challenger.") && !key.contains("destUser."));
    }
    assert_eq!(ours, theirs);

    let id = site.game_between("Greta", "Kestrel", form).await;
    events.raw().await.unwrap();
    let line = events.raw().await.unwrap();
    assert_eq!(shape(&line), sample(EVENTS, "gameStart"));
    let mut game = site.game_stream("Kestrel", &id).await;
    let line = game.raw().await.unwrap();
    assert_eq!(shape(&line), sample(FULL, "STANDARD"));
    let chat = format!("/api/bot/game/{id}/chat");
    site.post("Kestrel", &chat, "room=player&text=hello").await;
    let line = game.raw().await.unwrap();
    assert_eq!(shape(&line), sample(GAME, "chatLine"));
    site.ok("Kestrel", &format!("/api/bot/game/{id}/abort"))
        .await;
    let line = game.raw().await.unwrap();
    assert_eq!(shape(&line), sample(GAME, r#""moves":"e2e4","#));
}

#[tokio::test]
async fn rated_game_finish_matches_sample_keys() {
    let site = Site::start().await;
    let id = site
        .game("clock.limit=180&clock.increment=2&rated=true")
        .await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    events.raw().await.unwrap();
    site.moves(&id, "f2f3 e7e5 g2g4 d8h4").await;
    let line = events.raw().await.unwrap();
    let ours: BTreeSet<String> = shape(&line).into_iter().collect();
    let theirs: BTreeSet<String> = sample(EVENTS, "gameFinish").into_iter().collect();
    assert_eq!(ours, theirs);
}
