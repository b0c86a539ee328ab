//! En passant legality, checked by brute force: capture, and see whether the king is in check.

use knightwatch_chess::{
    Color, FenError, File, Move, MoveKind, Piece, Position, Rank, Role, Square,
};

use super::for_each_seed;

/// The squares of a board.
type Board = [Option<Piece>; 64];

/// The first two fields of a FEN.
fn text(board: &Board, turn: Color) -> String {
    let ranks = Rank::ALL.into_iter().rev().map(|rank| {
        File::ALL
            .into_iter()
            .map(|file| match board[Square::new(file, rank).index()] {
                Some(piece) => piece.char(),
                None => '1',
            })
            .collect::<String>()
    });
    let ranks: Vec<String> = ranks.collect();
    format!("{} {}", ranks.join("/"), turn.char())
}

/// A random board with kings, pawns of which one has just moved two squares, and a few pieces.
fn random_board(random: &mut fastrand::Rng) -> (Board, Color, Square) {
    let us = if random.bool() {
        Color::White
    } else {
        Color::Black
    };
    let (fifth, sixth) = if us.is_white() {
        (Rank::Fifth, Rank::Sixth)
    } else {
        (Rank::Fourth, Rank::Third)
    };
    let file = File::ALL[random.usize(..8)];
    let mut board: Board = [None; 64];
    let pawn = |color| {
        let role = Role::Pawn;
        Some(Piece { color, role })
    };
    board[Square::new(file, fifth).index()] = pawn(!us);
    for sideways in [-1, 1] {
        let beside = u8::try_from(file.index() as i8 + sideways).ok();
        if let Some(beside) = beside.and_then(File::from_index)
            && random.u8(..) < 180
        {
            board[Square::new(beside, fifth).index()] = pawn(us);
        }
    }
    let mut put = |board: &mut Board, color, role| {
        // Half of the kings and sliders are on the rank of the two pawns, where discovered checks occur.
        let square = if random.bool() {
            Square::new(File::ALL[random.usize(..8)], fifth)
        } else {
            Square::from_index(random.u8(..64)).expect("a square")
        };
        let place = &mut board[square.index()];
        *place = place.or(Some(Piece { color, role }));
    };
    put(&mut board, us, Role::King);
    put(&mut board, !us, Role::King);
    for role in [Role::Queen, Role::Rook, Role::Bishop, Role::Bishop] {
        put(&mut board, !us, role);
    }
    put(&mut board, us, Role::Knight);
    (board, us, Square::new(file, sixth))
}

#[test]
fn en_passant_that_leaves_no_check_is_legal() {
    // About one in fifty en passant captures is illegal.
    let expected = if cfg!(debug_assertions) { 10 } else { 200 };
    for_each_seed(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut legal, mut illegal) = (0, 0);
        while illegal < expected {
            let (board, us, to) = random_board(&mut random);
            let fen = format!("{} - {to} 0 1", text(&board, us));
            let Ok(position) = Position::from_fen(&fen) else {
                continue;
            };
            let taken = Square::new(
                to.file(),
                if us.is_white() {
                    Rank::Fifth
                } else {
                    Rank::Fourth
                },
            );
            for from in Square::all().filter(|from| from.rank() == taken.rank()) {
                let pawn = Piece {
                    color: us,
                    role: Role::Pawn,
                };
                if from.file().index().abs_diff(to.file().index()) != 1
                    || board[from.index()] != Some(pawn)
                {
                    continue;
                }
                let mut after = board;
                after[to.index()] = after[from.index()].take();
                after[taken.index()] = None;
                // The reader refuses a position only because the side not to move is in check.
                let safe = match Position::from_fen(&text(&after, !us)) {
                    Ok(_) => true,
                    Err(FenError::OppositeCheck(color)) if color == us => false,
                    Err(error) => panic!("{error} after {from} takes {to} in {fen}"),
                };
                let mv = Move::new(from, to, MoveKind::EnPassant);
                assert_eq!(position.is_legal(mv), safe, "{mv:?} in {fen}");
                let listed = position.legal_moves().contains(&mv);
                assert_eq!(listed, safe, "{mv:?} in {fen}");
                if safe {
                    legal += 1;
                } else {
                    illegal += 1;
                }
            }
        }
        assert!(legal > illegal);
    });
}
