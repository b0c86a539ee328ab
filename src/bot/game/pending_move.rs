//! What a game owes, as a value.
//!
//! ```text
//!              our turn              a move             200
//!     Free ──────────────► Thinking ──────► Posting ──────────► Posted
//!      ▲                      ▲              │  ▲  ▲               │
//!      │           refused    │     429, 5xx,│  │  │ not there     │ not shown
//!      │           three times│     reset    ▼  │  │               ▼ in time
//!      │                      │           Resting  └─────────── Looking
//!      │                      │              400, 404, in doubt ──► ▲ │
//!      │                      └───────────────────────────────────────┘
//!      └── from anywhere: the stream shows another list of moves, or the end (Over)
//! ```
//!
//! Beside that, from Thinking: the opponent gets a move back (Yielding), and the thinking begins anew only if the stream
//! does not show that in time.
//!
//! Also from Thinking: where there is no legal move nothing can be done (NoMove), and where the server has refused all of
//! them they are tried again after a wait (AllRefused).
//!
//! The invariant: our turn implies that a search or a POST is in flight, or a wait with a deadline is, after which
//! one of them is. Only the stream settles a debt. A list of moves that has changed voids everything that was
//! owed for the old one, so that nothing is ever posted for a position that is gone.
//!
//! Nothing here waits or talks: every input yields the one [`Step`] to take next, which replaces whatever was in
//! flight. [`game`](crate::bot::game) takes the steps.

use std::time::Duration;

use crate::bot::game::moves::{Change, MovesUpdate};
use crate::chess::Move;

/// How long a move that was answered with 200 may take to show up on the stream.
const SHOWN_WITHIN: Duration = Duration::from_millis(1_500);

/// How long to look for the truth before sending again all the same.
const LOOK_WITHIN: Duration = Duration::from_millis(1_500);

/// How long a takeback may take to show up on the stream.
const BACK_WITHIN: Duration = Duration::from_millis(1_500);

/// How long to wait when the server has refused every legal move, before all are tried again.
const ALL_REFUSED: Duration = Duration::from_secs(10);

/// After this many refusals of a move in a position that stays as it is, another move has to do.
const REFUSALS: u32 = 3;

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingMove {
    state: State,
    /// Moves for this very position that the server does not take.
    barred: Vec<Move>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing: not our turn, or the board has not been seen yet.
    #[default]
    Free,
    /// A search is on.
    Thinking,
    /// We have given a move back, and the stream is about to show that.
    Yielding,
    /// The server has refused every legal move; they are tried again after a wait.
    AllRefused,
    /// There is no legal move: the game is over, though the server does not say so.
    NoMove,
    /// A POST is in flight.
    Posting(Owed),
    /// The POST has failed; it goes again after a wait.
    Resting(Owed),
    /// The POST was answered with 200; the stream is about to show the move.
    Posted(Owed),
    /// The stream is being opened anew, to see what is true.
    Looking(Owed),
    /// The game is over.
    Over,
}

/// A move that was chosen and does not stand on the board yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owed {
    mv: Move,
    /// POSTs that failed on their way, in a row.
    failed: u32,
    /// POSTs that were refused.
    refused: u32,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on with what is in flight.
    Keep,
    /// Nothing is owed: whatever is in flight is dropped.
    Drop,
    /// Choose a move for the position on the board, but none of [`PendingMove::barred`].
    Think,
    /// Post this move.
    Post {
        /// The move.
        mv: Move,
        /// How many POSTs of it were refused: castling has two spellings.
        refused: u32,
    },
    /// Wait this long, then [`PendingMove::due`].
    Wait(Duration),
    /// Open the stream anew, wait this long for what it says, then [`PendingMove::due`].
    Look(Duration),
}

/// What the stream says about the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// The list of moves is another than before.
    pub changed: bool,
    /// It is our turn.
    pub ours: bool,
    /// The game is over.
    pub over: bool,
    /// The first line of a new stream.
    pub fresh: bool,
}

impl Board {
    /// What a state says about the board; `fresh`: the first line of a new stream.
    pub fn of(reading: MovesUpdate, fresh: bool) -> Self {
        Self {
            changed: reading.change != Change::Same,
            ours: reading.ours,
            over: reading.over,
            fresh,
        }
    }
}

/// Why a POST of a move did not do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It may be sent again after this wait.
    Again(Duration),
    /// The answer is lost: the move may have been played or not. May be sent again after this wait.
    Lost(Duration),
    /// The server does not want it: the board may be another than we think.
    Refused,
}

impl PendingMove {
    /// The moves that the server has refused in this position.
    pub fn barred(&self) -> &[Move] {
        &self.barred
    }

    /// Whether we owe the server a move.
    pub fn owes(&self) -> bool {
        !matches!(self.state, State::Free | State::Over | State::NoMove)
    }

    /// Whether it is our turn in a position without a legal move.
    pub fn has_no_move(&self) -> bool {
        self.state == State::NoMove
    }

    /// Whether the server has taken our move, though the stream has not shown it yet.
    pub fn posted(&self) -> bool {
        matches!(self.state, State::Posted(_))
    }

    /// Whether the game is over.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether the opponent can have a move back: not while ours is on its way, since what he would get back then depends
    /// on which is there first.
    pub fn can_yield(&self) -> bool {
        matches!(self.state, State::Free | State::Thinking | State::NoMove)
    }

    /// He gets it back: what we think about is about to be gone.
    pub fn yields(&mut self) -> Step {
        if self.state != State::Thinking {
            return Step::Keep;
        }
        self.state = State::Yielding;
        Step::Wait(BACK_WITHIN)
    }

    /// The move that was chosen and is on its way, if it is.
    pub fn chosen(&self) -> Option<Move> {
        self.owed().map(|owed| owed.mv)
    }

    /// The stream has spoken.
    pub fn board(&mut self, board: Board) -> Step {
        if board.over {
            self.state = State::Over;
            return Step::Drop;
        }
        if board.changed {
            self.barred.clear();
            self.state = State::Free;
        }
        if !board.ours {
            self.state = State::Free;
            return Step::Drop;
        }
        match self.state {
            State::Free | State::Over => self.think(),
            // A stream that has come back says that the server has, too.
            State::Looking(owed) | State::Resting(owed) if board.fresh => self.not_there(owed),
            _ => Step::Keep,
        }
    }

    /// Something is owed and nothing is in flight, which never should be: begins anew.
    pub fn mend(&mut self) -> Step {
        match self.owed() {
            Some(owed) => self.look(owed),
            None if matches!(
                self.state,
                State::Thinking | State::Yielding | State::AllRefused
            ) =>
            {
                self.think()
            }
            None => Step::Keep,
        }
    }

    /// A move was chosen.
    pub fn chose(&mut self, mv: Move) -> Step {
        if self.state != State::Thinking {
            return Step::Keep;
        }
        self.post(Owed {
            mv,
            failed: 0,
            refused: 0,
        })
    }

    /// There is no move to choose from. Nothing can be done about a position without a legal move until the stream shows
    /// another one.
    pub fn found_none(&mut self) -> Step {
        if self.state != State::Thinking {
            return Step::Keep;
        }
        if self.barred.is_empty() {
            self.state = State::NoMove;
            return Step::Drop;
        }
        self.barred.clear();
        self.state = State::AllRefused;
        Step::Wait(ALL_REFUSED)
    }

    /// The server has answered a POST.
    pub fn answered(&mut self, answer: Result<(), Trouble>) -> Step {
        let State::Posting(owed) = self.state else {
            return Step::Keep;
        };
        match answer {
            Ok(()) => {
                self.state = State::Posted(owed);
                Step::Wait(SHOWN_WITHIN)
            }
            // What was played already is no legal move after it, but for one: a king who castles on his square
            // (Chess960: g1h1 with the king on g1) can walk to where the rook was. That is never sent twice on a guess.
            Err(Trouble::Lost(_)) if owed.mv.is_castle_in_place() => self.look(owed),
            Err(Trouble::Again(wait) | Trouble::Lost(wait)) => {
                self.state = State::Resting(Owed {
                    failed: owed.failed + 1,
                    ..owed
                });
                Step::Wait(wait)
            }
            Err(Trouble::Refused) => self.look(Owed {
                refused: owed.refused + 1,
                ..owed
            }),
        }
    }

    /// POSTs of the present move that failed on their way, in a row.
    pub fn failed(&self) -> u32 {
        self.owed().map_or(0, |owed| owed.failed)
    }

    /// The wait is over.
    pub fn due(&mut self) -> Step {
        match self.state {
            State::Resting(owed) => self.post(owed),
            State::Posted(owed) => self.look(owed),
            // The stream does not come back. Better once too often than never, but for a king who castles on his square.
            State::Looking(owed) if owed.mv.is_castle_in_place() => self.look(owed),
            State::Looking(owed) => self.post(owed),
            State::Yielding | State::AllRefused => self.think(),
            State::Free | State::NoMove | State::Thinking | State::Posting(_) | State::Over => {
                Step::Keep
            }
        }
    }

    fn owed(&self) -> Option<Owed> {
        match self.state {
            State::Posting(owed)
            | State::Resting(owed)
            | State::Posted(owed)
            | State::Looking(owed) => Some(owed),
            State::Free
            | State::NoMove
            | State::AllRefused
            | State::Thinking
            | State::Yielding
            | State::Over => None,
        }
    }

    fn think(&mut self) -> Step {
        self.state = State::Thinking;
        Step::Think
    }

    fn post(&mut self, owed: Owed) -> Step {
        self.state = State::Posting(owed);
        Step::Post {
            mv: owed.mv,
            refused: owed.refused,
        }
    }

    fn look(&mut self, owed: Owed) -> Step {
        self.state = State::Looking(owed);
        Step::Look(LOOK_WITHIN)
    }

    /// We looked, and the move does not stand on the board.
    fn not_there(&mut self, owed: Owed) -> Step {
        if owed.refused < REFUSALS {
            return self.post(Owed { failed: 0, ..owed });
        }
        self.barred.push(owed.mv);
        self.think()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Position;

    const OURS: Board = Board {
        changed: true,
        ours: true,
        over: false,
        fresh: false,
    };
    const THEIRS: Board = Board {
        ours: false,
        ..OURS
    };
    const SAME: Board = Board {
        changed: false,
        ..OURS
    };
    const FRESH: Board = Board {
        fresh: true,
        ..SAME
    };
    const SOON: Duration = Duration::from_millis(50);

    fn mv(uci: &str) -> Move {
        Position::startpos().parse_uci(uci).unwrap()
    }

    fn castle(fen: &str) -> Move {
        Position::from_fen(fen).unwrap().parse_san("O-O").unwrap()
    }

    fn post(mv: Move) -> Step {
        Step::Post { mv, refused: 0 }
    }

    fn posting(mv: Move) -> PendingMove {
        let mut duty = PendingMove::default();
        assert_eq!(duty.board(OURS), Step::Think);
        assert_eq!(duty.chose(mv), post(mv));
        duty
    }

    #[test]
    fn a_move_is_owed_until_the_stream_shows_it() {
        let e4 = mv("e2e4");
        let mut duty = posting(e4);
        assert_eq!(duty.answered(Ok(())), Step::Wait(SHOWN_WITHIN));
        assert!(duty.owes());
        assert_eq!(duty.board(THEIRS), Step::Drop);
        assert!(!duty.owes());
    }

    #[test]
    fn the_echo_may_come_before_the_answer() {
        let mut duty = posting(mv("e2e4"));
        assert_eq!(duty.board(THEIRS), Step::Drop);
        assert_eq!(duty.answered(Ok(())), Step::Keep);
        assert!(!duty.owes());
    }

    #[test]
    fn a_state_with_the_same_moves_disturbs_nothing() {
        let mut duty = PendingMove::default();
        duty.board(OURS);
        assert_eq!(duty.board(SAME), Step::Keep);
        duty.chose(mv("e2e4"));
        assert_eq!(duty.board(SAME), Step::Keep);
        assert_eq!(duty.board(FRESH), Step::Keep, "the answer is still to come");
        duty.answered(Ok(()));
        assert_eq!(
            duty.board(FRESH),
            Step::Keep,
            "this stream was opened before the answer"
        );
    }

    #[test]
    fn failures_are_sent_again() {
        let e4 = mv("e2e4");
        let mut duty = posting(e4);
        for trouble in [
            Trouble::Again(SOON),
            Trouble::Lost(SOON),
            Trouble::Again(SOON),
        ] {
            assert_eq!(duty.answered(Err(trouble)), Step::Wait(SOON));
            assert_eq!(duty.due(), post(e4));
        }
        assert_eq!(duty.failed(), 3);
    }

    #[test]
    fn nothing_is_sent_for_a_position_that_is_gone() {
        let mut duty = posting(mv("e2e4"));
        duty.answered(Err(Trouble::Lost(SOON)));
        // It was played after all, and so was the reply.
        assert_eq!(duty.board(OURS), Step::Think);
        assert_eq!(duty.due(), Step::Keep);
    }

    #[test]
    fn a_takeback_while_thinking_starts_anew() {
        let mut duty = PendingMove::default();
        duty.board(OURS);
        assert_eq!(duty.board(OURS), Step::Think);
        assert_eq!(duty.board(THEIRS), Step::Drop);
        assert_eq!(duty.chose(mv("e2e4")), Step::Keep, "stale");
    }

    #[test]
    fn a_takeback_that_we_grant_ends_the_thinking() {
        let mut duty = PendingMove::default();
        duty.board(OURS);
        assert!(duty.can_yield());
        assert_eq!(duty.yields(), Step::Wait(BACK_WITHIN));
        assert!(duty.owes() && !duty.can_yield());
        assert_eq!(duty.chose(mv("e2e4")), Step::Keep, "stale");
        assert_eq!(duty.board(SAME), Step::Keep, "it has not come yet");
        assert_eq!(duty.board(THEIRS), Step::Drop);
        // It never comes.
        duty.board(OURS);
        duty.yields();
        assert_eq!(duty.due(), Step::Think);
        duty.yields();
        assert_eq!(duty.mend(), Step::Think);
        assert_eq!(duty.chose(mv("e2e4")), post(mv("e2e4")));
    }

    #[test]
    fn a_position_without_a_legal_move_is_left_to_the_server() {
        let mut duty = PendingMove::default();
        duty.board(OURS);
        assert_eq!(duty.found_none(), Step::Drop);
        assert!(duty.has_no_move() && !duty.owes());
        for same in [SAME, FRESH] {
            assert_eq!(duty.board(same), Step::Keep);
        }
        assert_eq!((duty.mend(), duty.due()), (Step::Keep, Step::Keep));
        assert_eq!(duty.board(OURS), Step::Think, "after a takeback");
    }

    #[test]
    fn moves_that_were_all_refused_are_tried_again_after_a_while() {
        let e4 = mv("e2e4");
        let mut duty = posting(e4);
        for _ in 0..REFUSALS {
            duty.answered(Err(Trouble::Refused));
            duty.board(FRESH);
        }
        assert_eq!(duty.barred(), [e4]);
        assert_eq!(duty.found_none(), Step::Wait(ALL_REFUSED));
        assert!(duty.owes() && !duty.has_no_move());
        assert_eq!(duty.due(), Step::Think);
        assert_eq!(duty.barred(), []);
    }

    #[test]
    fn no_takeback_overtakes_a_move_on_its_way() {
        let mut duty = posting(mv("e2e4"));
        assert!(!duty.can_yield());
        assert_eq!(duty.yields(), Step::Keep);
        duty.answered(Ok(()));
        assert!(!duty.can_yield());
        // On their turn there is nothing to give up.
        duty.board(THEIRS);
        assert!(duty.can_yield());
        assert_eq!(duty.yields(), Step::Keep);
    }

    #[test]
    fn a_move_that_does_not_show_up_is_looked_for() {
        let e4 = mv("e2e4");
        let mut duty = posting(e4);
        duty.answered(Ok(()));
        assert_eq!(duty.due(), Step::Look(LOOK_WITHIN));
        assert_eq!(duty.board(SAME), Step::Keep, "an old stream proves nothing");
        assert_eq!(duty.board(FRESH), post(e4));
    }

    #[test]
    fn who_waits_with_a_move_sends_it_when_the_stream_is_back() {
        let e4 = mv("e2e4");
        let mut duty = posting(e4);
        duty.answered(Err(Trouble::Again(SOON)));
        assert_eq!(duty.board(SAME), Step::Keep);
        assert_eq!(duty.board(FRESH), post(e4));
    }

    #[test]
    fn a_refused_move_is_tried_thrice_then_another_is_sought() {
        let (e4, d4) = (mv("e2e4"), mv("d2d4"));
        let mut duty = posting(e4);
        for refused in 1..REFUSALS {
            assert_eq!(
                duty.answered(Err(Trouble::Refused)),
                Step::Look(LOOK_WITHIN)
            );
            assert_eq!(duty.board(FRESH), Step::Post { mv: e4, refused });
        }
        duty.answered(Err(Trouble::Refused));
        assert_eq!(duty.board(FRESH), Step::Think);
        assert_eq!(duty.barred(), [e4]);
        assert_eq!(duty.chose(d4), post(d4));
        duty.board(THEIRS);
        assert!(duty.barred().is_empty());
    }

    #[test]
    fn a_king_who_castles_on_his_square_is_never_sent_twice_on_a_guess() {
        let castle_in_place = castle("4k3/8/8/8/8/8/8/6KR w H - 0 1");
        let mut duty = posting(castle_in_place);
        assert_eq!(
            duty.answered(Err(Trouble::Lost(SOON))),
            Step::Look(LOOK_WITHIN)
        );
        assert_eq!(duty.due(), Step::Look(LOOK_WITHIN));
        assert_eq!(duty.board(FRESH), post(castle_in_place));
        // Every other move is, when there is nothing to see.
        for mv in [mv("e2e4"), castle("4k3/8/8/8/8/8/8/4K2R w K - 0 1")] {
            let mut duty = posting(mv);
            assert_eq!(duty.answered(Err(Trouble::Lost(SOON))), Step::Wait(SOON));
            assert_eq!(duty.due(), post(mv));
            duty.answered(Err(Trouble::Refused));
            assert_eq!(duty.due(), Step::Post { mv, refused: 1 });
        }
    }

    #[test]
    fn the_end_ends_everything() {
        let mut duty = posting(mv("e2e4"));
        assert_eq!(duty.board(Board { over: true, ..SAME }), Step::Drop);
        assert_eq!(duty.answered(Err(Trouble::Refused)), Step::Keep);
        assert_eq!(duty.due(), Step::Keep);
        assert!(!duty.owes());
    }
}
