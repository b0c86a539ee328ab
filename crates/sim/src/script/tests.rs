//! Tests of the script format and its error messages.

use std::time::Duration;

use crate::faults::{Endpoint, Fault, Skew, StreamFault};

use super::*;

fn rule(text: &str) -> Result<FaultRule, String> {
    let script = Script::parse(&format!("[[fault]]\n{text}"), "test.toml");
    script
        .map(|mut script| script.faults.remove(0))
        .map_err(|error| error.to_string())
}

#[test]
fn script_parses_every_section() {
    let script = Script::parse(
        r#"
        description = "Everything"
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

        [[player]]
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
        do = { restart = { downtime = "10s", streams = "reset" } }
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
    assert_eq!(script.players[0].name, "Echo");
    assert_eq!(script.arenas[0].minutes, 10);
    assert_eq!(script.teams[0].name, "The Bots");
    let restart = Fault::Restart {
        downtime: Duration::from_secs(10),
        streams: StreamFault::Reset,
    };
    assert_eq!(
        script.faults,
        [FaultRule::new(restart).at(Duration::from_secs(30))]
    );
}

#[test]
fn script_parses_every_fault_kind() {
    let ms = Duration::from_millis;
    let stream = |fault| Fault::Stream {
        after_lines: 0,
        fault,
    };
    for (text, fault) in [
        (
            r"do = { status = { code = 429 } }",
            Fault::json(429, r#"{"error":"Too many requests. Try again later."}"#),
        ),
        (r"do = { status = { code = 502 } }", Fault::html(502)),
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
        (r#"do = "response-lost""#, Fault::ResponseLost),
        (
            r#"do = { response-late = "2s" }"#,
            Fault::ResponseLate(ms(2_000)),
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
fn fault_times_defaults_follow_conditions() {
    let all = usize::MAX;
    for (text, times) in [
        ("do = 'reset'", 1),
        ("do = 'reset'\ntimes = 3", 3),
        ("do = 'reset'\nprobability = 0.1", all),
        ("do = 'reset'\nprobability = 0.1\ntimes = 5", 5),
        ("do = 'reset'\nuntil = '10s'", all),
        ("do = 'reset'\nevery = '10s'", 1),
        ("do = 'eof'\nendpoint = 'game-stream'\nevery = '10s'", all),
        ("do = { latency = { min = '50ms', jitter = '20ms' } }", all),
    ] {
        assert_eq!(rule(text).unwrap().times, times, "{text}");
    }
    let rule = rule("do = 'eof'\nendpoint = 'game-stream'\nafter-lines = 3\nply = 6").unwrap();
    assert_eq!(rule.endpoint, Some(Endpoint::GameStream));
    assert_eq!((rule.nth, rule.times, rule.ply), (1, 1, Some(6)));
}

#[test]
fn script_error_shows_place_and_choices() {
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
        ("do = 'reset'\nafter-lines = 3", &["`after-lines`"]),
        ("do = 'reset'\nprobability = 2.0", &["0 to 1"]),
        ("do = 'reset'\nnth = 0", &["begin with 1"]),
        ("do = { restart = { downtime = '5s' } }", &["say when"]),
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
        ("[[player]]\nname = 'Echo'\nkind = 'king'", "`greedy`"),
        ("speed = ", "line 1"),
    ] {
        let error = Script::parse(text, "test.toml").unwrap_err().to_string();
        assert!(error.contains(word), "{text}: no {word} in\n{error}");
    }
    let error = Script::load("F18").unwrap_err().to_string();
    assert!(error.contains("F18") && error.contains("--faults list"));
}

#[test]
fn script_extend_overrides_and_appends() {
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
fn library_scripts_parse() {
    let all: Vec<_> = Script::library().collect();
    assert_eq!(all.len(), 17);
    for (name, description) in all {
        let script = Script::load(&name.to_lowercase()).unwrap();
        assert!(
            description.ends_with('.') && description.len() > 20,
            "{name}: {description}"
        );
        assert!(
            !script.faults.is_empty() || !script.players.is_empty(),
            "{name} has nothing in it"
        );
    }
}

#[test]
fn names_of_a_script_are_unique() {
    for (what, more) in [("user", ""), ("player", "kind = \"idle\"")] {
        let one = |name: &str| format!("[[{what}]]\nname = \"{name}\"\n{more}\n");
        let text = one("Anna") + &one("anna");
        let error = Script::parse(&text, "test.toml").unwrap_err().to_string();
        let said = format!("test.toml: {what}s Anna and anna have the same name");
        assert!(error.starts_with(&said), "{error}");
        assert!(Script::parse(&(one("Anna") + &one("Bert")), "test.toml").is_ok());
    }
}
