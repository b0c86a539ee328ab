//! Quirks, each with both values.

use std::time::Duration;

use knightwatch::sim::{
    Absent, ChatLog, ClaimWin, Flags, Limiter, PlayingStatus, Quirks, SimOptions,
};
use serde_json::{Value, json};

use super::site::{Site, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

async fn site(quirks: Quirks) -> Site {
    Site::with(SimOptions {
        quirks,
        ..SimOptions::default()
    })
    .await
}

fn other() -> Quirks {
    Quirks {
        claim_win: ClaimWin::Forty,
        title: Absent::Omitted,
        nb_my_turn: false,
        chat_log: ChatLog::Ndjson,
        playing_status: PlayingStatus::String,
        draw_flags: Flags::Shown,
        ..Quirks::default()
    }
}

#[tokio::test]
async fn quirk_title_null_or_omitted() {
    for (quirks, shown) in [(Quirks::default(), Some(&Value::Null)), (other(), None)] {
        let site = site(quirks).await;
        let (_, challenge) = site.post("Whitey", "/api/challenge/Anna", BLITZ).await;
        assert_eq!(challenge["destUser"].get("title"), shown);
        assert_eq!(challenge["challenger"]["title"], "BOT");
        let id = challenge["id"].as_str().unwrap();
        site.ok("Anna", &format!("/api/challenge/{id}/accept"))
            .await;
        let full = site.full("Whitey", id).await;
        let anna = [&full["white"], &full["black"]]
            .into_iter()
            .find(|player| player["id"] == "anna");
        assert_eq!(anna.unwrap().get("title"), shown);
    }
}

#[tokio::test]
async fn quirk_flags_status_and_turns_shown_or_omitted() {
    let absent = Quirks {
        playing_status: PlayingStatus::Absent,
        ..Quirks::default()
    };
    let full = json!({"id": 20, "name": "started"});
    for (quirks, flag, status, turns) in [
        (Quirks::default(), None, Some(full), Some(json!(1))),
        (other(), Some(json!(false)), Some(json!("started")), None),
        (absent, None, None, Some(json!(1))),
    ] {
        let site = site(quirks).await;
        let id = site.game(BLITZ).await;
        let mut stream = site.game_stream("Whitey", &id).await;
        assert_eq!(stream.line().await["state"].get("wdraw"), flag.as_ref());
        site.moves(&id, "e2e4 e7e5").await;
        assert_eq!(stream.line().await.get("bdraw"), flag.as_ref());
        let (_, playing) = site.get("Whitey", "/api/account/playing").await;
        assert_eq!(playing["nowPlaying"][0].get("status"), status.as_ref());
        assert_eq!(playing.get("nbMyTurn"), turns.as_ref());
    }
}

#[tokio::test]
async fn quirk_added_time_pushed_or_not() {
    for (add_time_push, told) in [(true, 1), (false, 0)] {
        let site = site(Quirks {
            add_time_push,
            ..Quirks::default()
        })
        .await;
        let id = site.game(BLITZ).await;
        let mut stream = site.game_stream("Blacky", &id).await;
        stream.line().await;
        site.ok("Whitey", &format!("/api/round/{id}/add-time/15"))
            .await;
        site.play("Whitey", &id, "e2e4").await;
        for _ in 0..told {
            let state = stream.full_state().await;
            assert_eq!(
                (&state["moves"], &state["btime"]),
                (&"".into(), &195_000.into())
            );
        }
        let state = stream.full_state().await;
        assert_eq!(
            (&state["moves"], &state["btime"]),
            (&"e2e4".into(), &195_000.into())
        );
    }
}

#[tokio::test]
async fn quirk_chat_log_array_or_ndjson() {
    for (quirks, expected) in [
        (
            Quirks::default(),
            "[{\"text\":\"hi\",\"user\":\"Whitey\"},{\"text\":\"ho\",\"user\":\"Blacky\"}]",
        ),
        (
            other(),
            "{\"text\":\"hi\",\"user\":\"Whitey\"}\n{\"text\":\"ho\",\"user\":\"Blacky\"}\n",
        ),
    ] {
        let site = site(quirks).await;
        let id = site.game(BLITZ).await;
        let path = format!("/api/bot/game/{id}/chat");
        for (user, text) in [("Whitey", "hi"), ("Blacky", "ho")] {
            let form = format!("room=player&text={text}");
            assert_eq!(site.post(user, &path, &form).await.0, 200);
        }
        assert_eq!(site.text("Whitey", &path).await, expected);
    }
}

#[tokio::test]
async fn quirk_claim_win_after_30_or_40_seconds() {
    // Blitz: 30 times two, or 40.
    for (quirks, seconds) in [(Quirks::default(), 60), (other(), 40)] {
        let site = site(quirks).await;
        let id = site.game(BLITZ).await;
        site.moves(&id, "e2e4 e7e5 g1f3").await;
        let blacky = site.game_stream("Blacky", &id).await;
        let claim = format!("/api/bot/game/{id}/claim-victory");
        drop(blacky);
        until(async || site.sim.stats().streams == 0).await;
        site.sim.advance(Duration::from_secs(seconds - 5));
        let (early, _) = site.post("Whitey", &claim, "").await;
        site.sim.advance(Duration::from_secs(6));
        let (late, _) = site.post("Whitey", &claim, "").await;
        assert_eq!((early, late), (400, 200), "{seconds}");
    }
}

#[tokio::test]
async fn quirk_limiter_fixed_or_rolling() {
    for (limiter, again) in [(Limiter::Fixed, 200), (Limiter::Rolling, 429)] {
        let site = Site::with(SimOptions {
            limits: true,
            quirks: Quirks {
                limiter,
                ..Quirks::default()
            },
            ..SimOptions::default()
        })
        .await;
        for second in 0..30 {
            if second == 1 {
                site.sim.advance(Duration::from_secs(200));
            }
            assert_eq!(site.get("Whitey", "/api/account").await.0, 200);
        }
        site.sim.advance(Duration::from_secs(101));
        assert_eq!(site.get("Whitey", "/api/account").await.0, 200);
        assert_eq!(site.get("Whitey", "/api/account").await.0, again);
    }
}
