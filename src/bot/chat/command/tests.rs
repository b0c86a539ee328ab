//! Every command, who is told what, and that all of it can be said.

use super::*;
use crate::config::{Chat, Settings, Speed, Variant};
use crate::events::Score;

const OPPONENT: Asker = Asker {
    room: Room::Player,
    opponent: true,
};
const SPECTATOR: Asker = Asker {
    room: Room::Spectator,
    opponent: false,
};
const OPPONENT_IN_THE_STANDS: Asker = Asker {
    room: Room::Spectator,
    opponent: true,
};

const HELP: &str = "Not while the game is on: that would be help by an engine.";

fn report(source: Source) -> SearchInfo {
    SearchInfo {
        source,
        score: Some(Score::Centipawns(35)),
        depth: 18,
        seldepth: 27,
        nodes: 3_000_000,
        hashfull: 10,
        ordering: Some(910),
        elapsed: Duration::from_secs(2),
        pv: ["e4", "e5", "Nf3"].map(str::to_owned).into(),
    }
}

/// What is answered to a line of chat.
fn ask(
    text: &str,
    asker: Asker,
    source: Option<Source>,
    change: impl FnOnce(&mut Settings),
) -> Option<String> {
    let mut settings = Settings::default();
    change(&mut settings);
    let terms = PlaySettings::defaults(&settings);
    let report = source.map(report);
    let facts = Facts {
        words: Words {
            me: "Rob",
            opponent: "Ann",
            rating: None,
            color: "white",
            speed: "blitz",
            time: "3+2".to_owned(),
            ending: None,
        },
        chat: &settings.chat,
        challenge: &settings.challenge,
        terms: &terms,
        last: report
            .as_ref()
            .map(|report| (report, Duration::from_millis(2_340))),
        clock: Some(Duration::from_secs(125)),
        lag: Duration::from_millis(35),
        takebacks: 2,
        games: 1,
        waiting: 3,
        waits: false,
    };
    let (command, word) = Command::read(text)?;
    command.answer(word, asker, &facts)
}

fn answer(text: &str, asker: Asker) -> Option<String> {
    ask(text, asker, Some(Source::Search), |_| {})
}

#[test]
fn every_command_has_its_answer() {
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
        ("!book", "My last move was from no book.".into()),
        (
            "!takeback",
            "I still give 2 moves back in this game.".into(),
        ),
        ("!queue", "1 game is on, 3 challenges wait.".into()),
        ("!strength", "I play this game as well as I can.".into()),
        ("!ping", "My moves lose 35 ms on their way.".into()),
        ("!motd", "There is no message today.".into()),
        ("!wait", "There is nothing to wait for.".into()),
        (
            "!help eval",
            "!eval: what I think of the game; for spectators".into(),
        ),
        (
            "!help !variants",
            "!challenge: which challenges I take".into(),
        ),
    ] {
        assert_eq!(
            answer(text, SPECTATOR).as_deref(),
            Some(expected.as_str()),
            "{text}"
        );
    }
    let draw = "I take a draw from move 35 on, if at 6 moves in a row I would win at most 15 of 100 such games.";
    assert_eq!(answer("!draw", OPPONENT).as_deref(), Some(draw));
    let challenge = "I play standard, chess960, fromPosition; bullet, blitz, rapid, classical; rated or casual.";
    assert_eq!(answer("!challenge", OPPONENT).as_deref(), Some(challenge));
}

#[test]
fn what_is_no_command_is_not_answered() {
    for text in ["", "!", "!!", "! help", "help", "hello !help", "¡help"] {
        assert_eq!(answer(text, OPPONENT), None, "{text}");
    }
}

#[test]
fn an_unknown_command_gets_a_hint() {
    for text in ["!nonsense", "!ev"] {
        let hint = format!("I do not know {text}. Write !help for what I answer.");
        assert_eq!(answer(text, OPPONENT), Some(hint));
    }
}

#[test]
fn help_names_every_command_in_one_line() {
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
    // Words that are no commands are not repeated.
    assert_eq!(answer("!help \u{202e}x", OPPONENT), Some(help));
}

#[test]
fn answers_are_no_commands() {
    // Or two bots would talk to each other.
    for (_, names, _) in ALL.iter().filter(|(command, ..)| *command != Command::Help) {
        let said = answer(&format!("!{}", names[0]), SPECTATOR).unwrap();
        assert_eq!(Command::read(&said), None, "{said}");
    }
    assert_eq!(Command::read(&answer("!help", OPPONENT).unwrap()), None);
}

#[test]
fn the_opponent_gets_no_help_by_the_engine() {
    for (evals, asker, told) in [
        (Evals::Nobody, OPPONENT, false),
        (Evals::Nobody, SPECTATOR, false),
        (Evals::Spectators, OPPONENT, false),
        (Evals::Spectators, OPPONENT_IN_THE_STANDS, false),
        (Evals::Spectators, SPECTATOR, true),
        (Evals::Everybody, OPPONENT, true),
        (Evals::Everybody, SPECTATOR, true),
    ] {
        for text in ["!eval", "!pv"] {
            let said = ask(text, asker, Some(Source::Search), |settings| {
                settings.chat.evals = evals
            });
            assert_eq!(
                said.as_deref() != Some(HELP),
                told,
                "{text} of {asker:?} with {evals:?}"
            );
        }
    }
}

#[test]
fn moves_without_thinking_say_so() {
    for (text, source, expected) in [
        ("!eval", None, "I have not moved yet."),
        (
            "!eval",
            Some(Source::Book),
            "My last move was from a book, so I did not think.",
        ),
        (
            "!nps",
            Some(Source::Only),
            "My last move was the only one, so I did not think.",
        ),
        ("!book", Some(Source::Book), "My last move was from a book."),
        ("!book", None, "I have not moved yet."),
        ("!time", None, "I have 2:05 left."),
    ] {
        let said = ask(text, SPECTATOR, source, |_| {});
        assert_eq!(said.as_deref(), Some(expected), "{text} after {source:?}");
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
        ("!draw", "I take no draws in this game."),
        ("!challenge", "I play standard; rapid; casual."),
    ] {
        let said = ask(text, OPPONENT, Some(Source::Book), change);
        assert_eq!(said.as_deref(), Some(expected), "{text}");
    }
    let closed = ask("!challenge", OPPONENT, None, |settings| {
        settings.challenge.accept = false
    });
    assert_eq!(closed.as_deref(), Some("I take no challenges at present."));
}
