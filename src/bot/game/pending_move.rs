//! State machine of the move that has to be posted.
//!
//! ```text
//!             our turn               move              200
//!     Idle ─────────────► Searching ──────► Posting ─────────► AwaitingEcho
//!      ▲                      ▲              │  ▲  ▲               │
//!      │          rejected    │     429, 5xx,│  │  │ not on the    │ no echo
//!      │          three times │     reset    ▼  │  │ board         ▼ in time
//!      │                      │           Backoff  └─────────── Resyncing
//!      │                      │           400, 404, uncertain ────► ▲ │
//!      │                      └───────────────────────────────────────┘
//!      └── from any state: the stream shows another move list, or the end of the game (Over)
//! ```
//!
//! Three more states follow Searching. AwaitingTakeback: a takeback was granted; the search starts again only if the stream
//! does not show it in time. NoMove: there is no legal move and nothing to do. AllRejected: the server rejected every legal
//! move; they are retried after a wait.
//!
//! Invariant: on our turn a search or a POST is in flight, or a wait with a deadline that leads to one of them. Only the
//! stream completes a move. A changed move list discards everything pending for the old one, so no move is ever posted for an
//! old position.
//!
//! Nothing here waits or does I/O. Every input returns the next [`Action`], which replaces whatever is in flight;
//! [`game`](crate::bot::game) performs it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bot::game::moves::{Change, MovesUpdate};
use crate::bot::trace::as_nanos;
use crate::chess::Move;

/// Time for an accepted move to appear on the stream.
const MOVE_ECHO_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time for a reopened stream to show the board before the move is posted again regardless.
const RESYNC_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time for a granted takeback to appear on the stream.
const TAKEBACK_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Wait before all moves are retried after the server rejected every legal one.
const ALL_REJECTED_WAIT: Duration = Duration::from_secs(10);

/// Rejections of a move in an unchanged position before another move is chosen.
const MAX_REJECTIONS: u32 = 3;

/// The move that has to be posted, if any, and its progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingMove {
    state: State,
    /// Moves that the server rejected in this position.
    rejected: Vec<Move>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Not our turn, or no board received yet.
    #[default]
    Idle,
    /// Searching for a move.
    Searching,
    /// A takeback was granted; the stream has not shown it yet.
    AwaitingTakeback,
    /// The server rejected every legal move; they are retried after a wait.
    AllRejected,
    /// There is no legal move: the game is over, though the server has not said so.
    NoMove,
    /// A POST is in flight.
    Posting(Attempt),
    /// The POST failed; it is retried after a wait.
    Backoff(Attempt),
    /// The POST was answered with 200; the stream has not shown the move yet.
    AwaitingEcho(Attempt),
    /// The stream is being reopened to see the board.
    Resyncing(Attempt),
    /// The game is over.
    Over,
}

/// A chosen move that is not on the board yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    mv: Move,
    /// Consecutive POSTs that failed in transit.
    failures: u32,
    /// POSTs that the server rejected.
    rejections: u32,
}

/// Next action for the game task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Keep what is in flight.
    Continue,
    /// No move is pending: drop what is in flight.
    Cancel,
    /// Choose a move for the current position, except [`PendingMove::rejected_moves`].
    Search,
    /// Post this move.
    Post {
        /// The move.
        mv: Move,
        /// POSTs of it that were rejected: castling has two notations.
        rejections: u32,
    },
    /// Wait this long, then call [`PendingMove::on_timeout`].
    Wait(Duration),
    /// Reopen the stream, wait this long for its first line, then call [`PendingMove::on_timeout`].
    Resync(Duration),
}

/// A state of the stream, reduced to what concerns the pending move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoardUpdate {
    /// The move list has changed.
    pub changed: bool,
    /// It is our turn.
    pub our_turn: bool,
    /// The game is over.
    pub over: bool,
    /// The state is in the first line of a new stream.
    pub from_new_stream: bool,
}

impl BoardUpdate {
    /// Creates the update from a change of the move list.
    pub(crate) fn new(moves: MovesUpdate, from_new_stream: bool) -> Self {
        Self {
            changed: moves.change != Change::Unchanged,
            our_turn: moves.our_turn,
            over: moves.over,
            from_new_stream,
        }
    }
}

/// Failure of a POST of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostFailure {
    /// It can be retried after this wait.
    Retry(#[serde(with = "as_nanos")] Duration),
    /// The response was lost, so the move may have been played. It can be retried after this wait.
    Uncertain(#[serde(with = "as_nanos")] Duration),
    /// The server rejected the move; our board may be out of date.
    Rejected,
}

impl PendingMove {
    /// Moves that the server rejected in this position.
    pub(crate) fn rejected_moves(&self) -> &[Move] {
        &self.rejected
    }

    /// Returns whether a move has to be posted.
    pub(crate) fn is_pending(&self) -> bool {
        !matches!(self.state, State::Idle | State::Over | State::NoMove)
    }

    /// Returns whether it is our turn in a position without a legal move.
    pub(crate) fn has_no_move(&self) -> bool {
        self.state == State::NoMove
    }

    /// Returns whether the server accepted our move and the stream has not shown it yet.
    pub(crate) fn awaits_echo(&self) -> bool {
        matches!(self.state, State::AwaitingEcho(_))
    }

    /// Returns whether the game is over.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Returns whether a takeback can be granted. Not while our move is being posted: what would be taken back then
    /// depends on which request arrives first.
    pub(crate) fn can_grant_takeback(&self) -> bool {
        matches!(self.state, State::Idle | State::Searching | State::NoMove)
    }

    /// A takeback was granted, so the position is about to change.
    pub(crate) fn grant_takeback(&mut self) -> Action {
        if self.state != State::Searching {
            return Action::Continue;
        }
        self.state = State::AwaitingTakeback;
        Action::Wait(TAKEBACK_TIMEOUT)
    }

    /// The chosen move that is not on the board yet.
    pub(crate) fn chosen_move(&self) -> Option<Move> {
        self.attempt().map(|attempt| attempt.mv)
    }

    /// Takes a state of the stream.
    pub(crate) fn on_board(&mut self, board: BoardUpdate) -> Action {
        if board.over {
            self.state = State::Over;
            return Action::Cancel;
        }
        if board.changed {
            self.rejected.clear();
            self.state = State::Idle;
        }
        if !board.our_turn {
            self.state = State::Idle;
            return Action::Cancel;
        }
        match self.state {
            State::Idle | State::Over => self.search(),
            // A new stream means that the server is reachable again.
            State::Resyncing(attempt) | State::Backoff(attempt) if board.from_new_stream => {
                self.on_missing(attempt)
            }
            _ => Action::Continue,
        }
    }

    /// Recovers from a pending move with nothing in flight, which should never happen.
    pub(crate) fn recover(&mut self) -> Action {
        match self.attempt() {
            Some(attempt) => self.resync(attempt),
            None if matches!(
                self.state,
                State::Searching | State::AwaitingTakeback | State::AllRejected
            ) =>
            {
                self.search()
            }
            None => Action::Continue,
        }
    }

    /// Takes the chosen move.
    pub(crate) fn on_move_chosen(&mut self, mv: Move) -> Action {
        if self.state != State::Searching {
            return Action::Continue;
        }
        self.send(Attempt {
            mv,
            failures: 0,
            rejections: 0,
        })
    }

    /// There is no move to choose from: either no legal move, or all were rejected.
    pub(crate) fn on_no_move(&mut self) -> Action {
        if self.state != State::Searching {
            return Action::Continue;
        }
        if self.rejected.is_empty() {
            self.state = State::NoMove;
            return Action::Cancel;
        }
        self.rejected.clear();
        self.state = State::AllRejected;
        Action::Wait(ALL_REJECTED_WAIT)
    }

    /// Takes the response to a POST.
    pub(crate) fn on_response(&mut self, answer: Result<(), PostFailure>) -> Action {
        let State::Posting(attempt) = self.state else {
            return Action::Continue;
        };
        match answer {
            Ok(()) => {
                self.state = State::AwaitingEcho(attempt);
                Action::Wait(MOVE_ECHO_TIMEOUT)
            }
            // A move that was played already is illegal afterwards, with one exception: after castling in place (Chess960:
            // g1h1 with the king on g1) the king can step to where the rook was. Never post that again without proof.
            Err(PostFailure::Uncertain(_)) if attempt.mv.is_castle_in_place() => {
                self.resync(attempt)
            }
            Err(PostFailure::Retry(wait) | PostFailure::Uncertain(wait)) => {
                self.state = State::Backoff(Attempt {
                    failures: attempt.failures + 1,
                    ..attempt
                });
                Action::Wait(wait)
            }
            Err(PostFailure::Rejected) => self.resync(Attempt {
                rejections: attempt.rejections + 1,
                ..attempt
            }),
        }
    }

    /// Consecutive POSTs of this move that failed in transit.
    pub(crate) fn failures(&self) -> u32 {
        self.attempt().map_or(0, |attempt| attempt.failures)
    }

    /// The wait of the last action is over.
    pub(crate) fn on_timeout(&mut self) -> Action {
        match self.state {
            State::Backoff(attempt) => self.send(attempt),
            State::AwaitingEcho(attempt) => self.resync(attempt),
            // The stream does not come back. Posting twice is better than not at all, except when castling in place.
            State::Resyncing(attempt) if attempt.mv.is_castle_in_place() => self.resync(attempt),
            State::Resyncing(attempt) => self.send(attempt),
            State::AwaitingTakeback | State::AllRejected => self.search(),
            State::Idle | State::NoMove | State::Searching | State::Posting(_) | State::Over => {
                Action::Continue
            }
        }
    }

    fn attempt(&self) -> Option<Attempt> {
        match self.state {
            State::Posting(attempt)
            | State::Backoff(attempt)
            | State::AwaitingEcho(attempt)
            | State::Resyncing(attempt) => Some(attempt),
            State::Idle
            | State::NoMove
            | State::AllRejected
            | State::Searching
            | State::AwaitingTakeback
            | State::Over => None,
        }
    }

    fn search(&mut self) -> Action {
        self.state = State::Searching;
        Action::Search
    }

    fn send(&mut self, attempt: Attempt) -> Action {
        self.state = State::Posting(attempt);
        Action::Post {
            mv: attempt.mv,
            rejections: attempt.rejections,
        }
    }

    fn resync(&mut self, attempt: Attempt) -> Action {
        self.state = State::Resyncing(attempt);
        Action::Resync(RESYNC_TIMEOUT)
    }

    /// A new stream shows that the move is not on the board.
    fn on_missing(&mut self, attempt: Attempt) -> Action {
        if attempt.rejections < MAX_REJECTIONS {
            return self.send(Attempt {
                failures: 0,
                ..attempt
            });
        }
        self.rejected.push(attempt.mv);
        self.search()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Position;

    const OURS: BoardUpdate = BoardUpdate {
        changed: true,
        our_turn: true,
        over: false,
        from_new_stream: false,
    };
    const THEIRS: BoardUpdate = BoardUpdate {
        our_turn: false,
        ..OURS
    };
    const SAME: BoardUpdate = BoardUpdate {
        changed: false,
        ..OURS
    };
    const FRESH: BoardUpdate = BoardUpdate {
        from_new_stream: true,
        ..SAME
    };
    const RETRY_WAIT: Duration = Duration::from_millis(50);

    fn mv(uci: &str) -> Move {
        Position::startpos().parse_uci(uci).unwrap()
    }

    fn castle(fen: &str) -> Move {
        Position::from_fen(fen).unwrap().parse_san("O-O").unwrap()
    }

    fn send(mv: Move) -> Action {
        Action::Post { mv, rejections: 0 }
    }

    fn posting(mv: Move) -> PendingMove {
        let mut pending = PendingMove::default();
        assert_eq!(pending.on_board(OURS), Action::Search);
        assert_eq!(pending.on_move_chosen(mv), send(mv));
        pending
    }

    #[test]
    fn accepted_move_stays_pending_until_echo() {
        let e4 = mv("e2e4");
        let mut pending = posting(e4);
        assert_eq!(pending.on_response(Ok(())), Action::Wait(MOVE_ECHO_TIMEOUT));
        assert!(pending.is_pending());
        assert_eq!(pending.on_board(THEIRS), Action::Cancel);
        assert!(!pending.is_pending());
    }

    #[test]
    fn echo_before_response_completes_move() {
        let mut pending = posting(mv("e2e4"));
        assert_eq!(pending.on_board(THEIRS), Action::Cancel);
        assert_eq!(pending.on_response(Ok(())), Action::Continue);
        assert!(!pending.is_pending());
    }

    #[test]
    fn unchanged_moves_continue() {
        let mut pending = PendingMove::default();
        pending.on_board(OURS);
        assert_eq!(pending.on_board(SAME), Action::Continue);
        pending.on_move_chosen(mv("e2e4"));
        assert_eq!(pending.on_board(SAME), Action::Continue);
        assert_eq!(
            pending.on_board(FRESH),
            Action::Continue,
            "the response is still to come"
        );
        pending.on_response(Ok(()));
        assert_eq!(
            pending.on_board(FRESH),
            Action::Continue,
            "this stream was opened before the response"
        );
    }

    #[test]
    fn failed_post_is_retried() {
        let e4 = mv("e2e4");
        let mut pending = posting(e4);
        for failure in [
            PostFailure::Retry(RETRY_WAIT),
            PostFailure::Uncertain(RETRY_WAIT),
            PostFailure::Retry(RETRY_WAIT),
        ] {
            assert_eq!(pending.on_response(Err(failure)), Action::Wait(RETRY_WAIT));
            assert_eq!(pending.on_timeout(), send(e4));
        }
        assert_eq!(pending.failures(), 3);
    }

    #[test]
    fn changed_moves_discard_pending_post() {
        let mut pending = posting(mv("e2e4"));
        pending.on_response(Err(PostFailure::Uncertain(RETRY_WAIT)));
        // It was played after all, and so was the reply.
        assert_eq!(pending.on_board(OURS), Action::Search);
        assert_eq!(pending.on_timeout(), Action::Continue);
    }

    #[test]
    fn takeback_while_searching_restarts_search() {
        let mut pending = PendingMove::default();
        pending.on_board(OURS);
        assert_eq!(pending.on_board(OURS), Action::Search);
        assert_eq!(pending.on_board(THEIRS), Action::Cancel);
        assert_eq!(
            pending.on_move_chosen(mv("e2e4")),
            Action::Continue,
            "stale"
        );
    }

    #[test]
    fn granted_takeback_ends_search() {
        let mut pending = PendingMove::default();
        pending.on_board(OURS);
        assert!(pending.can_grant_takeback());
        assert_eq!(pending.grant_takeback(), Action::Wait(TAKEBACK_TIMEOUT));
        assert!(pending.is_pending() && !pending.can_grant_takeback());
        assert_eq!(
            pending.on_move_chosen(mv("e2e4")),
            Action::Continue,
            "stale"
        );
        assert_eq!(
            pending.on_board(SAME),
            Action::Continue,
            "the takeback is not shown yet"
        );
        assert_eq!(pending.on_board(THEIRS), Action::Cancel);
        // The takeback never appears.
        pending.on_board(OURS);
        pending.grant_takeback();
        assert_eq!(pending.on_timeout(), Action::Search);
        pending.grant_takeback();
        assert_eq!(pending.recover(), Action::Search);
        assert_eq!(pending.on_move_chosen(mv("e2e4")), send(mv("e2e4")));
    }

    #[test]
    fn no_legal_move_waits_for_server() {
        let mut pending = PendingMove::default();
        pending.on_board(OURS);
        assert_eq!(pending.on_no_move(), Action::Cancel);
        assert!(pending.has_no_move() && !pending.is_pending());
        for same in [SAME, FRESH] {
            assert_eq!(pending.on_board(same), Action::Continue);
        }
        assert_eq!(
            (pending.recover(), pending.on_timeout()),
            (Action::Continue, Action::Continue)
        );
        assert_eq!(pending.on_board(OURS), Action::Search, "after a takeback");
    }

    #[test]
    fn all_moves_rejected_are_retried_after_wait() {
        let e4 = mv("e2e4");
        let mut pending = posting(e4);
        for _ in 0..MAX_REJECTIONS {
            pending.on_response(Err(PostFailure::Rejected));
            pending.on_board(FRESH);
        }
        assert_eq!(pending.rejected_moves(), [e4]);
        assert_eq!(pending.on_no_move(), Action::Wait(ALL_REJECTED_WAIT));
        assert!(pending.is_pending() && !pending.has_no_move());
        assert_eq!(pending.on_timeout(), Action::Search);
        assert_eq!(pending.rejected_moves(), []);
    }

    #[test]
    fn takeback_while_posting_is_not_granted() {
        let mut pending = posting(mv("e2e4"));
        assert!(!pending.can_grant_takeback());
        assert_eq!(pending.grant_takeback(), Action::Continue);
        pending.on_response(Ok(()));
        assert!(!pending.can_grant_takeback());
        // On their turn there is no search to end.
        pending.on_board(THEIRS);
        assert!(pending.can_grant_takeback());
        assert_eq!(pending.grant_takeback(), Action::Continue);
    }

    #[test]
    fn missing_echo_resyncs() {
        let e4 = mv("e2e4");
        let mut pending = posting(e4);
        pending.on_response(Ok(()));
        assert_eq!(pending.on_timeout(), Action::Resync(RESYNC_TIMEOUT));
        assert_eq!(
            pending.on_board(SAME),
            Action::Continue,
            "an old stream proves nothing"
        );
        assert_eq!(pending.on_board(FRESH), send(e4));
    }

    #[test]
    fn backoff_ends_when_stream_reopens() {
        let e4 = mv("e2e4");
        let mut pending = posting(e4);
        pending.on_response(Err(PostFailure::Retry(RETRY_WAIT)));
        assert_eq!(pending.on_board(SAME), Action::Continue);
        assert_eq!(pending.on_board(FRESH), send(e4));
    }

    #[test]
    fn rejected_move_is_tried_three_times_then_replaced() {
        let (e4, d4) = (mv("e2e4"), mv("d2d4"));
        let mut pending = posting(e4);
        for rejections in 1..MAX_REJECTIONS {
            assert_eq!(
                pending.on_response(Err(PostFailure::Rejected)),
                Action::Resync(RESYNC_TIMEOUT)
            );
            assert_eq!(pending.on_board(FRESH), Action::Post { mv: e4, rejections });
        }
        pending.on_response(Err(PostFailure::Rejected));
        assert_eq!(pending.on_board(FRESH), Action::Search);
        assert_eq!(pending.rejected_moves(), [e4]);
        assert_eq!(pending.on_move_chosen(d4), send(d4));
        pending.on_board(THEIRS);
        assert!(pending.rejected_moves().is_empty());
    }

    #[test]
    fn castling_in_place_is_never_resent_without_proof() {
        let castle_in_place = castle("4k3/8/8/8/8/8/8/6KR w H - 0 1");
        let mut pending = posting(castle_in_place);
        assert_eq!(
            pending.on_response(Err(PostFailure::Uncertain(RETRY_WAIT))),
            Action::Resync(RESYNC_TIMEOUT)
        );
        assert_eq!(pending.on_timeout(), Action::Resync(RESYNC_TIMEOUT));
        assert_eq!(pending.on_board(FRESH), send(castle_in_place));
        // Every other move is sent again when the stream does not come back.
        for mv in [mv("e2e4"), castle("4k3/8/8/8/8/8/8/4K2R w K - 0 1")] {
            let mut pending = posting(mv);
            assert_eq!(
                pending.on_response(Err(PostFailure::Uncertain(RETRY_WAIT))),
                Action::Wait(RETRY_WAIT)
            );
            assert_eq!(pending.on_timeout(), send(mv));
            pending.on_response(Err(PostFailure::Rejected));
            assert_eq!(pending.on_timeout(), Action::Post { mv, rejections: 1 });
        }
    }

    #[test]
    fn game_over_cancels_everything() {
        let mut pending = posting(mv("e2e4"));
        assert_eq!(
            pending.on_board(BoardUpdate { over: true, ..SAME }),
            Action::Cancel
        );
        assert_eq!(
            pending.on_response(Err(PostFailure::Rejected)),
            Action::Continue
        );
        assert_eq!(pending.on_timeout(), Action::Continue);
        assert!(!pending.is_pending());
    }
}
