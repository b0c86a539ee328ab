//! Games watched on the page.

use std::net::TcpListener;

use knightwatch::sim::NewUser;
use serde_json::json;
use tempfile::TempDir;

use super::driver::Browser;
use super::playing::{NO_BISHOPS, click, new_game};
use super::{Demo, END, LEFT, open_as_player, open_as_spectator};
use crate::accounts;
use crate::common::{BOT, Daemon, Site, signal, wait};
use crate::etiquette::act;
use crate::operator::run_command;
use crate::page::Url;

/// A free port that no connection is given meanwhile: below those that Linux chooses itself.
fn free_port() -> u16 {
    std::iter::repeat_with(|| fastrand::u16(10_000..32_000))
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .unwrap()
}

/// Configuration of a daemon with its socket in this directory and its page on a fixed free port, so that the page keeps its
/// address over restarts. Also returns the port.
pub(super) fn fixed_port_config(home: &TempDir) -> (String, u16) {
    let port = free_port();
    let socket = home.path().join("control.sock");
    let config = format!(
        "web.listen = \"127.0.0.1:{port}\"\ndaemon = {{ socket = \"{}\" }}",
        socket.display()
    );
    (config, port)
}

#[test]
fn game_is_shown_live_and_after_restart() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser {
        present: true,
        ..NewUser::human("Anna")
    }]);
    let home = tempfile::tempdir().unwrap();
    let (config, port) = fixed_port_config(&home);
    let config = format!("{config}\n[[rule]]\nplay = {{ book = false, max_depth = 6 }}\n");
    let mut bot = Daemon::start(&site, &config);
    browser.go(&format!("http://127.0.0.1:{port}/"));
    browser.wait_for_text(".placeholder h1", "No game is running");

    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    browser.wait_for_piece("e2", "white pawn");
    act(&anna, &id, "move/e2e4");
    browser.wait_for_piece("e4", "white pawn");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    browser.wait_for_text(".game-view h1", "10+0 rapid");

    // Our clock is at the bottom, and theirs is running.
    let top = browser.text(".board-area .player:first-child");
    assert!(top.contains("Anna"), "{top}");
    let clock = ".board-area .player.moving .clock";
    let before = browser.text(clock);
    assert!(before.contains(':'), "{before:?}");
    browser.until(&format!(
        "document.querySelector('{clock}').textContent !== {}",
        json!(before)
    ));

    // To the start, and back to the current position.
    browser.press(&[LEFT, LEFT]);
    browser.wait_for_piece("e4", "");
    browser.wait_for_text(".tag", "Looking back");
    browser.wait_for_text("#read", "The start");
    browser.press(&[END]);
    browser.wait_for_piece("e4", "white pawn");
    browser.wait_for_text("#read", "Move 1, black: ");
    // The bot has a second for its first move, in which a busy machine does not get far.
    act(&anna, &id, "move/g1f3");
    browser.until("document.querySelectorAll('.moves button').length === 4");
    // Search statistics are collapsed by default.
    browser.wait_for_text(".thinking .facts summary", "half-moves ahead, ");
    let more = ".thinking .facts li";
    let seen = format!("return document.querySelector('{more}')?.checkVisibility();");
    assert_eq!(browser.run(&seen), false);
    browser.click(".thinking .facts summary");
    browser.wait_visible(more);
    browser.wait_for_text(".thinking .facts", "The first move tried was enough in");
    let hello = [("room", "player"), ("text", "hello")];
    anna.post(&format!("/api/board/game/{id}/chat"), &hello);
    browser.wait_for_text(".chat .lines", "hello");
    let score = browser.text(".thinking .score");
    assert!(!score.is_empty());

    bot.crash_and_restart();
    browser.wait_for_text("#status", "1 game on");
    browser.until("document.getElementById('banner').hidden");
    // Score and chat from before the restart are still shown.
    browser.wait_for_text(".thinking .score", &score);
    browser.wait_for_text(".chat .lines", "hello");
    act(&anna, &id, "move/b1c3");
    browser.wait_for_piece("c3", "white knight");
    browser.until("document.querySelectorAll('.moves button').length === 6");
    anna.post(&format!("/api/board/game/{id}/resign"), &[]);
    browser.wait_for_text(".panel .result", "White resigned · Black wins");
    // The decision about the challenge is older than the restart.
    browser.run("location.hash = '#/bot';");
    browser.wait_for_text("[aria-label=Bot] .scrolls", "Accepted");
    bot.stop();
}

#[test]
fn largest_depth_is_not_shown_as_half_moves() {
    let Some((browser, _site, _bot, _url)) = open_as_spectator("") else {
        return;
    };
    for (depth, mate, expected) in [
        (1, None, "1 half-move ahead, "),
        (126, Some(3), "126 half-moves ahead, "),
        (127, Some(3), "Forced mate found, "),
        (127, None, "Searched to the end, "),
    ] {
        let report = json!({ "source": "search", "depth": depth, "mate": mate, "elapsed_ms": 40 });
        let shown = browser.run(&format!(
            "return import('/assets/thinking.js').then(({{ searchSummary }}) => searchSummary({report}));"
        ));
        assert!(shown.as_str().unwrap().starts_with(expected), "{shown}");
    }
}

#[test]
fn correspondence_clock_shows_days() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let config = "[challenge]\nspeeds = [\"correspondence\"]\n[[rule]]\nplay = { max_depth = 3 }\n";
    let bot = Daemon::start(&site, config);
    let url = Url::of(&bot, 1);
    let anna = site.player("Anna");
    let id = anna.start(&[("days", "3"), ("color", "white")]);
    browser.go(&url.without_key());
    // The game is shown before it is our turn.
    browser.wait_for_text(".game-view h1", "3 days");
    act(&anna, &id, "move/e2e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    // Their clock is running.
    browser.wait_for_text(".board-area .player.moving .clock", "2 d 23 h");
    browser.wait_for_text(".board-area .player:not(.moving) .clock", "3 d 0 h");
    // On a phone each clock is a single line, and the names stay.
    browser.emulate_phone();
    browser.until("[...document.querySelectorAll('.board-area .clock')].every((clock) => clock.offsetHeight < 45)");
    browser.until("[...document.querySelectorAll('.board-area .who strong')].every((name) => name.clientWidth > 50)");
}

#[test]
fn hidden_page_sleeps_until_visible() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    browser.go(&Url::of(&bot, 1).with_key());
    browser.wait_for_text("#status", "Idle");
    browser.set_hidden(true);
    browser.until("document.title.startsWith('Suspended')");
    run_command(&bot, &["pause"]);
    browser.set_hidden(false);
    browser.wait_for_text("#status", "Paused");
    browser.until("document.querySelector('#banner').hidden");
}

#[test]
fn games_that_end_while_page_is_hidden_are_listed() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    browser.go(&url.with_key());
    browser.run("location.hash = '#/games';");
    browser.wait_for_text("[aria-label=Games] [role=status]", "0 games");
    browser.set_hidden(true);
    browser.until("document.title.startsWith('Suspended')");
    let anna = site.player("Anna");
    let game = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    act(&anna, &game, "move/e2e4");
    site.plies(&game, 2);
    act(&anna, &game, "resign");
    wait("the game is in the records", || {
        (url.json("/api/games?result=won")["total"] == 1).then_some(())
    });
    browser.set_hidden(false);
    browser.wait_for_text("[aria-label=Games] [role=status]", "1 game");
    browser.wait_for_text("[aria-label=Games] .scrolls tbody", "Anna");
}

#[test]
fn page_in_background_opens_no_stream() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    browser.track_streams();
    browser.on_new_document(
        "Object.defineProperty(document, 'hidden', { configurable: true, value: true });",
    );
    browser.go(&Url::of(&bot, 1).with_key());
    browser.until("document.title.startsWith('Suspended')");
    assert_eq!(browser.run("return streams.length;"), 0);
    browser.set_hidden(false);
    browser.wait_for_text("#status", "Idle");
}

#[test]
fn one_hidden_window_keeps_stream_in_game() {
    let Some((browser, _site, _bot, _)) = open_as_player("") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    browser.until("document.title.startsWith('Your move')");
    let lock = |then: &str| {
        browser.run(&format!(
            "navigator.locks.request('knightwatch-hidden', () => {then});"
        ));
    };
    // As if another hidden window had the lock.
    lock("new Promise((release) => (window.release = release))");
    browser.until("window.release");
    browser.set_hidden(true);
    browser.until("document.title.startsWith('Suspended')");
    browser.run("release();");
    browser.until("document.title.startsWith('Your move')");
    // A visible window has no lock.
    browser.set_hidden(false);
    lock("(window.isFree = true)");
    browser.until("window.isFree");
}

#[test]
fn finished_game_stays_while_user_looks_through_it() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new(["Anna", "Bert"].map(NewUser::human));
    let bot = Daemon::start(&site, "games = { concurrency = 4 }\n");
    browser.go(&Url::of(&bot, 1).without_key());
    let clock = [
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ];
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let shows = |game: &str| {
        browser.until(&format!(
            "document.querySelector('.cards [aria-current]').dataset.game === {}",
            json!(game)
        ));
    };
    let first = anna.start(&clock);
    shows(&first);
    act(&anna, &first, "move/e2e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    let second = bert.start(&clock);
    browser.wait_visible(&format!(".cards [data-game='{second}']"));
    browser.press(&[LEFT]);
    browser.wait_for_text(".tag", "Looking back");
    act(&anna, &first, "resign");
    browser.wait_for_text(".panel .result", "White resigned");
    // As if a minute had passed; the page selects the game ten times a second.
    let pass_minute = || {
        browser.run(
            "const earlier = Date.now;
             Date.now = () => earlier() + 60000;
             window.rounds = 0;
             setInterval(() => (rounds += 1), 100);",
        );
    };
    pass_minute();
    browser.until("rounds > 3");
    shows(&first);
    browser.wait_for_text(".tag", "Looking back");
    // Then the next game follows as after the end.
    browser.press(&[END]);
    browser.until("document.querySelector('.tag').hidden");
    pass_minute();
    shows(&second);
}

#[test]
fn clock_offset_ignores_delays_and_follows_corrections() {
    let Some((browser, _site, _bot, _)) = open_as_spectator("") else {
        return;
    };
    browser.wait_for_text("#status", "Idle");
    let offsets = browser.run(
        "return import('/assets/store.js').then(({ onDisconnect, onEvent, store }) => {
             const after = (kind, data, began) => {
                 onEvent(kind, data, began);
                 return store.clockOffset;
             };
             const punctual = after('status', { now: 7000 }, 0);
             const delayed = after('status', { now: 8000 }, 5000);
             // A correction of the daemon's clock counts once earlier events are forgotten.
             let corrected;
             for (let count = 0; count < 10; count += 1) corrected = after('status', { now: 1000 }, 0);
             onDisconnect('lost');
             const next = after('snapshot', { ...store.snapshot, games: [], now: 500 }, 0);
             return [punctual, delayed, corrected, next];
         });",
    );
    assert_eq!(offsets, json!([7000, 7000, 1000, 500]));
}

#[test]
fn accounts_are_shown_by_name() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = accounts::site();
    let bot = accounts::start(&site, accounts::SMALL, ["", ""]);
    let url = Url::of(&bot, 1).with_key();
    browser.go(&url);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = accounts::play(&site, &anna, BOT);
    let second = accounts::play(&site, &bert, accounts::OTHER_BOT);
    for (game, name) in [(&first, BOT), (&second, accounts::OTHER_BOT)] {
        browser.wait_for_text(&format!(".card[data-game=\"{game}\"]"), name);
        bert.post(&format!("/api/bot/game/{game}/resign"), &[]);
    }
    anna.post(&format!("/api/bot/game/{first}/resign"), &[]);
    for (game, name) in [(&first, BOT), (&second, accounts::OTHER_BOT)] {
        browser.wait_for_text(&format!(".finished-games [data-game=\"{game}\"]"), name);
    }
    browser.run("location.hash = '#/bot';");
    for name in [BOT, accounts::OTHER_BOT] {
        browser.wait_for_text(".state", &format!("{name}: "));
    }
    // If one account is paused, it can be resumed.
    let resume = "document.querySelector('[data-control=resume]').disabled";
    browser.until(resume);
    run_command(&bot, &["pause", "--account", BOT]);
    browser.until(&format!("!{resume}"));
    browser.click("[data-control=resume]");
    browser.until(resume);
    browser.run("location.hash = '#/games';");
    for name in [BOT, accounts::OTHER_BOT] {
        browser.until(&format!(
            "document.querySelector('[aria-label=Games] tbody')?.textContent.includes('black, {name}')"
        ));
    }
    browser.assert_clean(&url);
}

#[test]
fn board_and_moves_fill_height() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    let (open, _) = demo.url.split_once('#').unwrap();
    let mut boards = Vec::new();
    let mut lists = Vec::new();
    // A read-only page has a banner above the board.
    for (url, banner) in [(open, true), (demo.url.as_str(), false)] {
        for (width, height) in [(1400, 757), (1920, 937)] {
            let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
            browser.devtools("Emulation.setDeviceMetricsOverride", &screen);
            browser.go("about:blank");
            browser.go(url);
            browser.wait_visible(".game-view .board");
            browser.until(&format!(
                "document.querySelector('#banner').hidden !== {banner}"
            ));
            // In one script: the games go on, and what is next to the board changes with them.
            let sizes = browser.until(&format!(
                "(() => {{
                    const rect = (part) => document.querySelector(part).getBoundingClientRect();
                    const tools = rect('.tools').bottom;
                    if (tools <= {height} - 30 || tools > {height}) return null;
                    const ends = ['.panel', '.board-area'].map((part) => Math.round(rect(part).bottom));
                    if (ends[0] !== ends[1]) return null;
                    return [rect('.game-view .board').height, rect('.movesbox').height];
                }})()"
            ));
            boards.push(sizes[0].as_f64().unwrap());
            lists.push(sizes[1].as_f64().unwrap());
        }
    }
    assert!(
        boards[2] > boards[0] + 20.0 && boards[3] > boards[2] + 150.0,
        "{boards:?}"
    );
    assert!(lists[3] > lists[2] + 60.0, "{lists:?}");
}

#[test]
fn demo_keeps_records_until_exit() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let mut demo = Demo::start();
    browser.go(&demo.url);
    browser.wait_visible("#new");
    new_game(&browser, "white", "7k/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    click(&browser, "b2", "b7");
    browser.wait_for_piece("g8", "black king");
    click(&browser, "a1", "a8");
    browser.wait_for_text(".panel .result", "Checkmate");
    browser.click("[data-view=games]");
    browser.wait_for_text("[aria-label=Games] tbody", "Guest");
    browser.wait_for_text("[aria-label=Games] tbody", "checkmate");
    let kept = std::fs::read_dir(demo.home.path()).unwrap().count();
    assert_eq!(kept, 1);
    signal(&demo.child, "TERM");
    let ended = wait("the demo has ended", || demo.child.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    assert_eq!(std::fs::read_dir(demo.home.path()).unwrap().count(), 0);
}

/// `cargo test --release --test it -- --ignored --nocapture first_paint`
#[test]
#[ignore = "a measurement"]
fn first_paint() {
    const LOADS: usize = 11;
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    // No game uses the processor.
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1).with_key();
    let mut all: Vec<f64> = (0..LOADS)
        .map(|_| {
            browser.go("about:blank");
            browser.go(&url);
            let painted = browser
                .until("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
            painted.as_f64().unwrap()
        })
        .collect();
    all.sort_by(f64::total_cmp);
    let [min, median, max] = [0, LOADS / 2, LOADS - 1].map(|rank| all[rank]);
    println!("first paint: median {median:.0} ms, {min:.0} to {max:.0} ms in {LOADS} loads");
}

#[test]
fn page_supports_dark_mode_and_phone() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    browser.wait_visible(".game-view .board");
    let brightness = || {
        let script = "return getComputedStyle(document.body).backgroundColor;";
        let color = browser.run(script).as_str().unwrap().to_owned();
        let numbers = color.split(|c: char| !c.is_ascii_digit());
        let parts: Vec<u32> = numbers.filter_map(|part| part.parse().ok()).collect();
        parts.iter().take(3).sum::<u32>() / 3
    };
    let prefer = |scheme: &str| {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    };
    prefer("light");
    assert!(brightness() > 200);
    prefer("dark");
    assert!(brightness() < 60);
    // The chosen theme is kept.
    browser.click("#menu");
    browser.click("#theme");
    assert!(brightness() > 200);
    browser.go("about:blank");
    browser.go(&demo.url);
    browser.wait_visible(".game-view .board");
    assert!(brightness() > 200);

    browser.emulate_phone();
    for view in ["#/", "#/bot"] {
        browser.run(&format!("location.hash = '{view}';"));
        let too_wide = browser.run("return document.documentElement.scrollWidth - 360;");
        assert_eq!(too_wide, 0, "{view}");
    }
    browser.run("location.hash = '#/';");
    browser.wait_visible(".game-view .board");
    let board = "document.querySelector('.game-view .board').getBoundingClientRect()";
    let width = browser
        .run(&format!("return {board}.width;"))
        .as_f64()
        .unwrap();
    assert!(width > 320.0, "{width}");
    browser.assert_clean(&demo.url);
}
