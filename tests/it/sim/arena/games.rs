//! A complete arena, from the first pairing to the results.

use std::collections::HashMap;
use std::time::Duration;

use knightwatch::sim::{ArenaOptions, PlayerKind, PlayerOptions, SimOptions};
use serde_json::Value;

use super::{BULLET, hold, ndjson};
use crate::sim::site::{Site, text};

/// Points as explained on Lichess's help page, counted from the results alone.
#[derive(Default)]
struct Count {
    points: Vec<u32>,
    won: Vec<bool>,
    drew_last: bool,
    opponents: Vec<String>,
    whites: i32,
}

impl Count {
    fn add(&mut self, won: bool, drawn: bool, plies: usize) {
        let fire = self.won.len() >= 2 && self.won.iter().rev().take(2).all(|won| *won);
        self.points.push(match (won, drawn) {
            (true, _) if fire => 4,
            (true, _) => 2,
            (_, true) if plies < 20 => 0,
            (_, true) if fire => 2,
            (_, true) if self.drew_last && plies < 60 => 0,
            (_, true) => 1,
            _ => 0,
        });
        self.won.push(won);
        if won || drawn {
            self.drew_last = drawn;
        }
    }
}

fn recount(games: &[Value]) -> HashMap<String, Count> {
    let mut counts: HashMap<String, Count> = HashMap::new();
    for game in games {
        let name = |color: &str| text(&game["players"][color]["user"]["name"]);
        let plies = text(&game["moves"]).split_whitespace().count();
        let winner = text(&game["winner"]);
        for (mine, other) in [("white", "black"), ("black", "white")] {
            let count = counts.entry(name(mine)).or_default();
            count.add(winner == mine, winner.is_empty(), plies);
            count.opponents.push(name(other));
            count.whites += if mine == "white" { 1 } else { -1 };
        }
    }
    counts
}

#[tokio::test]
async fn arena_sixteen_bots_play_to_end() {
    let site = Site::with(SimOptions {
        // Fifteen seconds, enough for one game each on a slow machine.
        speed: 20.0,
        ..SimOptions::default()
    })
    .await;
    let id = hold(
        &site.sim,
        &ArenaOptions {
            starts_in: Duration::from_secs(10),
            rated: true,
            password: Some("residents know it".to_owned()),
            ..ArenaOptions::for_bots("Sixteen", BULLET, 5)
        },
    );
    for (name, kind) in [
        ("Greedy", PlayerKind::Greedy),
        ("Random", PlayerKind::Random),
    ] {
        site.sim.add_player(PlayerOptions {
            copies: 8,
            delay: Duration::ZERO..=Duration::from_millis(100),
            joins_arenas: true,
            ..PlayerOptions::new(name, kind)
        });
    }
    let path = format!("/api/tournament/{id}");
    let over = async {
        loop {
            let (_, page) = site.get("", &path).await;
            if page["isFinished"] == true {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let page = tokio::time::timeout(Duration::from_secs(120), over)
        .await
        .expect("the arena ends");
    assert_eq!(page["nbPlayers"], 16);

    let request = site
        .request(reqwest::Method::GET, "", &format!("{path}/games"))
        .header("Accept", "application/x-ndjson");
    let games = request.send().await.unwrap().text().await.unwrap();
    let games: Vec<Value> = games
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(page["stats"]["games"], games.len());
    assert!(games.len() >= 16, "{}", games.len());
    for game in &games {
        assert_eq!(
            (&game["tournament"], &game["source"]),
            (&id.as_str().into(), &"arena".into())
        );
    }

    let counts = recount(&games);
    let results = ndjson(&site, &format!("{path}/results?sheet=true")).await;
    assert_eq!(results.len(), 16);
    let mut last = u64::MAX;
    for (rank, result) in results.iter().enumerate() {
        let count = &counts[&text(&result["username"])];
        let digits: String = count.points.iter().rev().map(u32::to_string).collect();
        let total: u32 = count.points.iter().sum();
        assert_eq!(
            (&result["sheet"]["scores"], &result["score"]),
            (&digits.into(), &total.into()),
            "{result}"
        );
        assert_eq!(
            (&result["rank"], &result["title"]),
            (&(rank + 1).into(), &"BOT".into())
        );
        let standing = u64::from(total) * 10_000 + result["performance"].as_u64().unwrap();
        assert!(standing <= last, "{result}");
        last = standing;
        // No opponent is repeated immediately, and colors alternate.
        let again = count.opponents.windows(2).any(|two| two[0] == two[1]);
        assert!(!again, "{:?}", count.opponents);
        assert!(count.whites.abs() <= 3, "{}", count.whites);
    }
    assert_eq!(page["podium"][0]["name"], results[0]["username"]);
    assert_eq!(page["podium"][0]["score"], results[0]["score"]);

    let best = text(&results[0]["username"]);
    let played = ndjson(&site, &format!("/api/user/{best}/tournament/played")).await;
    assert_eq!(played[0]["player"]["rank"], 1);
    assert_eq!(played[0]["tournament"]["winner"]["name"], best.as_str());
    assert_eq!(
        ndjson(&site, &format!("{path}/results?nb=3")).await.len(),
        3
    );
    let pgn = site.text("", &format!("{path}/games?player={best}")).await;
    assert_eq!(pgn.matches("[Event ").count(), counts[&best].points.len());
    let (_, second) = site.get("", &format!("{path}?page=2")).await;
    assert_eq!(second["standing"]["players"].as_array().unwrap().len(), 6);
    assert_eq!(second["standing"]["players"][0]["rank"], 11);
}
