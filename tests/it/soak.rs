//! Soak test: many games with random faults, of which none may be lost except on the board.
//!
//! Faults, opponents and the variant of the arena depend on a seed. Simulator and bot run ten times faster than wall time.
//! The short form runs with the other tests, the long one on request:
//!
//! ```text
//! KNIGHTWATCH_SOAK_GAMES=1000 KNIGHTWATCH_SOAK_SEED=7 cargo test --release --test it -- --ignored soak::
//! ```
//!
//! Each long run adds its numbers to `target/soak/total.json`. The log lines of a game that was lost wrongly are stored in the
//! same folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use knightwatch::sim::{
    ArenaOptions, Behavior, ChallengePlan, ChatStyle, Disconnect, Endpoint, Fault, FaultRule,
    GameSummary, Latency, NewUser, PlayerKind, PlayerOptions, SimOptions, StreamFault, TimeControl,
};
use serde::{Deserialize, Serialize};

use crate::common::{BOT, Daemon, Site, time_scale_from_now};

/// Speed relative to wall time; lower in the short form, because the other tests load the machine.
const SPEED: f64 = 10.0;
const SHORT_SPEED: f64 = 4.0;

/// Users of each kind in the long form.
const USERS_PER_KIND: usize = 3;

/// Variants that the users play in turn.
const VARIANTS: [&str; 9] = [
    "standard",
    "chess960",
    "crazyhouse",
    "antichess",
    "atomic",
    "horde",
    "kingOfTheHill",
    "racingKings",
    "threeCheck",
];

/// Time limit of each part of a run, in wall time.
const PART_TIMEOUT: Duration = Duration::from_secs(900);

/// Limit on resident memory with 16 MiB of hash.
const MAX_MEMORY_MIB: u64 = 128;

/// Totals of all runs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Total {
    games: usize,
    /// Games by status and winner.
    endings: BTreeMap<String, usize>,
    /// Games by variant; absent in files of earlier versions.
    #[serde(default)]
    variants: BTreeMap<String, usize>,
    /// Kills of the bot, and restarts of the site with everything forgotten.
    kills: usize,
    resets: usize,
    /// Failures.
    faults: Vec<String>,
    /// The largest resident memory of the bot, in MiB.
    memory_mib: u64,
}

/// The random faults.
fn random_faults(seed: u64) -> Vec<FaultRule> {
    let ms = Duration::from_millis;
    let limited = || {
        Fault::json(
            429,
            r#"{"error":"Too many requests. Try again later.","ratelimit":{"key":"run","seconds":1}}"#,
        )
    };
    let stream = |after, how| Fault::Stream {
        after_lines: after,
        fault: how,
    };
    let mut faults: Vec<(Option<Endpoint>, f64, Fault)> = Vec::new();
    for (share, fault) in [
        (0.01, limited()),
        (0.01, Fault::html(502)),
        (0.005, Fault::html(503)),
        (0.01, Fault::Reset),
        (0.01, Fault::ResponseLost),
        (0.003, Fault::AppliedLate(ms(1_200))),
        (0.003, Fault::Stall(ms(900))),
        (0.005, Fault::ResponseLate(ms(800))),
        (0.005, Fault::Drip(ms(20))),
    ] {
        faults.push((Some(Endpoint::Move), share, fault));
    }
    for (after, how) in [
        (1, StreamFault::Eof),
        (7, StreamFault::Eof),
        (4, StreamFault::Reset),
        (6, StreamFault::Silence),
        (5, StreamFault::Garbage),
        (8, StreamFault::Truncated),
        (3, StreamFault::Oversized(2 << 20)),
        (3, StreamFault::DuplicateFinal),
        (9, StreamFault::Drip(ms(5))),
    ] {
        faults.push((Some(Endpoint::GameStream), 0.04, stream(after, how)));
        // Three clean ends in the first two minutes of a process mean another one with the same token, and the
        // processes here are young. Deploys end this stream cleanly, too.
        if !matches!(how, StreamFault::Eof | StreamFault::Truncated) {
            faults.push((Some(Endpoint::EventStream), 0.08, stream(4 * after, how)));
        }
    }
    for endpoint in [Endpoint::GameStream, Endpoint::EventStream] {
        faults.push((Some(endpoint), 0.04, Fault::html(502)));
        faults.push((Some(endpoint), 0.02, Fault::Reset));
        faults.push((Some(endpoint), 0.02, Fault::Stall(ms(2_000))));
    }
    for endpoint in [
        Endpoint::Chat,
        Endpoint::ChallengeAccept,
        Endpoint::ChallengeDecline,
        Endpoint::Playing,
        Endpoint::ChallengeList,
        Endpoint::Draw,
        Endpoint::Takeback,
        Endpoint::ClaimVictory,
        Endpoint::Abort,
    ] {
        faults.push((Some(endpoint), 0.03, limited()));
        faults.push((Some(endpoint), 0.03, Fault::html(502)));
        faults.push((Some(endpoint), 0.02, Fault::ResponseLost));
    }
    let mut rules: Vec<FaultRule> = faults
        .into_iter()
        .map(|(endpoint, probability, fault)| FaultRule {
            endpoint,
            probability: Some(probability),
            times: usize::MAX,
            ..FaultRule::new(fault).from_user(BOT)
        })
        .collect();
    rules.push(FaultRule {
        times: usize::MAX,
        ..FaultRule::new(Fault::Latency(Latency {
            min: ms(20),
            jitter: ms(80),
        }))
        .from_user(BOT)
    });
    // A restart of the site every few minutes.
    rules.push(FaultRule {
        every: Some(Duration::from_secs(150 + seed % 60)),
        times: usize::MAX,
        ..FaultRule::new(Fault::Restart {
            downtime: Duration::from_secs(6),
            streams: if seed.is_multiple_of(2) {
                StreamFault::Eof
            } else {
                StreamFault::Reset
            },
        })
    });
    rules
}

/// The opponents, `per_kind` of each kind, which challenge the bot to `games` games in all.
fn opponents(games: usize, per_kind: usize, rng: &mut fastrand::Rng) -> Vec<PlayerOptions> {
    let ms = Duration::from_millis;
    let behaviors: [(&str, Behavior); 10] = [
        ("Plainly", Behavior::default()),
        (
            "Beggar",
            Behavior {
                offers_draws: true,
                ..Behavior::default()
            },
        ),
        (
            "Backwards",
            Behavior {
                requests_takebacks: true,
                ..Behavior::default()
            },
        ),
        (
            "Chatter",
            Behavior {
                chats: vec![
                    ChatStyle::Plain,
                    ChatStyle::Long,
                    ChatStyle::Control,
                    ChatStyle::Links,
                ],
                ..Behavior::default()
            },
        ),
        (
            "Quitter",
            Behavior {
                disconnects: Some(Disconnect {
                    at_ply: 9,
                    reconnect_after: None,
                }),
                ..Behavior::default()
            },
        ),
        (
            "Wanderer",
            Behavior {
                disconnects: Some(Disconnect {
                    at_ply: 8,
                    reconnect_after: Some(Duration::from_secs(12)),
                }),
                ..Behavior::default()
            },
        ),
        (
            "Staller",
            Behavior {
                stalls_when_lost: Some(6),
                ..Behavior::default()
            },
        ),
        (
            "Quickly",
            Behavior {
                resigns_when_lost: Some(5),
                offers_rematches: true,
                ..Behavior::default()
            },
        ),
        (
            "Shy",
            Behavior {
                aborts: true,
                ..Behavior::default()
            },
        ),
        (
            "Peaceful",
            Behavior {
                accepts_draws: true,
                accepts_takebacks: true,
                ..Behavior::default()
            },
        ),
    ];
    let count = behaviors.len() * per_kind;
    behaviors
        .into_iter()
        .cycle()
        .take(count)
        .enumerate()
        .map(|(index, (name, behavior))| {
            let clock = TimeControl::clock;
            let mut time_controls = vec![
                clock(60, 0),
                clock(45, 1),
                clock(90, 0),
                clock(60, 1),
                clock(120, 1),
                TimeControl::Days(1),
            ];
            // These make long games of short ones.
            if behavior.disconnects.is_some() || behavior.stalls_when_lost.is_some() {
                time_controls = vec![clock(60, 0), clock(45, 1)];
            }
            rng.shuffle(&mut time_controls);
            let plan = ChallengePlan {
                time_controls,
                variants: vec![VARIANTS[index % VARIANTS.len()].to_owned()],
                rated: index % 2 == 0,
                count: Some(games / count + usize::from(index < games % count)),
                ..ChallengePlan::against(BOT, clock(60, 0))
            };
            PlayerOptions {
                joins_arenas: index < 4,
                bot: index % 2 == 0 && !behavior.requests_takebacks && !behavior.offers_rematches,
                delay: ms(50)..=ms(900),
                behavior,
                ..PlayerOptions::new(
                    format!("{name}{}", index + 1),
                    if index % 2 == 0 {
                        PlayerKind::Random
                    } else {
                        PlayerKind::Greedy
                    },
                )
                .challenging(plan)
            }
        })
        .collect()
}

/// The failure in a game, if there is one.
fn failure_of(game: &GameSummary) -> Option<String> {
    let bot_is_white = game.white == BOT;
    let lost = game.result == if bot_is_white { "0-1" } else { "1-0" };
    let our_turn = game.plies.is_multiple_of(2) == bot_is_white;
    let why = match game.status {
        "outoftime" | "resign" | "timeout" | "noStart" if lost => "lost by our own fault",
        "aborted" if our_turn && game.plies < 2 => "aborted because we did not move",
        // Correspondence games are not finished on shutdown.
        "started" | "created" if matches!(game.time_control, TimeControl::Clock { .. }) => {
            "left unplayed"
        }
        _ => return None,
    };
    Some(format!("{why}: {game}"))
}

/// A soak run on its own site; the process of the bot outlives it.
struct SoakRun {
    seed: u64,
    speed: f64,
    /// Users of each kind.
    per_kind: usize,
    total: Total,
}

impl SoakRun {
    /// Plays `games` games and checks that none is lost. The bot is killed from time to time.
    fn play(&mut self, games: usize, folder: &Path) {
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let site = Site::with(SimOptions {
            users: vec![NewUser::bot(BOT)],
            speed: self.speed,
            seed: self.seed,
            kept_games: games * 2 + 100,
            faults: random_faults(self.seed),
            ..SimOptions::default()
        });
        let arena = site.sim.add_arena(&ArenaOptions {
            id: Some("soakrun1".to_owned()),
            name: "SoakRun".to_owned(),
            clock: TimeControl::clock(60, 0),
            variant: VARIANTS[(self.seed % VARIANTS.len() as u64) as usize].to_owned(),
            minutes: 20,
            starts_in: Duration::from_secs(20),
            bots: true,
            ..ArenaOptions::default()
        });
        arena.expect("an arena can be held");
        let mut bot = Daemon::start_with(
            &site,
            &format!(
                "games = {{ concurrency = {} }}\n\
                 resign = {{ enabled = false }}\n\
                 tournaments = {{ join = [\"soakrun1\"] }}\n\
                 challenge = {{ speeds = [\"bullet\", \"blitz\", \"rapid\", \"classical\", \"correspondence\"] }}\n",
                8 * self.per_kind
            ),
            &["--time-scale", &time_scale_from_now(self.speed)],
        );
        for player in opponents(games, self.per_kind, &mut rng) {
            site.sim.add_player(player);
        }
        let began = Instant::now();
        let pause = |rng: &mut fastrand::Rng| Duration::from_millis(rng.u64(4_000..15_000));
        let mut starts = 0;
        let mut next_kill = Some(began + pause(&mut rng));
        loop {
            let over = site.sim.finished_count();
            let finished = *over.borrow();
            if finished >= games {
                break;
            }
            assert!(
                began.elapsed() < PART_TIMEOUT,
                "{finished} of {games} games after {:.0?}",
                began.elapsed()
            );
            assert!(
                bot.is_running(),
                "the bot stopped unexpectedly: {}",
                bot.log()
            );
            match next_kill {
                Some(time) if Instant::now() >= time => {
                    starts = bot.log().matches("online as").count();
                    bot.crash_and_restart();
                    self.total.kills += 1;
                    next_kill = None;
                }
                // Only when it is back, which takes long on a busy machine.
                None if bot.log().matches("online as").count() > starts => {
                    next_kill = Some(Instant::now() + pause(&mut rng));
                }
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let memory = bot.memory_mib();
        assert!(memory > 0 && memory < MAX_MEMORY_MIB, "{memory} MiB");
        self.total.memory_mib = self.total.memory_mib.max(memory);
        // Without further faults, running games are finished.
        site.sim.faults().clear();
        bot.signal("TERM");
        let ended = bot.ended();
        assert!(ended.success(), "{ended:?}: {}", bot.log());
        assert!(!bot.log().contains("panicked"), "{}", bot.log());
        for game in site.sim.games() {
            if game.white != BOT && game.black != BOT {
                continue;
            }
            self.total.games += 1;
            let winner = match (game.result, game.white == BOT) {
                ("1-0", true) | ("0-1", false) => "won",
                ("1-0" | "0-1", _) => "lost",
                ("*", _) => "off",
                _ => "drawn",
            };
            let ending = format!("{winner} {}", game.status);
            *self.total.endings.entry(ending).or_default() += 1;
            let variant = game.variant.to_owned();
            *self.total.variants.entry(variant).or_default() += 1;
            if let Some(fault) = failure_of(&game) {
                let log = bot.log();
                let about: Vec<&str> = log
                    .lines()
                    .filter(|line| line.contains(&game.id) || !line.contains("game="))
                    .collect();
                let path = folder.join(format!("{}-{}.log", self.seed, game.id));
                fs::write(path, format!("{game}\n{}\n", about.join("\n"))).unwrap();
                self.total
                    .faults
                    .push(format!("seed {}: {fault}", self.seed));
            }
        }
    }
}

/// Directory of logs and totals.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/soak");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn soak_run(seed: u64, speed: f64, per_kind: usize) -> SoakRun {
    SoakRun {
        seed,
        speed,
        per_kind,
        total: Total::default(),
    }
}

#[test]
fn soak_short_loses_no_game() {
    let mut run = soak_run(2026, SHORT_SPEED, 1);
    run.play(16, &folder());
    assert_eq!(run.total.faults, [""; 0], "{:?}", run.total);
    assert!(run.total.games >= 16, "{:?}", run.total);
}

#[test]
#[ignore = "long; see the module documentation"]
fn soak_long_loses_no_game() {
    let number = |name: &str, default| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let games = number("KNIGHTWATCH_SOAK_GAMES", 500) as usize;
    let mut seed = number("KNIGHTWATCH_SOAK_SEED", fastrand::u64(..1 << 32));
    let folder = folder();
    let path = folder.join("total.json");
    let (mut played, mut faults) = (0, Vec::new());
    while played < games {
        // A new site for each part, as if the old one had lost all data.
        let part = 250.min(games - played);
        let mut run = soak_run(seed, SPEED, USERS_PER_KIND);
        run.play(part, &folder);
        let mut total: Total = fs::read_to_string(&path)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        total.games += run.total.games;
        for (all, of_run) in [
            (&mut total.endings, &run.total.endings),
            (&mut total.variants, &run.total.variants),
        ] {
            for (name, count) in of_run {
                *all.entry(name.clone()).or_default() += count;
            }
        }
        total.kills += run.total.kills;
        total.resets += 1;
        total.faults.extend(run.total.faults.iter().cloned());
        total.memory_mib = total.memory_mib.max(run.total.memory_mib);
        fs::write(&path, serde_json::to_string_pretty(&total).unwrap()).unwrap();
        println!("seed {seed}: {} games, in all {total:?}", run.total.games);
        played += part;
        seed += 1;
        faults.append(&mut run.total.faults);
    }
    assert_eq!(faults, [""; 0]);
}
