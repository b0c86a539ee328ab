//! Records of a Polyglot book, and its move encoding.

use knightwatch_chess::{Move, Position, Role, Square};

/// A record of a book; in the file the fields are big-endian, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The [key](Position::book_key) of the position.
    pub key: u64,
    /// The move: from bit 0, three bits each for file and rank of the to square, file and rank of the from square,
    /// and the promotion (0 none, 1 knight, 2 bishop, 3 rook, 4 queen, and in antichess 5 king). Castling is king takes
    /// own rook. A move from a square to itself drops the piece of the promotion, as in python-chess; a drop of a pawn
    /// has no encoding.
    pub mv: u16,
    /// Weight relative to the other moves of the position.
    pub weight: u16,
    /// Data of learning programs.
    pub learn: u32,
}

/// Promotion roles by their number in a record.
const PROMOTIONS: [Option<Role>; 6] = [
    None,
    Some(Role::Knight),
    Some(Role::Bishop),
    Some(Role::Rook),
    Some(Role::Queen),
    Some(Role::King),
];

impl Record {
    /// Size of a record in bytes.
    pub const SIZE: usize = 16;

    /// Decodes a record; all bytes are valid.
    pub fn from_bytes(bytes: &[u8; Record::SIZE]) -> Record {
        let all = u128::from_be_bytes(*bytes);
        Record {
            key: (all >> 64) as u64,
            mv: (all >> 48) as u16,
            weight: (all >> 32) as u16,
            learn: all as u32,
        }
    }

    /// Encodes the record.
    pub fn to_bytes(self) -> [u8; Record::SIZE] {
        let all = u128::from(self.key) << 64
            | u128::from(self.mv) << 48
            | u128::from(self.weight) << 32
            | u128::from(self.learn);
        all.to_be_bytes()
    }

    /// The move in this position; `None` if it is illegal.
    ///
    /// Some books encode castling by the king's squares, against the format; that is accepted, too.
    pub fn read_move(self, position: &Position) -> Option<Move> {
        let square = |shift: u32| Square::from_index((self.mv >> shift & 63) as u8);
        let promotion = PROMOTIONS.get(usize::from(self.mv >> 12))?;
        let (from, to) = (square(6)?, square(0)?);
        if from == to {
            let mv = Move::drop((*promotion)?, to);
            return position.is_legal(mv).then_some(mv);
        }
        let mut uci = format!("{from}{to}");
        uci.extend(promotion.map(Role::char));
        position.parse_uci(&uci).ok()
    }

    /// Returns whether the move is a drop.
    pub(super) fn is_drop(self) -> bool {
        self.mv & 63 == self.mv >> 6 & 63
    }

    /// Encodes a move; `None` for a drop of a pawn.
    pub fn write_move(mv: Move) -> Option<u16> {
        let (role, from) = match mv.dropped() {
            Some(Role::Pawn) => return None,
            Some(role) => (Some(role), mv.to()),
            None => (mv.promotion(), mv.from()),
        };
        let role = PROMOTIONS.iter().position(|&known| known == role)?;
        Some((role << 12 | from.index() << 6 | mv.to().index()) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::Variant;

    fn position(fen: &str) -> Position {
        Position::from_fen(fen).unwrap()
    }

    fn record(mv: u16) -> Record {
        Record {
            key: 0,
            mv,
            weight: 1,
            learn: 0,
        }
    }

    fn square(name: &str) -> u16 {
        name.parse::<Square>().unwrap().index() as u16
    }

    fn raw(from: &str, to: &str, promotion: u16) -> u16 {
        promotion << 12 | square(from) << 6 | square(to)
    }

    fn reads(fen: &str, from: &str, to: &str, promotion: u16) -> Option<String> {
        let position = position(fen);
        let mv = record(raw(from, to, promotion)).read_move(&position)?;
        Some(position.san(mv))
    }

    #[test]
    fn to_bytes_is_big_endian() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        let record = Record::from_bytes(&bytes);
        assert_eq!(record.key, 0x0102_0304_0506_0708);
        assert_eq!(record.mv, 0x090a);
        assert_eq!(record.weight, 0x0b0c);
        assert_eq!(record.learn, 0x0d0e_0f10);
        assert_eq!(record.to_bytes(), bytes);
    }

    #[test]
    fn read_move_decodes_the_format() {
        // e2e4: to e4 = file 4, rank 3; from e2 = file 4, rank 1.
        assert_eq!(raw("e2", "e4", 0), 4 | 3 << 3 | 4 << 6 | 1 << 9);
        let start = Position::startpos();
        let mv = record(0x031c).read_move(&start).unwrap();
        assert_eq!(start.san(mv), "e4");
        assert_eq!(Record::write_move(mv), Some(0x031c));
    }

    const CASTLING: &str = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    const CASTLING_BLACK: &str = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1";

    #[test]
    fn read_move_of_castling_is_king_takes_rook() {
        for (fen, from, short, long) in [
            (CASTLING, "e1", "h1", "a1"),
            (CASTLING_BLACK, "e8", "h8", "a8"),
        ] {
            assert_eq!(reads(fen, from, short, 0).as_deref(), Some("O-O"));
            assert_eq!(reads(fen, from, long, 0).as_deref(), Some("O-O-O"));
            let position = position(fen);
            for (san, rook) in [("O-O", short), ("O-O-O", long)] {
                let mv = position.parse_san(san).unwrap();
                assert_eq!(
                    Record::write_move(mv),
                    Some(raw(from, rook, 0)),
                    "{fen} {san}"
                );
            }
        }
    }

    #[test]
    fn read_move_of_castling_accepts_king_squares() {
        assert_eq!(reads(CASTLING, "e1", "g1", 0).as_deref(), Some("O-O"));
        assert_eq!(
            reads(CASTLING_BLACK, "e8", "c8", 0).as_deref(),
            Some("O-O-O")
        );
    }

    #[test]
    fn read_move_of_rook_or_queen_on_e1_is_not_castling() {
        let rook = "k7/8/8/8/8/8/3K4/4R3 w - - 0 1";
        assert_eq!(reads(rook, "e1", "g1", 0).as_deref(), Some("Rg1"));
        let queen = "8/k7/8/8/8/8/3K4/4Q2r w - - 0 1";
        assert_eq!(reads(queen, "e1", "h1", 0).as_deref(), Some("Qxh1"));
    }

    #[test]
    fn read_move_of_chess960_castling_finds_rook() {
        let fen = "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w BGbg - 0 1";
        assert_eq!(reads(fen, "e1", "g1", 0).as_deref(), Some("O-O"));
        assert_eq!(reads(fen, "e1", "b1", 0).as_deref(), Some("O-O-O"));
        assert_eq!(reads(fen, "e1", "h1", 0), None);
    }

    #[test]
    fn read_move_of_promotions_decodes_role() {
        let fen = "1n6/P7/8/8/8/8/8/K6k w - - 0 1";
        let promoted = [(1, "N"), (2, "B"), (3, "R"), (4, "Q")];
        for (number, letter) in promoted {
            let quiet = reads(fen, "a7", "a8", number).unwrap();
            assert!(quiet.starts_with(&format!("a8={letter}")), "{quiet}");
            let capture = reads(fen, "a7", "b8", number).unwrap();
            assert!(capture.starts_with(&format!("axb8={letter}")), "{capture}");
            let mv = position(fen).parse_san(&capture).unwrap();
            assert_eq!(Record::write_move(mv), Some(raw("a7", "b8", number)));
        }
        for number in [0, 5, 6, 7, 8, 12] {
            assert_eq!(reads(fen, "a7", "a8", number), None, "{number}");
        }
    }

    #[test]
    fn read_move_of_en_passant_uses_empty_square() {
        let fen = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1";
        assert_eq!(reads(fen, "e5", "d6", 0).as_deref(), Some("exd6"));
        let mv = position(fen).parse_san("exd6").unwrap();
        assert_eq!(Record::write_move(mv), Some(raw("e5", "d6", 0)));
    }

    #[test]
    fn read_move_of_variants_knows_drops_and_kings() {
        let antichess = "8/P7/8/8/8/8/8/7k w - - 0 1";
        let antichess = Position::from_variant_fen(Variant::Antichess, antichess).unwrap();
        let king = antichess.parse_san("a8=K").unwrap();
        assert_eq!(Record::write_move(king), Some(raw("a7", "a8", 5)));
        let read = record(raw("a7", "a8", 5)).read_move(&antichess);
        assert_eq!(read, Some(king));
        let house = "4k3/8/8/8/8/8/8/4K3[PNq] w - - 0 1";
        let house = Position::from_variant_fen(Variant::Crazyhouse, house).unwrap();
        let knight = house.parse_san("N@e4").unwrap();
        assert_eq!(Record::write_move(knight), Some(raw("e4", "e4", 1)));
        let read = record(raw("e4", "e4", 1)).read_move(&house);
        assert_eq!(read, Some(knight));
        assert_eq!(Record::write_move(house.parse_san("P@e4").unwrap()), None);
        // A pawn has no number, the queen is Black's, and the square is taken.
        for bad in [raw("e4", "e4", 0), raw("e4", "e4", 4), raw("e8", "e8", 1)] {
            assert_eq!(record(bad).read_move(&house), None, "{bad:#x}");
        }
    }

    #[test]
    fn read_move_of_any_bits_is_legal_or_none() {
        assert_eq!(record(0).read_move(&Position::startpos()), None);
        let starts = Variant::ALL.map(Variant::start);
        for (start, mv) in starts
            .iter()
            .flat_map(|start| (0..=u16::MAX).map(move |mv| (start, mv)))
        {
            if let Some(read) = record(mv).read_move(start) {
                assert!(start.is_legal(read));
                assert_eq!(Record::write_move(read), Some(mv));
            }
        }
    }
}
