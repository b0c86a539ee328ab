//! Many concurrent and many consecutive games: the short form of `benches/load.rs`.

use std::time::Duration;

use futures::future::join_all;
use knightwatch::chess::{CastlingNotation, Game, Position};
use knightwatch::sim::{NewUser, PlayerOptions, SimOptions};

use super::site::{Lines, Site, text, until};

/// Concurrent games.
const GAMES: usize = 50;
/// Plies after which White resigns.
const PLIES: usize = 24;

/// Plays one side of one game, answering after 0.2 to 1 s of the site's time, and counts the states it receives.
async fn play(site: &Site, user: &str, id: &str, turn: usize, mut stream: Lines) {
    // The same games in every run: none ends before it is resigned.
    let number = user
        .split('-')
        .next_back()
        .and_then(|number| number.parse().ok());
    let mut rng = fastrand::Rng::with_seed(number.unwrap());
    let mut next = stream.line().await["state"].clone();
    let mut seen = None;
    loop {
        let moves = text(&next["moves"]);
        let ply = moves.split_whitespace().count();
        if next["status"] != "started" {
            assert_eq!((&next["status"], ply), (&"resign".into(), PLIES), "{id}");
            assert_eq!(stream.next().await, None, "{id}");
            return;
        }
        if let Some(seen) = seen {
            assert_eq!(ply, seen + 1, "{id}: one state for every ply");
        }
        seen = Some(ply);
        if ply % 2 == turn {
            tokio::time::sleep(Duration::from_millis(rng.u64(10..50))).await;
            if ply >= PLIES {
                site.ok(user, &format!("/api/bot/game/{id}/resign")).await;
            } else {
                let game = Game::from_moves(Position::startpos(), moves.split_whitespace());
                let mv = rng.choice(game.unwrap().position().legal_moves().iter().copied());
                let uci = mv.unwrap().uci(CastlingNotation::Standard).to_string();
                site.play(user, id, &uci).await;
            }
        }
        next = stream.full_state().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_fifty_concurrent_games_complete() {
    let names = |color: char| (0..GAMES).map(move |number| format!("{color}-{number}"));
    let site = Site::with(SimOptions {
        users: names('W').chain(names('B')).map(NewUser::bot).collect(),
        speed: 20.0,
        ..SimOptions::default()
    })
    .await;
    let site = &site;
    let games = names('W').zip(names('B')).map(|(white, black)| async move {
        let form = "clock.limit=10800&clock.increment=60";
        let id = site.game_between(&white, &black, form).await;
        let streams = [
            site.game_stream(&white, &id).await,
            site.game_stream(&black, &id).await,
        ];
        let [first, second] = streams;
        tokio::join!(
            play(site, &white, &id, 0, first),
            play(site, &black, &id, 1, second)
        );
    });
    join_all(games).await;
    let games = site.sim.games();
    assert_eq!(games.len(), GAMES);
    assert!(
        games
            .iter()
            .all(|game| game.status == "resign" && game.plies == PLIES)
    );
    until(async || site.sim.stats().streams == 0).await;
}

#[tokio::test]
async fn finished_objects_removed() {
    let site = Site::with(SimOptions {
        // Fast enough to finish soon, and slow enough that no player counts as gone on a starved machine.
        speed: 100.0,
        kept_games: 100,
        ..SimOptions::default()
    })
    .await;
    let accounts = site.sim.stats().accounts;
    let users = [
        "Fool,resigns=3,delay=1ms",
        "Wise,copies=10,kind=greedy,resigns=3,delay=1ms,challenges=Fool,clock=600+0,count=30",
    ];
    for user in users {
        site.sim.add_player(user.parse::<PlayerOptions>().unwrap());
    }
    let mut finished = site.sim.finished_count();
    let all = finished.wait_for(|count| *count == 300);
    tokio::time::timeout(Duration::from_secs(120), all)
        .await
        .unwrap()
        .unwrap();
    let left = site.sim.stats();
    assert_eq!((left.games, left.ongoing_games, left.streams), (100, 0, 0));
    assert_eq!(left.accounts, accounts + 11);
    assert!(left.challenges < 600, "{left:?}");
    site.sim.advance(Duration::from_secs(3 * 3_600));
    until(async || site.sim.stats().challenges == 0).await;
}
