//! Tests of the referee.

use knightwatch_chess::Square;

use super::*;
use crate::site::Speed;

const START: SimTime = SimTime(1_000_000);
const MINUTE: TimeControl = TimeControl::Clock {
    limit: 60,
    increment: 1,
};

fn config() -> GameConfig {
    GameConfig {
        variant: Variant::Standard,
        start: Position::startpos(),
        time_control: MINUTE,
        bot_plays: true,
        ai: false,
        takebacks: true,
        no_abort: false,
        no_early_draw: false,
        no_claim_win: false,
        castling: Castling::KingMoves,
        first_move_limit: None,
        arena: None,
    }
}

fn from(fen: &str) -> Referee {
    let config = GameConfig {
        variant: Variant::FromPosition,
        start: Position::from_fen(fen).unwrap(),
        ..config()
    };
    Referee::new(config, START)
}

fn at(seconds: u64) -> SimTime {
    START + Duration::from_secs(seconds)
}

/// Plays moves in turn at the start of the game; all must be accepted.
fn play(referee: &mut Referee, moves: &str) -> Vec<StateSnapshot> {
    let mut snapshots = Vec::new();
    for uci in moves.split_whitespace() {
        let outcome = referee.play(referee.turn(), uci, false, START);
        assert_eq!(outcome.result, Ok(()), "{uci}");
        snapshots.extend(outcome.snapshots);
    }
    snapshots
}

fn after(moves: &str) -> Referee {
    let mut referee = Referee::new(config(), START);
    play(&mut referee, moves);
    referee
}

#[test]
fn game_ends_by_rule() {
    let home = Position::startpos().fen();
    let knights = "g1f3 g8f6 f3g1 f6g8";
    for (fen, moves, status, winner, states) in [
        (
            home.as_str(),
            "f2f3 e7e5 g2g4 d8h4",
            Status::Mate,
            Some(Color::Black),
            4,
        ),
        (
            "7k/8/6K1/8/8/8/5Q2/8 w - - 0 1",
            "f2f7",
            Status::Stalemate,
            None,
            1,
        ),
        (
            "4k3/8/8/8/8/8/3p4/4K3 w - - 0 1",
            "e1d2",
            Status::Draw,
            None,
            1,
        ),
        (
            "4k3/8/8/8/8/8/7R/4K3 w - - 99 80",
            "h2h3",
            Status::Draw,
            None,
            1,
        ),
        (
            "7k/R7/8/8/8/8/8/1R5K w - - 99 80",
            "b1b8",
            Status::Mate,
            Some(Color::White),
            1,
        ),
        // The third repetition is sent as a move and then as a draw.
        (
            home.as_str(),
            &format!("{knights} {knights}"),
            Status::Draw,
            None,
            9,
        ),
    ] {
        let mut referee = from(fen);
        let snapshots = play(&mut referee, moves);
        assert_eq!(
            (referee.status(), referee.winner()),
            (status, winner),
            "{fen}"
        );
        assert_eq!(snapshots.len(), states, "{fen}");
        assert_eq!(snapshots.last().unwrap().status, status);
        let late = referee.play(referee.turn(), "e2e4", false, START);
        assert_eq!(late.result, Err(GameError::NotYourTurn));
    }
}

#[test]
fn threefold_between_humans_must_be_claimed() {
    let config = GameConfig {
        bot_plays: false,
        time_control: TimeControl::Unlimited,
        ..config()
    };
    let mut referee = Referee::new(config, START);
    let knights = "g1f3 g8f6 f3g1 f6g8 ";
    play(&mut referee, &knights.repeat(2));
    assert!(referee.is_running());
    let mut claimed = referee.clone();
    assert_eq!(
        claimed.draw(Color::White, true, START).snapshots[0].status,
        Status::Draw
    );
    play(&mut referee, &knights.repeat(2));
    assert_eq!(referee.status(), Status::Draw);
}

#[test]
fn move_after_ply_601_draws() {
    let mut referee = from("4k3/7p/8/8/8/8/P7/4K3 w - - 0 300");
    play(&mut referee, "a2a3 h7h6 a3a4");
    let outcome = referee.play(Color::Black, "h6h5", false, START);
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(outcome.snapshots[0].status, Status::Draw);
    assert_eq!(outcome.snapshots[0].moves, "a2a3 h7h6 a3a4");
}

#[test]
fn move_errors_in_order_of_checks() {
    let mut referee = Referee::new(config(), START);
    for (color, uci, error) in [
        (Color::Black, "e9e5", GameError::InvalidUci("e9e5".into())),
        (Color::Black, "e2e4", GameError::NotYourTurn),
        (Color::White, "e4e5", GameError::NoPiece(Square::E4)),
        (Color::White, "e7e5", GameError::NotMyPiece(Square::E7)),
        (
            Color::White,
            "e2e5",
            GameError::Illegal(Square::E2, Square::E5),
        ),
        (
            Color::White,
            "e2e4q",
            GameError::Illegal(Square::E2, Square::E4),
        ),
        (
            Color::White,
            "e1g1",
            GameError::Illegal(Square::E1, Square::G1),
        ),
        (Color::White, "", GameError::InvalidUci(String::new())),
        (Color::White, "é2", GameError::InvalidUci("é2".into())),
    ] {
        let outcome = referee.play(color, uci, false, START);
        assert_eq!(outcome.result, Err(error), "{uci}");
        assert!(outcome.snapshots.is_empty());
    }
}

#[test]
fn late_move_flags() {
    for uci in ["g1f3", "e1e8"] {
        let mut referee = after("e2e4 e7e5");
        let late = referee.play(Color::White, uci, false, at(61));
        assert_eq!(late.result, Ok(()), "{uci}");
        assert_eq!(late.snapshots.len(), 1);
        assert_eq!(
            (referee.status(), referee.winner()),
            (Status::OutOfTime, Some(Color::Black))
        );
        assert_eq!(late.snapshots[0].moves, "e2e4 e7e5");
    }
}

#[test]
fn flag_result_depends_on_material_and_offer() {
    for (fen, offering, status, winner) in [
        (
            "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1",
            false,
            Status::OutOfTime,
            Some(Color::Black),
        ),
        (
            "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1",
            true,
            Status::Draw,
            None,
        ),
        (
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            false,
            Status::OutOfTime,
            None,
        ),
    ] {
        let mut referee = from(fen);
        play(&mut referee, "e1d1 e8d8");
        if offering {
            assert_eq!(referee.draw(Color::Black, true, START).snapshots.len(), 1);
        }
        assert!(referee.check_flag(at(59)).snapshots.is_empty());
        assert_eq!(referee.check_flag(at(60)).snapshots.len(), 1);
        assert_eq!(
            (referee.status(), referee.winner()),
            (status, winner),
            "{fen}"
        );
        assert!(referee.check_flag(at(99)).snapshots.is_empty());
    }
}

#[test]
fn draw_offer_is_limited() {
    // Too early.
    let mut referee = after("e2e4");
    assert!(referee.draw(Color::White, true, START).snapshots.is_empty());
    // Offered once, declined without a state, and not again within twenty plies.
    let mut referee = after("e2e4 e7e5");
    assert_eq!(referee.draw(Color::White, true, START).snapshots.len(), 1);
    assert!(referee.draw(Color::White, true, START).snapshots.is_empty());
    assert!(
        referee
            .draw(Color::Black, false, START)
            .snapshots
            .is_empty()
    );
    assert!(!referee.snapshot(START).draw_offers[0]);
    assert!(referee.draw(Color::White, true, START).snapshots.is_empty());
    // An own offer cannot be withdrawn.
    assert_eq!(referee.draw(Color::Black, true, START).snapshots.len(), 1);
    referee.draw(Color::Black, false, START);
    assert!(referee.snapshot(START).draw_offers[1]);
    // An illegal move leaves the offer standing.
    let mut referee = after("e2e4 e7e5");
    let outcome = referee.play(Color::White, "e4e6", true, START);
    assert!(outcome.result.is_err());
    assert_eq!(outcome.snapshots.len(), 1);
}

#[test]
fn draw_offer_to_bare_king_claims_only_where_offers_are_possible() {
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let mut referee = from(fen);
    play(&mut referee, "e1d1 e8d8");
    referee.draw(Color::White, true, START);
    assert_eq!(referee.status(), Status::InsufficientMaterialClaim);
    // There are no offers to the AI.
    let against_ai = GameConfig {
        variant: Variant::FromPosition,
        start: Position::from_fen(fen).unwrap(),
        ai: true,
        ..config()
    };
    let mut referee = Referee::new(against_ai, START);
    play(&mut referee, "e1d1 e8d8");
    assert!(referee.draw(Color::White, true, START).snapshots.is_empty());
    assert!(referee.is_running());
    // The first offer was declined by a move; the next one comes too soon.
    let mut referee = from("3rk3/4P3/8/8/8/8/8/4K3 w - - 0 1");
    play(&mut referee, "e1e2 e8f7");
    assert_eq!(referee.draw(Color::White, true, START).snapshots.len(), 1);
    play(&mut referee, "e7d8q f7g7");
    assert!(referee.draw(Color::White, true, START).snapshots.is_empty());
    assert!(referee.is_running());
}

#[test]
fn challenge_rules_restrict_actions() {
    let restricted = GameConfig {
        no_abort: true,
        no_early_draw: true,
        no_claim_win: true,
        ..config()
    };
    let mut referee = Referee::new(restricted, START);
    assert_eq!(referee.abort(START).result, Err(GameError::CannotAbort));
    let resigned = referee.resign(Color::White, START).result;
    assert_eq!(resigned, Err(GameError::CannotResign));
    play(&mut referee, "e2e4 e7e5");
    assert!(referee.draw(Color::White, true, START).snapshots.is_empty());
    assert_eq!(
        referee.claim_victory(Color::Black, true, START).result,
        Ok(())
    );
    assert!(referee.is_running());
    assert_eq!(referee.resign(Color::White, START).result, Ok(()));
    assert_eq!(referee.winner(), Some(Color::Black));
}

#[test]
fn claim_needs_absent_opponent() {
    let mut referee = after("e2e4 e7e5");
    assert_eq!(
        referee.claim_victory(Color::White, true, START).result,
        Ok(())
    );
    let draw = referee.claim_draw(Color::White, true, START).result;
    assert_eq!(draw, Err(GameError::CannotClaimDraw));
    let early = referee.claim_victory(Color::Black, false, START).result;
    assert_eq!(early, Err(GameError::CannotClaimVictory));
    assert!(referee.is_running());
    let mut drawn = referee.clone();
    assert_eq!(drawn.claim_draw(Color::Black, true, START).result, Ok(()));
    assert_eq!((drawn.status(), drawn.winner()), (Status::Timeout, None));
    referee
        .claim_victory(Color::Black, true, START)
        .result
        .unwrap();
    assert_eq!(
        (referee.status(), referee.winner()),
        (Status::Timeout, Some(Color::Black))
    );
    // Without mating material the game ends, and the claim is rejected.
    let mut bare = from("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
    play(&mut bare, "e1d1 e8d8");
    let rejected = bare.claim_victory(Color::Black, true, START).result;
    assert_eq!(rejected, Err(GameError::CannotClaimVictory));
    assert_eq!((bare.status(), bare.winner()), (Status::Timeout, None));
}

#[test]
fn takeback_restores_clocks() {
    let mut referee = after("e2e4 e7e5");
    let moved = |referee: &mut Referee, uci: &str, seconds| {
        let outcome = referee.play(referee.turn(), uci, false, at(seconds));
        assert_eq!(outcome.result, Ok(()));
    };
    moved(&mut referee, "g1f3", 10);
    moved(&mut referee, "b8c6", 15);
    moved(&mut referee, "f1b5", 35);
    let millis = |referee: &Referee, seconds| referee.snapshot(at(seconds)).millis;
    assert_eq!(millis(&referee, 35), [32_000, 56_000]);
    // White proposes on Black's move: one ply is taken back.
    assert_eq!(
        referee.takeback(Color::White, true, at(40)).snapshots.len(),
        1
    );
    let snapshot = referee
        .takeback(Color::Black, true, at(40))
        .snapshots
        .remove(0);
    assert_eq!(snapshot.moves, "e2e4 e7e5 g1f3 b8c6");
    assert_eq!(snapshot.millis, [32_000, 56_000]);
    // Black proposes on White's move: one ply; on their own move: two.
    moved(&mut referee, "f1b5", 41);
    referee.takeback(Color::Black, true, at(41));
    let snapshot = referee
        .takeback(Color::White, true, at(41))
        .snapshots
        .remove(0);
    assert_eq!(snapshot.moves, "e2e4 e7e5 g1f3");
    assert_eq!(snapshot.millis, [51_000, 56_000]);
    // All the way back.
    referee.takeback(Color::Black, true, at(41));
    let snapshot = referee
        .takeback(Color::White, true, at(41))
        .snapshots
        .remove(0);
    assert_eq!(snapshot.moves, "e2e4");
}

#[test]
fn unlimited_game_without_moves_is_lost() {
    let config = GameConfig {
        time_control: TimeControl::Unlimited,
        ..config()
    };
    let mut referee = Referee::new(config, START);
    play(&mut referee, "e2e4 e7e5");
    assert!(
        referee
            .check_abandoned(at(20 * 86_400))
            .snapshots
            .is_empty()
    );
    referee.check_abandoned(at(22 * 86_400));
    assert_eq!(
        (referee.status(), referee.winner()),
        (Status::Resign, Some(Color::Black))
    );
}

#[test]
fn first_move_timeout_applies_to_each_side() {
    let aborted = (Status::Aborted, None);
    let lost = (Status::NoStart, Some(Color::White));
    for (no_abort, arena, end) in [
        (false, None, aborted),
        (true, None, lost),
        (false, Some(ArenaGameConfig { berserkable: true }), lost),
    ] {
        let config = GameConfig {
            no_abort,
            first_move_limit: Some(FirstMoveLimit {
                timeout: Duration::from_secs(16),
                is_shown: true,
            }),
            arena,
            ..config()
        };
        let mut referee = Referee::new(config.clone(), START);
        assert!(referee.check_first_move(at(16)).snapshots.is_empty());
        let moved = referee.play(Color::White, "e2e4", false, at(16));
        assert_eq!(moved.result, Ok(()));
        assert!(referee.check_first_move(at(32)).snapshots.is_empty());
        let last = referee.check_first_move(at(33)).snapshots.remove(0);
        assert_eq!((last.status, last.winner), end);
        assert_eq!(last.expiration, None);
        let mut referee = Referee::new(config, START);
        play(&mut referee, "e2e4 e7e5");
        assert!(referee.check_first_move(at(60)).snapshots.is_empty());
    }
}

#[test]
fn first_move_timeout_depends_on_speed_and_source() {
    // (speed, seconds in an arena, seconds elsewhere)
    for (speed, arena, other) in [
        (Speed::UltraBullet, 11, 15),
        (Speed::Bullet, 16, 20),
        (Speed::Blitz, 21, 25),
        (Speed::Rapid, 25, 30),
        (Speed::Classical, 30, 35),
    ] {
        for (in_arena, seconds) in [(true, arena), (false, other)] {
            let timeout = |variant| first_move_timeout(in_arena, variant, speed).as_millis();
            assert_eq!(timeout(Variant::Standard), seconds * 1_000);
            assert_eq!(timeout(Variant::Chess960), seconds * 1_250);
        }
    }
}
