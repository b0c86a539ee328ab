//! Searches of variants, through the public interface.

use knightwatch_chess::{Game, Position, Variant};
use knightwatch_engine::{Limits, Score, SearchInfo, Searcher, Setting};

fn search(game: &Game, limits: Limits) -> SearchInfo {
    Searcher::new(4, &Setting::default()).search(game, &limits)
}

fn to_depth(depth: u32) -> Limits {
    Limits {
        depth: Some(depth),
        ..Limits::default()
    }
}

#[test]
fn search_finds_wins_by_the_rules_of_the_variant() {
    let cases = [
        // A drop mates; the same position without the queen in hand is no mate.
        (
            Variant::Crazyhouse,
            "6k1/5ppp/8/8/8/8/8/4K3/Q w - - 0 1",
            "Q@",
            1,
        ),
        (
            Variant::Crazyhouse,
            "6rk/6pp/8/8/8/8/8/4K3/N w - - 0 1",
            "N@f7",
            1,
        ),
        // The last piece is given away, and the other side must take it.
        (
            Variant::Antichess,
            "8/8/8/8/2p5/8/1P6/8 w - - 0 1",
            "b2b3",
            1,
        ),
        // The capture next to the king explodes it.
        (
            Variant::Atomic,
            "4k3/3p4/8/8/8/8/8/3QK3 w - - 0 1",
            "d1d7",
            1,
        ),
        (Variant::Horde, "8/8/8/8/8/3k4/3P4/8 b - - 0 1", "d3d2", 1),
        (
            Variant::KingOfTheHill,
            "4k3/8/8/8/8/3K4/8/8 w - - 0 1",
            "d3",
            1,
        ),
        (
            Variant::KingOfTheHill,
            "7k/8/8/8/8/8/3K4/8 w - - 0 1",
            "d2",
            2,
        ),
        (
            Variant::RacingKings,
            "8/6K1/k7/8/8/8/8/8 w - - 0 1",
            "g7",
            1,
        ),
        (
            Variant::RacingKings,
            "8/8/6K1/8/k7/8/8/8 w - - 0 1",
            "g6",
            2,
        ),
        (
            Variant::ThreeCheck,
            "4k3/8/8/8/8/8/8/R3K3 w - - 0 1 +2+0",
            "",
            1,
        ),
    ];
    for (variant, fen, start, moves) in cases {
        let position = Position::from_variant_fen(variant, fen).expect("a position");
        let game = Game::new(position.clone());
        let report = search(&game, to_depth(6));
        let uci = report.mv.expect("a move").uci(position.castling_notation());
        assert!(
            uci.to_string().starts_with(start),
            "{variant}: {fen}: {uci}"
        );
        assert_eq!(report.score, Score::Mate(moves), "{variant}: {fen}: {uci}");
    }
}

#[test]
fn search_of_decided_games_has_no_move() {
    for (variant, fen, score) in [
        (Variant::KingOfTheHill, "4k3/8/8/8/3K4/8/8/8 b - - 0 1", -1),
        (Variant::Atomic, "8/8/8/8/8/8/8/4K3 b - - 0 1", -1),
        (Variant::Antichess, "8/8/8/8/8/8/8/4k3 w - - 0 1", 1),
    ] {
        let game = Game::new(Position::from_variant_fen(variant, fen).expect("a position"));
        let report = search(&game, to_depth(3));
        assert_eq!(report.mv, None);
        let is_right =
            matches!(report.score, Score::Mate(moves) if moves.signum() == score || moves == 0);
        assert!(is_right, "{variant}: {:?}", report.score);
    }
}

/// The score of one move in a game.
fn score_of(game: &Game, uci: &str, depth: u32) -> Score {
    let limits = Limits {
        search_moves: vec![game.position().parse_uci(uci).expect("a legal move")],
        ..to_depth(depth)
    };
    search(game, limits).score
}

fn game(variant: Variant, fen: &str) -> Game {
    Game::new(Position::from_variant_fen(variant, fen).expect("a position"))
}

#[test]
fn search_knows_draws_of_variants() {
    // The move leaves blocked pawns, and bishops that never meet.
    for (variant, fen, uci) in [
        (
            Variant::Antichess,
            "7b/8/8/p1p5/P7/2P5/8/3B4 w - - 0 1",
            "c3c4",
        ),
        (
            Variant::Atomic,
            "4k3/8/8/p1p5/P7/2P5/8/4K3 w - - 0 1",
            "c3c4",
        ),
        (Variant::Horde, "4k3/8/p1p5/P7/2P5/8/8/8 w - - 0 1", "c4c5"),
    ] {
        let score = score_of(&game(variant, fen), uci, 4);
        assert_eq!(score, Score::Centipawns(0), "{variant}: {fen}");
    }
    // The third time, with two captures and drops in between.
    let mut repeated = game(Variant::Crazyhouse, "8/r3k3/8/8/4K3/8/7R/8/N w - - 0 1");
    let cycle = "N@a3 a7a3 e4f4 N@h6 h2h6 a3a7 h6h2 e7e8 f4e4 e8e7";
    for uci in cycle.split(' ').chain(cycle.split(' ').take(9)) {
        repeated.push_uci(uci).expect("a legal move");
    }
    assert_eq!(score_of(&repeated, "e8e7", 4), Score::Centipawns(0));
}

#[test]
fn search_of_crazyhouse_knows_no_fifty_moves() {
    let score = |clock: u32| {
        let fen = format!("6k1/5ppp/8/8/8/8/5PPP/6K1/NNnpp w - - {clock} 80");
        search(&game(Variant::Crazyhouse, &fen), to_depth(5)).score
    };
    assert_eq!(score(0), score(96));
}

/// Games of the engine against itself, from random openings: all moves are legal, and every game ends.
#[test]
fn self_play_of_all_variants_plays_legal_moves() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut searcher = Searcher::new(4, &Setting::default());
    for variant in Variant::ALL {
        for _ in 0..3 {
            searcher.new_game();
            let mut game = Game::new(variant.start());
            while game.termination().is_none() && game.moves().len() < 160 {
                let moves = game.position().legal_moves();
                let mv = if game.moves().len() < 6 {
                    moves[random.usize(..moves.len())]
                } else {
                    let limits = Limits {
                        nodes: Some(1_500),
                        ..Limits::default()
                    };
                    searcher.search(&game, &limits).mv.expect("a move")
                };
                assert!(moves.contains(&mv), "{mv:?} in {:?}", game.position());
                game.play(mv);
            }
        }
    }
}
