//! Tests of the chat commands.

use super::*;
use crate::config::{Chat, Settings};
use crate::events::Score;
use crate::lichess::model::{Speed, Variant};

const OPPONENT: Requester = Requester {
    room: Room::Player,
    is_opponent: true,
};
const SPECTATOR: Requester = Requester {
    room: Room::Spectator,
    is_opponent: false,
};
const OPPONENT_AS_SPECTATOR: Requester = Requester {
    room: Room::Spectator,
    is_opponent: true,
};

const SECRET: &str = "Not during the game: that would be engine assistance.";

fn search_info(source: Source) -> SearchInfo {
    SearchInfo {
        source,
        score: Some(Score::Centipawns(35)),
        wdl: None,
        fallback: None,
        depth: 18,
        seldepth: 27,
        nodes: 3_000_000,
        hashfull: 10,
        ordering: Some(910),
        elapsed: Duration::from_secs(2),
        pv: ["e4", "e5", "Nf3"].map(str::to_owned).into(),
    }
}

/// The answer to a chat line.
fn ask(
    text: &str,
    requester: Requester,
    source: Option<Source>,
    change: impl FnOnce(&mut Settings),
) -> Option<String> {
    let mut settings = Settings::default();
    change(&mut settings);
    let terms = PlaySettings::defaults(&settings);
    let search_info = source.map(search_info);
    let facts = Facts {
        values: TemplateValues {
            me: "Rob",
            opponent: "Ann",
            rating: None,
            color: "white",
            speed: "blitz",
            time: "3+2".to_owned(),
            engine: "Knightwatch",
            ending: None,
        },
        chat: &settings.chat,
        challenge: &settings.challenge,
        terms: &terms,
        last: search_info
            .as_ref()
            .map(|search_info| (search_info, Duration::from_millis(2_340))),
        clock: Some(Duration::from_secs(125)),
        lag: Duration::from_millis(35),
        takebacks: 2,
        games: 1,
        waiting: 3,
        extends_wait: false,
    };
    let (command, word) = Command::parse(text)?;
    command.answer(word, requester, &facts)
}

fn answer(text: &str, requester: Requester) -> Option<String> {
    ask(text, requester, Some(Source::Search), |_| {})
}

#[test]
fn every_command_is_answered() {
    let version = env!("CARGO_PKG_VERSION");
    for (text, expected) in [
        (
            "!name",
            format!("I am Rob, and my engine is Knightwatch {version}."),
        ),
        (" !VERSION ", format!("Knightwatch {version}")),
        ("!eval please", "+0.35 for me, 18 plies deep.".into()),
        ("!pv", "I expect e4 e5 Nf3".into()),
        ("!depth", "18 plies, and 27 in the longest line.".into()),
        (
            "!nps",
            "1.5 million positions a second, 3.0 million in all.".into(),
        ),
        ("!time", "My last move took 2.3 s. I have 2:05 left.".into()),
        ("!book", "My last move was not from a book.".into()),
        ("!takeback", "I grant 2 more takebacks in this game.".into()),
        ("!queue", "1 game running, 3 challenges queued.".into()),
        ("!strength", "I play this game as well as I can.".into()),
        ("!ping", "My moves take 35 ms over the network.".into()),
        ("!motd", "There is no message today.".into()),
        ("!wait", "There is nothing to wait for.".into()),
        (
            "!help eval",
            "!eval: score of the game; for spectators".into(),
        ),
        (
            "!help !variants",
            "!challenge: which challenges I accept".into(),
        ),
    ] {
        assert_eq!(
            answer(text, SPECTATOR).as_deref(),
            Some(expected.as_str()),
            "{text}"
        );
    }
    let draw =
        "I accept a draw from move 35 on, if my chance to win is at most 15% at 6 moves in a row.";
    assert_eq!(answer("!draw", OPPONENT).as_deref(), Some(draw));
    let challenge = "I play all variants; bullet, blitz, rapid, classical; rated or casual.";
    assert_eq!(answer("!challenge", OPPONENT).as_deref(), Some(challenge));
}

#[test]
fn other_text_is_not_answered() {
    for text in ["", "!", "!!", "! help", "help", "hello !help", "¡help"] {
        assert_eq!(answer(text, OPPONENT), None, "{text}");
    }
}

#[test]
fn unknown_command_gets_hint() {
    for text in ["!nonsense", "!ev"] {
        let hint = format!("I do not know {text}. !help lists my commands.");
        assert_eq!(answer(text, OPPONENT), Some(hint));
    }
}

#[test]
fn help_lists_every_command_in_one_line() {
    let help = answer("!help", OPPONENT).unwrap();
    assert!(!help.contains('…') && help.len() <= 140, "{help}");
    for (_, names, _) in ALL {
        assert!(help.split(' ').any(|word| word == format!("!{}", names[0])));
        for name in *names {
            let more = answer(&format!("!help {name}"), OPPONENT).unwrap();
            assert!(more.starts_with(&format!("!{}: ", names[0])) && more.len() <= 140);
            assert!(answer(&format!("!{name}"), OPPONENT).is_some(), "{name}");
        }
    }
    // Unknown words are not repeated.
    assert_eq!(answer("!help \u{202e}x", OPPONENT), Some(help));
}

#[test]
fn answers_are_not_commands() {
    // Otherwise two bots would answer each other forever.
    for (_, names, _) in ALL.iter().filter(|(command, ..)| *command != Command::Help) {
        let reply = answer(&format!("!{}", names[0]), SPECTATOR).unwrap();
        assert_eq!(Command::parse(&reply), None, "{reply}");
    }
    assert_eq!(Command::parse(&answer("!help", OPPONENT).unwrap()), None);
}

#[test]
fn score_is_hidden_from_opponent() {
    for (evals, requester, is_revealed) in [
        (Evals::Nobody, OPPONENT, false),
        (Evals::Nobody, SPECTATOR, false),
        (Evals::Spectators, OPPONENT, false),
        (Evals::Spectators, OPPONENT_AS_SPECTATOR, false),
        (Evals::Spectators, SPECTATOR, true),
        (Evals::Everybody, OPPONENT, true),
        (Evals::Everybody, SPECTATOR, true),
    ] {
        for text in ["!eval", "!pv"] {
            let reply = ask(text, requester, Some(Source::Search), |settings| {
                settings.chat.evals = evals;
            });
            assert_eq!(
                reply.as_deref() != Some(SECRET),
                is_revealed,
                "{text} of {requester:?} with {evals:?}"
            );
        }
    }
}

#[test]
fn moves_without_search_say_so() {
    for (text, source, expected) in [
        ("!eval", None, "I have not moved yet."),
        (
            "!eval",
            Some(Source::Book),
            "My last move was from a book, without a search.",
        ),
        (
            "!nps",
            Some(Source::Only),
            "My last move was the only legal one, without a search.",
        ),
        ("!book", Some(Source::Book), "My last move was from a book."),
        ("!book", None, "I have not moved yet."),
        ("!time", None, "I have 2:05 left."),
    ] {
        let reply = ask(text, SPECTATOR, source, |_| {});
        assert_eq!(reply.as_deref(), Some(expected), "{text} after {source:?}");
    }
}

#[test]
fn answers_follow_the_settings() {
    let change = |settings: &mut Settings| {
        settings.chat = Chat {
            motd: "Be kind, {opponent}.".into(),
            ..Chat::default()
        };
        settings.book.enabled = false;
        settings.draw.accept = false;
        settings.challenge.variants = vec![Variant::Standard];
        settings.challenge.speeds = vec![Speed::Rapid];
        settings.challenge.rated = false;
    };
    for (text, expected) in [
        ("!motd", "Be kind, Ann."),
        ("!book", "I play this game without a book."),
        ("!draw", "I accept no draws in this game."),
        ("!challenge", "I play standard; rapid; casual."),
    ] {
        let reply = ask(text, OPPONENT, Some(Source::Book), change);
        assert_eq!(reply.as_deref(), Some(expected), "{text}");
    }
    let closed = ask("!challenge", OPPONENT, None, |settings| {
        settings.challenge.accept = false;
    });
    assert_eq!(
        closed.as_deref(),
        Some("I accept no challenges at the moment.")
    );
}
