//! What may be written, and what is said to who errs.

use std::time::Duration;

use crate::sim::faults::{Endpoint, Fault, Skew, StreamFault};

use super::*;

fn rule(text: &str) -> Result<Rule, String> {
    let script = Script::parse(&format!("[[fault]]\n{text}"), "test.toml");
    script
        .map(|mut script| script.faults.remove(0))
        .map_err(|error| error.to_string())
}

#[test]
fn a_script_describes_a_whole_site() {
    let script = Script::parse(
        r#"
        about = "Everything"
        speed = 10
        seed = 7
        limits = true
        nginx-limit = 180

        [quirks]
        castling = "e1h1"

        [[user]]
        name = "Tester"
        bot = true
        rating = 2000
        follows = ["Anna"]

        [[user]]
        name = "Anna"

        [[sparring]]
        name = "Echo"
        kind = "greedy"
        challenges = "Tester"

        [[arena]]
        name = "Friday"
        clock = "60+0"
        minutes = 10
        bots = true

        [[team]]
        name = "The Bots"
        leader = "Anna"

        [[fault]]
        at = "30s"
        do = { restart = { down = "10s", streams = "reset" } }
        "#,
        "site.toml",
    );
    let script = script.unwrap();
    assert_eq!(script.speed, Some(10.0));
    assert_eq!((script.seed, script.limits), (Some(7), Some(true)));
    let [tester, anna] = &script.users[..] else {
        panic!("two users");
    };
    assert!(tester.bot && tester.rating == 2000 && tester.follows == ["Anna"]);
    assert!(!anna.bot && anna.takebacks && anna.games == 0 && anna.bio.is_none());
    assert_eq!(script.sparring[0].name, "Echo");
    assert_eq!(script.arenas[0].minutes, 10);
    assert_eq!(script.teams[0].name, "The Bots");
    let restart = Fault::Restart {
        down: Duration::from_secs(10),
        how: StreamFault::Reset,
    };
    assert_eq!(
        script.faults,
        [Rule::of(restart).at(Duration::from_secs(30))]
    );
}

#[test]
fn all_kinds_of_faults_can_be_written() {
    let ms = Duration::from_millis;
    let stream = |how| Fault::Stream { after: 0, how };
    for (text, fault) in [
        (
            r#"do = { status = { code = 429 } }"#,
            Fault::json(429, r#"{"error":"Too many requests. Try again later."}"#),
        ),
        (r#"do = { status = { code = 502 } }"#, Fault::html(502)),
        (
            r#"do = { status = { code = 429, body = "html" } }"#,
            Fault::html(429),
        ),
        (r#"do = "reset""#, Fault::Reset),
        (r#"do = { stall = "250ms" }"#, Fault::Stall(ms(250))),
        (
            r#"do = { applied-late = "3s" }"#,
            Fault::AppliedLate(ms(3_000)),
        ),
        (r#"do = "answer-lost""#, Fault::AnswerLost),
        (
            r#"do = { answer-late = "2s" }"#,
            Fault::AnswerLate(ms(2_000)),
        ),
        (r#"do = { drip = "5ms" }"#, Fault::Drip(ms(5))),
        (
            "endpoint = 'event-stream'\ndo = 'silence'",
            stream(StreamFault::Silence),
        ),
        (
            "endpoint = 'game-stream'\ndo = { oversized = 1000 }",
            stream(StreamFault::Oversized(1_000)),
        ),
        (
            "do = { skew = { date = '-90s', clocks = '+1s', drift = 0.01 } }",
            Fault::Skew(Skew {
                date: -90_000,
                clocks: 1_000,
                drift: 0.01,
            }),
        ),
    ] {
        assert_eq!(rule(text).unwrap().fault, fault, "{text}");
    }
    let Fault::Status { headers, body, .. } = rule(
        "do = { status = { code = 429, seconds = 30, retry-after = 5, headers = { X-Y = 'z' } } }",
    )
    .unwrap()
    .fault
    else {
        panic!("a status");
    };
    assert!(body.contains(r#""ratelimit":{"key":"bot.vsBot.day","seconds":30}"#));
    let header = |name| headers.iter().find(|(key, _)| key == name);
    assert_eq!(header("Retry-After").unwrap().1, "5");
    assert_eq!(header("X-Y").unwrap().1, "z");
}

#[test]
fn how_often_follows_from_how_it_is_written() {
    let all = usize::MAX;
    for (text, times) in [
        ("do = 'reset'", 1),
        ("do = 'reset'\ntimes = 3", 3),
        ("do = 'reset'\nprobability = 0.1", all),
        ("do = 'reset'\nprobability = 0.1\ntimes = 5", 5),
        ("do = 'reset'\nuntil = '10s'", all),
        ("do = 'reset'\nevery = '10s'", 1),
        ("do = 'eof'\nendpoint = 'game-stream'\nevery = '10s'", all),
        (
            "do = { latency = { least = '50ms', jitter = '20ms' } }",
            all,
        ),
    ] {
        assert_eq!(rule(text).unwrap().times, times, "{text}");
    }
    let rule = rule("do = 'eof'\nendpoint = 'game-stream'\nafter = 3\nply = 6").unwrap();
    assert_eq!(rule.endpoint, Some(Endpoint::GameStream));
    assert_eq!((rule.nth, rule.times, rule.ply), (1, 1, Some(6)));
}

#[test]
fn who_errs_is_shown_where_and_what_there_is() {
    for (text, words) in [
        (
            "do = 'reset'\nwhen = '3s'",
            &["test.toml", "line 3", "^^^^", "`when`", "`every`"][..],
        ),
        (
            "do = 'explode'",
            &["line 2", "explode", "`duplicate-final`"],
        ),
        (
            "do = 'reset'\nendpoint = 'moves'",
            &["line 3", "moves", "`move`"],
        ),
        ("do = { stall = '3 parsecs' }", &["line 2", "250ms"]),
        (
            "do = { status = { code = 429, boddy = 1 } }",
            &["boddy", "`body`"],
        ),
        (
            "do = { status = { code = 200 } }",
            &["line 1", "400 to 599"],
        ),
        ("do = 'eof'\nendpoint = 'move'", &["line 1", "event-stream"]),
        ("do = 'eof'", &["`endpoint`"]),
        ("do = 'reset'\nafter = 3", &["`after`"]),
        ("do = 'reset'\nprobability = 2.0", &["0 to 1"]),
        ("do = 'reset'\nnth = 0", &["begin with 1"]),
        ("do = { restart = { down = '5s' } }", &["say when"]),
        ("do = { castling = 'e1h1' }\nevery = '3s'", &["this lasts"]),
        ("endpoint = 'move'", &["`do`"]),
    ] {
        let error = rule(text).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{text}: no {word} in\n{error}");
        }
    }
    for (text, word) in [
        ("sped = 3", "`speed`"),
        ("speed = 0", "0.1 to 1000"),
        ("[quirks]\ncastles = 1", "`castling`"),
        ("[[user]]\nname = 'a b'", "not a user name"),
        ("[[sparring]]\nname = 'Echo'\nkind = 'king'", "`greedy`"),
        ("speed = ", "line 1"),
    ] {
        let error = Script::parse(text, "test.toml").unwrap_err().to_string();
        assert!(error.contains(word), "{text}: no {word} in\n{error}");
    }
    let error = Script::load("F18").unwrap_err().to_string();
    assert!(error.contains("F18") && error.contains("--faults list"));
}

#[test]
fn later_scripts_win_and_add() {
    let read = |text| Script::parse(text, "test.toml").unwrap();
    let mut script = read("speed = 2\nseed = 1\n[quirks]\ngifts-push = true\ncastling = 'e1h1'");
    script.extend(read(
        "speed = 3\n[quirks]\ncastling = 'e1g1'\n[[fault]]\ndo = 'reset'",
    ));
    assert_eq!((script.speed, script.seed), (Some(3.0), Some(1)));
    let quirks = Quirks::with([script.quirks]).unwrap();
    let expected = Quirks {
        gifts_push: true,
        ..Quirks::default()
    };
    assert_eq!(quirks, expected);
    assert_eq!(script.faults.len(), 1);
}

#[test]
fn the_library_can_be_read() {
    let all: Vec<_> = Script::library().collect();
    assert_eq!(all.len(), 17);
    for (name, about) in all {
        let script = Script::load(&name.to_lowercase()).unwrap();
        assert!(about.ends_with('.') && about.len() > 20, "{name}: {about}");
        assert!(
            !script.faults.is_empty() || !script.sparring.is_empty(),
            "{name} has nothing in it"
        );
    }
}
