//! Answers of a proxy in front of Lichess are not taken for Lichess's own, and limits of Lichess itself cost no game.

use std::time::{Duration, Instant};

use knightwatch::control::{self, Answer, Request};
use knightwatch::sim::{
    Endpoint, Fault, Kind, NewUser, Rule, SimOptions, Sparring, StreamFault, TimeControl,
};

use crate::common::{BOT, Daemon, SLOW, Site, visits_of, wait};

/// A game that is on is played on within this after a restart.
const SOON: Duration = Duration::from_secs(20);

/// A page of a proxy, with this status.
fn page(code: u16, headers: &[(&str, &str)], body: &str) -> Fault {
    let headers = headers.iter();
    Fault::Status {
        code,
        headers: headers
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        body: body.to_owned(),
    }
}

fn on(endpoint: Endpoint, fault: Fault) -> Rule {
    Rule::on(endpoint, fault).of_user(BOT)
}

/// Breaks the bot's event stream now.
fn cut_events(site: &Site) {
    let cut = Fault::Stream {
        after: 0,
        how: StreamFault::Reset,
    };
    let soon = site.sim.elapsed() + Duration::from_millis(1);
    site.sim
        .faults()
        .add(on(Endpoint::EventStream, cut).at(soon));
}

/// For how long the bot has been running.
fn up_seconds(bot: &Daemon) -> Option<u64> {
    match control::send_request(Some(&bot.socket()), &Request::Status) {
        Ok(Answer::Status(status)) => Some(status.uptime_s),
        _ => None,
    }
}

/// A game in which the bot has black, and this answer to a question of the bot's.
fn in_game_with_limit(limit: Fault) -> (Site, Daemon, String) {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "");
    let id = site.player("Anna").start(&SLOW);
    site.sim
        .faults()
        .add(on(Endpoint::ChallengeList, limit).times(1));
    cut_events(&site);
    wait("the question is refused", || {
        let log = bot.log();
        log.contains("cannot read the list of challenges: Lichess answered 429")
            .then_some(())
    });
    (site, bot, id)
}

#[test]
fn a_429_of_a_proxy_does_not_outlive_a_restart() {
    let limit = page(429, &[("Retry-After", "86400")], "<html></html>");
    let (site, mut bot, id) = in_game_with_limit(limit);
    // What pauses is looked at every second.
    let refused = up_seconds(&bot);
    wait("the pause would be kept by now", || {
        (up_seconds(&bot)? >= refused? + 3).then_some(())
    });
    bot.crash();
    site.player("Anna").play(&id, "e2e4");
    let start = Instant::now();
    bot.restart();
    site.plies(&id, 2);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    // A challenge of somebody else is not kept waiting either.
    let quota = std::fs::read_to_string(bot.state_file("quota.json").unwrap()).unwrap();
    assert!(!quota.contains("challenge answer"), "{quota}");
}

#[test]
fn after_a_restart_games_are_looked_for_once_whatever_pauses() {
    const LIMIT: &str = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":3600}}"#;
    let (site, mut bot, id) = in_game_with_limit(Fault::json(429, LIMIT));
    wait("the pause is kept", || {
        let quota = std::fs::read_to_string(bot.state_file("quota.json")?).ok()?;
        quota.contains("query").then_some(())
    });
    bot.crash();
    site.player("Anna").play(&id, "e2e4");
    // Only the list of games tells of the game.
    site.sim
        .faults()
        .add(on(Endpoint::EventStream, Fault::html(502)).times(usize::MAX));
    let asked = |endpoint| visits_of(&site, BOT, endpoint).len();
    let before = [Endpoint::Account, Endpoint::Playing].map(asked);
    let start = Instant::now();
    bot.restart();
    site.plies(&id, 2);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    wait("the list is wanted again", || {
        let log = bot.log();
        log.contains("cannot read the list of games: query requests pause")
            .then_some(())
    });
    let after = [Endpoint::Account, Endpoint::Playing].map(asked);
    assert_eq!(after, before.map(|asked| asked + 1));
}

#[test]
fn a_game_that_begins_while_lichess_limits_the_event_stream_is_played() {
    let site = Site::new([NewUser::bot("Patience")]);
    site.sim.spar(Sparring::new("Patience", Kind::Random));
    let bot = Daemon::start(&site, "");
    let polled = r#"{"error":"Please don't poll this endpoint, it is intended to be streamed."}"#;
    let faults = site.sim.faults();
    faults.add(on(Endpoint::EventStream, Fault::json(429, polled)).times(usize::MAX));
    cut_events(&site);
    wait("the event stream is refused", || {
        bot.log().contains("don't poll this endpoint").then_some(())
    });
    let begin = Fault::Pair {
        players: ["Patience".to_owned(), BOT.to_owned()],
        clock: TimeControl::clock(180, 0),
    };
    faults.add(Rule::of(begin).at(site.sim.elapsed() + Duration::from_millis(1)));
    let game = site.started(1).remove(0);
    let begun = site.sim.elapsed();
    site.plies(&game.id, 4);
    // Lichess ends a game of an arena that does not begin within some sixteen seconds.
    let took = site.sim.elapsed().saturating_sub(begun);
    assert!(took < Duration::from_secs(16), "{took:?}");
}

#[test]
fn a_401_of_a_proxy_ends_nothing() {
    let site = Site::new([NewUser::bot("Anna")]);
    for endpoint in [
        Endpoint::Account,
        Endpoint::EventStream,
        Endpoint::Playing,
        Endpoint::ChallengeAccept,
        Endpoint::GameStream,
        Endpoint::Move,
    ] {
        let rule = on(endpoint, Fault::html(401));
        site.sim.faults().add(rule.times(2));
    }
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    assert!(bot.runs());
    for endpoint in [Endpoint::EventStream, Endpoint::Account] {
        let rule = on(endpoint, Fault::html(401));
        site.sim.faults().add(rule.times(2));
    }
    cut_events(&site);
    wait("it is back", || {
        (bot.log().matches("online as").count() == 2).then_some(())
    });
}

#[test]
fn event_streams_that_say_nothing_are_no_other_instance() {
    let site = Site::new([NewUser::bot("Anna")]);
    let portal = "<html>\n\n<title>Welcome</title>\n\n</html>\n";
    let html = [("Content-Type", "text/html")];
    let faults = site.sim.faults();
    for (fault, nth, times) in [
        (page(200, &html, portal), 1, 2),
        (page(200, &[], ""), 3, 2),
        (page(204, &[], ""), 5, 1),
    ] {
        faults.add(on(Endpoint::EventStream, fault).nth(nth).times(times));
    }
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    wait("the stream is open", || {
        (visits_of(&site, BOT, Endpoint::EventStream).len() >= 6).then_some(())
    });
    assert!(bot.runs());
    assert!(!bot.log().contains("another instance"), "{}", bot.log());
}

#[test]
fn a_403_on_the_event_stream_ends_the_bot_only_when_it_stays() {
    const NO: &str = r#"{"error":"Missing scope: challenge:read || bot:play"}"#;
    const SPEED: f64 = 10.0;
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
        speed: SPEED,
        ..SimOptions::default()
    });
    let refused = |times| on(Endpoint::EventStream, Fault::json(403, NO)).times(times);
    site.sim.faults().add(refused(2));
    let scale = SPEED.to_string();
    let mut bot = Daemon::start_with(&site, "", &["--time-scale", &scale]);
    assert_eq!(visits_of(&site, BOT, Endpoint::EventStream).len(), 3);
    site.sim.faults().add(refused(usize::MAX));
    cut_events(&site);
    assert_eq!(bot.ended().code(), Some(77), "{}", bot.log());
    assert!(bot.log().contains("Missing scope"), "{}", bot.log());
}

#[test]
fn many_challenges_at_once_hold_up_neither_an_accept_nor_a_move() {
    const CROWD: usize = 60;
    let names: Vec<String> = (0..CROWD).map(|n| format!("User{n}")).collect();
    let users = names.iter().map(NewUser::human);
    let site = Site::new(users.chain([NewUser::bot("Anna")]));
    let slow = Fault::Stall(Duration::from_secs(2));
    site.sim
        .faults()
        .add(on(Endpoint::ChallengeDecline, slow).times(usize::MAX));
    let bot = Daemon::start(&site, "[challenge]\nvariants = [\"standard\"]\n");
    let before = bot.descriptors();
    for name in &names {
        let chess960 = [SLOW[0], SLOW[1], ("variant", "chess960")];
        site.player(name).challenge(&chess960);
    }
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    let sent = visits_of(&site, BOT, Endpoint::ChallengeDecline).len();
    assert!(sent < CROWD, "{sent} declines were sent before the accept");
    let more = bot.descriptors().saturating_sub(before);
    assert!(more < 20, "{more} more descriptors");
    // All of them are answered in the end.
    site.sim.faults().clear();
    for name in &names {
        let (_, list) = site.player(name).get("/api/challenge");
        let id = list["out"][0]["id"].as_str().map(str::to_owned);
        if let Some(id) = id {
            assert_eq!(site.player(name).answer(&id), "standard");
        }
    }
}
