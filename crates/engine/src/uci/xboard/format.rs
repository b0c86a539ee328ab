//! Moves, features and thinking output in XBoard's protocol.

use super::super::options::{self, Kind};
use crate::{Bound, Score, SearchInfo};
use knightwatch_chess::{Move, MoveError, Position};

/// Score that stands for a mate, plus the moves to it.
const MATE: i32 = 100_000;

/// Options that have commands of their own in this protocol, or none.
const UCI_ONLY: [&str; 9] = [
    "Hash",
    "Threads",
    "Ponder",
    "UCI_Chess960",
    "UCI_Variant",
    "UCI_ShowWDL",
    "UCI_AnalyseMode",
    "UCI_Opponent",
    "UCI_EngineAbout",
];

/// Returns whether an option of UCI is one in this protocol, too.
pub(super) fn is_announced(name: &str) -> bool {
    !UCI_ONLY.contains(&name)
}

/// The answer to `protover`.
pub(super) fn features() -> String {
    let mut text = format!(
        "feature done=0\n\
         feature myname=\"Knightwatch {}\" variants=\"normal,fischerandom\"\n\
         feature ping=1 setboard=1 playother=1 usermove=1 san=0 time=1 draw=1 analyze=1 reuse=1 name=1\n\
         feature sigint=0 sigterm=0 colors=0 nps=0 memory=1 smp=1 debug=1\n",
        env!("CARGO_PKG_VERSION")
    );
    for option in options::all() {
        if UCI_ONLY.contains(&option.name) {
            continue;
        }
        let name = option.name;
        text += &match option.kind {
            Kind::Spin { default, min, max } => {
                format!("feature option=\"{name} -spin {default} {min} {max}\"\n")
            }
            Kind::Check(default) => {
                format!("feature option=\"{name} -check {}\"\n", u8::from(default))
            }
            Kind::Text(default) => format!("feature option=\"{name} -string {default}\"\n"),
            Kind::Combo(values) => {
                format!(
                    "feature option=\"{name} -combo {}\"\n",
                    values.join(" /// ")
                )
            }
            Kind::Button => format!("feature option=\"{name} -button\"\n"),
        };
    }
    text + "feature done=1"
}

/// Error of a move: whether the text is one at all.
#[derive(PartialEq, Eq)]
pub(super) enum Notation {
    Known,
    Unknown,
}

/// Parses a move in coordinates, or castling as `O-O` and `O-O-O`.
pub(super) fn parse_move(position: &Position, text: &str) -> Result<Move, Notation> {
    let parsed = match text.starts_with('O') {
        true => position.parse_san(text),
        false => position.parse_uci(text),
    };
    parsed.map_err(|error| match (error, text.get(..4)) {
        (MoveError::Illegal(_) | MoveError::Ambiguous(_), _) => Notation::Known,
        // Two squares and something else.
        (MoveError::Malformed(_), Some(squares)) if squares.len() < text.len() => {
            match position.parse_uci(squares) {
                Err(MoveError::Malformed(_)) => Notation::Unknown,
                _ => Notation::Known,
            }
        }
        (MoveError::Malformed(_), _) => Notation::Unknown,
    })
}

/// A line of thinking output: depth, score, centiseconds, nodes, selective depth, nodes per second, tablebase hits, line.
pub(super) fn thinking_line(info: &SearchInfo, root: &Position) -> String {
    let score = match info.score {
        Score::Centipawns(score) => score,
        Score::Mate(moves) if moves > 0 => MATE + moves,
        Score::Mate(moves) => -MATE + moves,
    };
    let mut position = root.clone();
    let mut line = format!(
        "{} {score} {} {} {} {} 0\t",
        info.depth,
        info.elapsed.as_millis() / 10,
        info.nodes,
        info.seldepth,
        info.nps(),
    );
    for (number, &mv) in info.pv.iter().enumerate() {
        if number > 0 {
            line.push(' ');
        }
        line += &position.san(mv);
        position.play(mv);
    }
    line += match info.bound {
        Bound::Exact => "",
        Bound::Lower => "!",
        Bound::Upper => "?",
    };
    line
}
