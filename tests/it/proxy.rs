//! Responses of a proxy in front of Lichess are not mistaken for those of Lichess, and rate limits of Lichess cost no game.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use knightwatch::control::{self, Request, Response};
use knightwatch::sim::{
    Endpoint, Fault, FaultRule, NewUser, PlayerKind, PlayerOptions, SimOptions, StreamFault,
    TimeControl,
};

use crate::common::{BOT, Daemon, FAST_MOVES, SLOW, Site, requests_of, wait};

/// Time limit for a running game to continue after a restart.
const RESUME_TIMEOUT: Duration = Duration::from_secs(20);

/// A response of a proxy with this status.
fn proxy_response(code: u16, headers: &[(&str, &str)], body: &str) -> Fault {
    let headers = headers.iter();
    Fault::Status {
        code,
        headers: headers
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        body: body.to_owned(),
    }
}

fn bot_fault(endpoint: Endpoint, fault: Fault) -> FaultRule {
    FaultRule::on(endpoint, fault).from_user(BOT)
}

/// Breaks the bot's event stream.
fn break_event_stream(site: &Site) {
    let cut = Fault::Stream {
        after_lines: 0,
        fault: StreamFault::Reset,
    };
    let soon = site.sim.elapsed() + Duration::from_millis(1);
    site.sim
        .faults()
        .add(bot_fault(Endpoint::EventStream, cut).at(soon));
}

/// The bot's uptime in seconds.
fn up_seconds(bot: &Daemon) -> Option<u64> {
    match control::send_request(Some(&bot.socket()), &Request::Status) {
        Ok(Response::Status(status)) => Some(status.uptime_s),
        _ => None,
    }
}

/// A game in which the bot is Black, after one of its queries got this response.
fn in_game_with_limit(limit: Fault) -> (Site, Daemon, String) {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "");
    let id = site.player("Anna").start(&SLOW);
    site.sim
        .faults()
        .add(bot_fault(Endpoint::ChallengeList, limit).times(1));
    break_event_stream(&site);
    wait("the question is refused", || {
        let log = bot.log();
        log.contains("cannot read the list of challenges: Lichess answered 429")
            .then_some(())
    });
    (site, bot, id)
}

#[test]
fn proxy_rate_limit_ends_with_a_restart() {
    let limit = proxy_response(429, &[("Retry-After", "86400")], "<html></html>");
    let (site, mut bot, id) = in_game_with_limit(limit);
    // Pauses are checked every second.
    let refused = up_seconds(&bot);
    wait("the pause would be kept by now", || {
        (up_seconds(&bot)? >= refused? + 3).then_some(())
    });
    bot.crash();
    site.player("Anna").play(&id, "e2e4");
    let start = Instant::now();
    bot.restart();
    site.plies(&id, 2);
    assert!(start.elapsed() < RESUME_TIMEOUT, "{:?}", start.elapsed());
    // Challenges from others are not delayed either.
    let quota = std::fs::read_to_string(bot.state_file("quota.json").unwrap()).unwrap();
    assert!(!quota.contains("challenge answer"), "{quota}");
}

#[test]
fn restart_lists_games_once_despite_pauses() {
    const LIMIT: &str = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":3600}}"#;
    let (site, mut bot, id) = in_game_with_limit(Fault::json(429, LIMIT));
    wait("the pause is kept", || {
        let quota = std::fs::read_to_string(bot.state_file("quota.json")?).ok()?;
        quota.contains("query").then_some(())
    });
    bot.crash();
    site.player("Anna").play(&id, "e2e4");
    // Only the list of games reveals the game.
    site.sim
        .faults()
        .add(bot_fault(Endpoint::EventStream, Fault::html(502)).times(usize::MAX));
    let requests = |endpoint| requests_of(&site, BOT, endpoint).len();
    let before = [Endpoint::Account, Endpoint::Playing].map(requests);
    let start = Instant::now();
    bot.restart();
    site.plies(&id, 2);
    assert!(start.elapsed() < RESUME_TIMEOUT, "{:?}", start.elapsed());
    wait("the list is wanted again", || {
        let log = bot.log();
        log.contains("cannot read the list of games: query requests are paused")
            .then_some(())
    });
    let after = [Endpoint::Account, Endpoint::Playing].map(requests);
    assert_eq!(after, before.map(|count| count + 1));
}

/// Begins a game without a challenge, and waits for its first plies. Lichess ends an arena game that does not start within
/// about sixteen seconds.
fn time_of_first_plies(site: &Site, plies: usize) -> Duration {
    let begin = Fault::Pair {
        players: ["Patient".to_owned(), BOT.to_owned()],
        clock: TimeControl::clock(180, 0),
    };
    let at = site.sim.elapsed() + Duration::from_millis(1);
    site.sim.faults().add(FaultRule::new(begin).at(at));
    let game = site.started(1).remove(0);
    let begun = site.sim.elapsed();
    site.plies(&game.id, plies);
    site.sim.elapsed().saturating_sub(begun)
}

#[test]
fn rate_limited_event_stream_does_not_delay_games() {
    let site = Site::new([NewUser::bot("Patient")]);
    site.sim
        .add_player(PlayerOptions::new("Patient", PlayerKind::Random));
    let bot = Daemon::start(&site, FAST_MOVES);
    let polled = r#"{"error":"Please don't poll this endpoint, it is intended to be streamed."}"#;
    let faults = site.sim.faults();
    faults.add(bot_fault(Endpoint::EventStream, Fault::json(429, polled)).times(usize::MAX));
    break_event_stream(&site);
    wait("the event stream is refused", || {
        bot.log().contains("don't poll this endpoint").then_some(())
    });
    let took = time_of_first_plies(&site, 4);
    assert!(took < Duration::from_secs(16), "{took:?}");
}

#[test]
fn games_begin_soon_after_an_outage_of_stream_and_list() {
    const SPEED: f64 = 2.0;
    const FAILURES: usize = 4;
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Patient")],
        speed: SPEED,
        ..SimOptions::default()
    });
    site.sim
        .add_player(PlayerOptions::new("Patient", PlayerKind::Random));
    let bot = Daemon::start_with(&site, FAST_MOVES, &["--time-scale", &SPEED.to_string()]);
    let polled = r#"{"error":"Please don't poll this endpoint, it is intended to be streamed."}"#;
    let faults = site.sim.faults();
    faults.add(bot_fault(Endpoint::EventStream, Fault::json(429, polled)).times(usize::MAX));
    let before = requests_of(&site, BOT, Endpoint::Playing).len();
    faults.add(bot_fault(Endpoint::Playing, Fault::html(502)).times(FAILURES));
    break_event_stream(&site);
    wait("the list has failed several times", || {
        let requests = requests_of(&site, BOT, Endpoint::Playing).len();
        (requests >= before + FAILURES).then_some(())
    });
    let took = time_of_first_plies(&site, 2);
    assert!(took < Duration::from_secs(16), "{took:?}: {}", bot.log());
}

#[test]
fn second_signal_ends_an_offline_bot_at_once() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    for endpoint in [Endpoint::EventStream, Endpoint::Playing, Endpoint::Move] {
        let rule = bot_fault(endpoint, Fault::Reset);
        site.sim.faults().add(rule.times(usize::MAX));
    }
    break_event_stream(&site);
    anna.play(&id, "e2e4");
    for line in ["offline; reconnecting in", "posting the move failed"] {
        wait(line, || bot.log().contains(line).then_some(()));
    }
    bot.signal("TERM");
    wait("the bot drains", || {
        bot.log().contains("stopping").then_some(())
    });
    let stopping = Instant::now();
    wait("a signal is a new request", || {
        (stopping.elapsed() >= Duration::from_millis(100)).then_some(())
    });
    let signaled = Instant::now();
    bot.signal("TERM");
    // What it saves after that may take longer on a slow disk.
    wait("it leaves the game", || {
        let line = "left without posting the move being searched";
        bot.log().contains(line).then_some(())
    });
    let took = signaled.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}: {}", bot.log());
    assert_eq!(bot.ended().code(), Some(0), "{}", bot.log());
    let took = signaled.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}: {}", bot.log());
    assert_eq!(site.game(&id).unwrap().status, "started");
}

#[test]
fn proxy_401_is_not_fatal() {
    let site = Site::new([NewUser::bot("Anna")]);
    for endpoint in [
        Endpoint::Account,
        Endpoint::EventStream,
        Endpoint::Playing,
        Endpoint::ChallengeAccept,
        Endpoint::GameStream,
        Endpoint::Move,
    ] {
        let rule = bot_fault(endpoint, Fault::html(401));
        site.sim.faults().add(rule.times(2));
    }
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    assert!(bot.is_running());
    for endpoint in [Endpoint::EventStream, Endpoint::Account] {
        let rule = bot_fault(endpoint, Fault::html(401));
        site.sim.faults().add(rule.times(2));
    }
    break_event_stream(&site);
    wait("it is back", || {
        (bot.log().matches("online as").count() == 2).then_some(())
    });
}

#[test]
fn silent_event_streams_are_not_another_instance() {
    let site = Site::new([NewUser::bot("Anna")]);
    let portal = "<html>\n\n<title>Welcome</title>\n\n</html>\n";
    let html = [("Content-Type", "text/html")];
    let faults = site.sim.faults();
    for (fault, nth, times) in [
        (proxy_response(200, &html, portal), 1, 2),
        (proxy_response(200, &[], ""), 3, 2),
        (proxy_response(204, &[], ""), 5, 1),
    ] {
        faults.add(
            bot_fault(Endpoint::EventStream, fault)
                .nth(nth)
                .times(times),
        );
    }
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    wait("the stream is open", || {
        (requests_of(&site, BOT, Endpoint::EventStream).len() >= 6).then_some(())
    });
    assert!(bot.is_running());
    assert!(!bot.log().contains("another instance"), "{}", bot.log());
}

#[test]
fn event_stream_403_is_fatal_only_if_confirmed() {
    const NO: &str = r#"{"error":"Missing scope: challenge:read || bot:play"}"#;
    const SPEED: f64 = 3.0;
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
        speed: SPEED,
        ..SimOptions::default()
    });
    let refused = |times| bot_fault(Endpoint::EventStream, Fault::json(403, NO)).times(times);
    site.sim.faults().add(refused(2));
    let scale = SPEED.to_string();
    let mut bot = Daemon::start_with(&site, "", &["--time-scale", &scale]);
    assert_eq!(requests_of(&site, BOT, Endpoint::EventStream).len(), 3);
    site.sim.faults().add(refused(usize::MAX));
    break_event_stream(&site);
    assert_eq!(bot.ended().code(), Some(77), "{}", bot.log());
    assert!(bot.log().contains("Missing scope"), "{}", bot.log());
}

#[test]
fn many_challenges_delay_neither_accept_nor_move() {
    const CHALLENGERS: usize = 60;
    let names: Vec<String> = (0..CHALLENGERS).map(|n| format!("User{n}")).collect();
    let users = names.iter().map(NewUser::human);
    let site = Site::new(users.chain([NewUser::bot("Anna")]));
    let hanging = Fault::Stall(Duration::from_secs(600));
    site.sim
        .faults()
        .add(bot_fault(Endpoint::ChallengeDecline, hanging).times(usize::MAX));
    let bot = Daemon::start(&site, "[challenge]\nvariants = [\"standard\"]\n");
    let before = bot.descriptors();
    let chess960 = [SLOW[0], SLOW[1], ("variant", "chess960")];
    let challenges: Vec<String> = names
        .iter()
        .map(|name| site.player(name).challenge(&chess960))
        .collect();
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    // Four declines at a time, and none is answered.
    let sent = || {
        let requests = requests_of(&site, BOT, Endpoint::ChallengeDecline);
        let challenges: BTreeSet<_> = requests.iter().map(|request| &request.game).collect();
        challenges.len()
    };
    wait("four declines are sent", || (sent() >= 4).then_some(()));
    assert_eq!(sent(), 4);
    let more = bot.descriptors().saturating_sub(before);
    assert!(more < 20, "{more} more descriptors");
    // All of them are declined in the end.
    site.sim.faults().clear();
    site.sim.advance(Duration::from_secs(600));
    for (name, id) in names.iter().zip(&challenges) {
        assert_eq!(site.player(name).answer(id), "standard");
    }
}
