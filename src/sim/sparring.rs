//! Users that play by themselves.

use crate::chess::{Move, Position, Role};

use super::TimeControl;

/// What a sparring user is like.
#[derive(Clone, Debug)]
pub struct Sparring {
    pub name: String,
    pub rating: u32,
    pub kind: Kind,
    /// Takes every challenge; otherwise declines them all.
    pub accepts: bool,
    /// Resigns when this many pawns of material behind; `None`: plays on to the end.
    pub resigns: Option<u32>,
    /// Milliseconds of the site's time that a move takes, at least.
    pub delay_ms: u64,
    /// Whom it challenges, and to what.
    pub challenges: Option<Plan>,
}

impl Sparring {
    /// A bot that accepts every challenge, moves after 200 ms and plays on to the end.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            rating: 1500,
            kind,
            accepts: true,
            resigns: None,
            delay_ms: 200,
            challenges: None,
        }
    }

    pub fn challenging(self, plan: Plan) -> Self {
        Self {
            challenges: Some(plan),
            ..self
        }
    }
}

/// How a sparring user chooses its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any legal move.
    Random,
    /// Mates, else takes the most valuable piece, else checks, else any legal move.
    Greedy,
    /// Our own engine with this many nodes for a move.
    Engine { nodes: u64 },
    /// Never moves.
    Sleeper,
}

/// The challenges that a sparring user sends.
#[derive(Clone, Debug)]
pub struct Plan {
    pub opponent: String,
    /// Taken in turn.
    pub time_controls: Vec<TimeControl>,
    /// The challenger's colour, taken in turn.
    pub colors: Vec<ColorChoice>,
    pub rated: bool,
    /// `standard`, `chess960` or `fromPosition`.
    pub variant: String,
    /// Start position for `fromPosition` and `chess960`.
    pub fen: Option<String>,
    /// Games in total; `None`: for ever.
    pub count: Option<usize>,
    /// Games and open challenges at once.
    pub at_once: usize,
}

impl Plan {
    /// Casual standard games without end, one at a time, random colours.
    pub fn against(opponent: impl Into<String>, time_control: TimeControl) -> Self {
        Self {
            opponent: opponent.into(),
            time_controls: vec![time_control],
            colors: vec![ColorChoice::Random],
            rated: false,
            variant: "standard".to_owned(),
            fen: None,
            count: None,
            at_once: 1,
        }
    }
}

/// Which colour a challenger asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    White,
    Black,
    Random,
}

/// A game in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameSummary {
    pub id: String,
    pub white: String,
    pub black: String,
    pub variant: &'static str,
    pub time_control: TimeControl,
    pub rated: bool,
    pub plies: usize,
    /// Lichess's word for how it stands: `started`, `mate`, `resign`, `outoftime`, ...
    pub status: &'static str,
    /// `1-0`, `0-1`, `1/2-1/2`; `*` while it goes on or when it was aborted.
    pub result: &'static str,
}

/// The move of a user who does not search.
pub(super) fn choose(kind: Kind, position: &Position, rng: &mut fastrand::Rng) -> Option<Move> {
    let moves = position.legal_moves();
    if kind != Kind::Greedy {
        return rng.choice(moves.iter().copied());
    }
    let best = moves.iter().map(|mv| greed(position, *mv)).max()?;
    let tempting: Vec<Move> = moves
        .iter()
        .copied()
        .filter(|mv| greed(position, *mv) == best)
        .collect();
    rng.choice(tempting)
}

/// How much a greedy user wants a move.
fn greed(position: &Position, mv: Move) -> u32 {
    const MATE: u32 = 1_000;
    let worth = |role| match role {
        Role::Pawn => 10,
        Role::Knight | Role::Bishop => 30,
        Role::Rook => 50,
        Role::Queen => 90,
        Role::King => 0,
    };
    let taken = if mv.is_castle() {
        0
    } else if mv.is_capture() {
        position
            .piece_at(mv.to())
            .map_or(worth(Role::Pawn), |piece| worth(piece.role))
    } else {
        0
    };
    let promoted = mv.promotion().map_or(0, worth);
    let after = position.after(mv);
    let check = u32::from(after.in_check());
    if check == 1 && !after.has_legal_move() {
        MATE
    } else {
        taken + promoted + check
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greedy(fen: &str) -> String {
        let position = Position::from_fen(fen).unwrap();
        let mv = choose(Kind::Greedy, &position, &mut fastrand::Rng::with_seed(7)).unwrap();
        position.san(mv)
    }

    #[test]
    fn the_greedy_mate_take_and_check_in_this_order() {
        assert_eq!(greedy("q5k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"), "Rxa8#");
        assert_eq!(greedy("6k1/5ppp/8/8/8/1q6/P4PPP/R5K1 w - - 0 1"), "axb3");
        assert_eq!(greedy("4k3/8/8/8/8/8/8/K6R w - - 0 1"), "Rh8+");
        assert_eq!(greedy("6k1/5ppp/8/8/8/1n6/2P2PPP/R5K1 w - - 0 1"), "Ra8#");
    }

    #[test]
    fn the_same_seed_makes_the_same_moves() {
        let moves = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut position = Position::startpos();
            (0..30)
                .map(|_| {
                    let mv = choose(Kind::Random, &position, &mut rng).unwrap();
                    position.play(mv);
                    mv
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(moves(5), moves(5));
        assert_ne!(moves(5), moves(6));
    }
}
