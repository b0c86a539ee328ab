//! Stored game: four bytes per ply, in the layout of viriformat.
//!
//! A record is the starting position in 32 bytes; for every ply the move and its score (centipawns from White's point of view,
//! for the position *before* the move) as two little-endian 16-bit numbers; and four zero bytes. Filters are applied when
//! games are read, so that they can be changed without new games.

use std::io::{self, Read};

use knightwatch_chess::{Bitboard, Color, Move, MoveKind, Piece, Position, Role, Square};

/// Result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Black has won.
    BlackWins,
    /// The game is drawn.
    Draw,
    /// White has won.
    WhiteWins,
}

impl Outcome {
    /// 0 lost, 1 drawn, 2 won.
    #[must_use]
    pub fn points(self, color: Color) -> u8 {
        match color {
            Color::White => self as u8,
            Color::Black => 2 - self as u8,
        }
    }
}

/// Errors of reading a stored game.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(io::Error),
    /// The bytes are not a game.
    #[error("a stored game is damaged: {0}")]
    Damaged(&'static str),
}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> RecordError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => RecordError::Damaged("it ends within a game"),
            _ => RecordError::Io(error),
        }
    }
}

/// A game with the score of every position in which a move was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    start: Position,
    outcome: Outcome,
    /// Encoded moves and scores.
    plies: Vec<(u16, i16)>,
}

const START: usize = 32;
const UNMOVED_ROOK: u8 = 6;

impl Record {
    /// Creates a game without moves.
    #[must_use]
    pub fn new(start: Position) -> Record {
        Record {
            start,
            outcome: Outcome::Draw,
            plies: Vec::new(),
        }
    }

    /// Appends a move with its score in centipawns for White.
    pub fn push(&mut self, mv: Move, score: i16) {
        self.plies.push((encode(mv), score));
    }

    /// Sets the outcome.
    pub fn finish(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }

    /// The outcome.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The score for White of every position in which a move was made.
    pub fn scores(&self) -> impl DoubleEndedIterator<Item = i16> {
        self.plies.iter().map(|&(_, score)| score)
    }

    /// Number of moves.
    #[must_use]
    pub fn len(&self) -> usize {
        self.plies.len()
    }

    /// Returns whether the game has no moves.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plies.is_empty()
    }

    /// Calls `visit` for every move, with the position before it and the score for White.
    ///
    /// # Errors
    /// When a stored move is not legal.
    pub fn replay(&self, mut visit: impl FnMut(&Position, Move, i16)) -> Result<(), RecordError> {
        let mut position = self.start.clone();
        for (code, score) in &self.plies {
            let mv = decode(*code, &position)
                .filter(|mv| position.is_legal(*mv))
                .ok_or(RecordError::Damaged("a move is not legal"))?;
            visit(&position, mv, *score);
            position.play(mv);
        }
        Ok(())
    }

    /// Appends the encoded game.
    pub fn write(&self, into: &mut Vec<u8>) {
        pack(&self.start, self.outcome, into);
        for (code, score) in &self.plies {
            into.extend(code.to_le_bytes());
            into.extend(score.to_le_bytes());
        }
        into.extend([0; 4]);
    }

    /// Reads the next game of a stream; `None` at its end.
    ///
    /// # Errors
    /// When reading fails or the bytes are not a game.
    pub fn read(from: &mut impl Read) -> Result<Option<Record>, RecordError> {
        let mut packed = [0u8; START];
        let mut filled = 0;
        while filled < START {
            match from.read(&mut packed[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(RecordError::Damaged("it ends within a position")),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (start, outcome) = unpack(&packed)?;
        let mut plies = Vec::with_capacity(128);
        loop {
            let mut ply = [0u8; 4];
            from.read_exact(&mut ply)?;
            if ply == [0; 4] {
                return Ok(Some(Record {
                    start,
                    outcome,
                    plies,
                }));
            }
            plies.push((
                u16::from_le_bytes([ply[0], ply[1]]),
                i16::from_le_bytes([ply[2], ply[3]]),
            ));
        }
    }
}

/// From, to, promotion (0 knight to 3 queen) and kind (1 en passant, 2 castling, 3 promotion), from the lowest bit.
fn encode(mv: Move) -> u16 {
    let squares = (mv.from().index() | mv.to().index() << 6) as u16;
    let promotion = mv.promotion().map_or(0, |role| role.index() as u16 - 1);
    let kind = match mv.kind() {
        MoveKind::EnPassant => 1,
        MoveKind::Castle => 2,
        MoveKind::Promotion(_) | MoveKind::CapturePromotion(_) => 3,
        _ => 0,
    };
    squares | promotion << 12 | kind << 14
}

fn decode(code: u16, position: &Position) -> Option<Move> {
    let square = |bits: u16| Square::from_index((bits & 63) as u8);
    let (from, to) = (square(code)?, square(code >> 6)?);
    let capture = position.occupied().contains(to);
    let kind = match code >> 14 {
        1 => MoveKind::EnPassant,
        2 => MoveKind::Castle,
        3 => {
            let role =
                [Role::Knight, Role::Bishop, Role::Rook, Role::Queen][usize::from(code >> 12 & 3)];
            if capture {
                MoveKind::CapturePromotion(role)
            } else {
                MoveKind::Promotion(role)
            }
        }
        _ if capture => MoveKind::Capture,
        _ => {
            let pawn = position
                .piece_at(from)
                .is_some_and(|piece| piece.role == Role::Pawn);
            let two = from.index().abs_diff(to.index()) == 16;
            if pawn && two {
                MoveKind::DoublePush
            } else {
                MoveKind::Quiet
            }
        }
    };
    (from != to).then(|| Move::new(from, to, kind))
}

fn pack(position: &Position, outcome: Outcome, into: &mut Vec<u8>) {
    let occupied = position.occupied();
    let mut pieces = [0u8; 16];
    for (at, square) in occupied.into_iter().enumerate() {
        let piece = position
            .piece_at(square)
            .expect("an occupied square has a piece");
        let role = if position.castling_rooks().contains(square) {
            UNMOVED_ROOK
        } else {
            piece.role.index() as u8
        };
        pieces[at / 2] |= (role | (piece.color.index() as u8) << 3) << (4 * (at % 2));
    }
    into.extend(occupied.0.to_le_bytes());
    into.extend(pieces);
    into.push(
        position
            .en_passant()
            .map_or(64, |square| square.index() as u8)
            | (position.turn().index() as u8) << 7,
    );
    into.push(position.halfmove_clock().min(255) as u8);
    into.extend((position.fullmove_number().min(u16::MAX.into()) as u16).to_le_bytes());
    into.extend([0, 0, outcome as u8, 0]);
}

fn unpack(packed: &[u8; START]) -> Result<(Position, Outcome), RecordError> {
    let occupied = Bitboard(u64::from_le_bytes(
        packed[..8].try_into().expect("eight bytes"),
    ));
    if occupied.count() > 32 {
        return Err(RecordError::Damaged("more than 32 pieces"));
    }
    let mut board = [None; 64];
    let mut rights = [(None, None); 2];
    let mut king_seen = [false; 2];
    for (at, square) in occupied.into_iter().enumerate() {
        let code = packed[8 + at / 2] >> (4 * (at % 2)) & 15;
        let color = if code & 8 == 0 {
            Color::White
        } else {
            Color::Black
        };
        let role = match code & 7 {
            UNMOVED_ROOK => {
                let rights = &mut rights[color.index()];
                *if king_seen[color.index()] {
                    &mut rights.0
                } else {
                    &mut rights.1
                } = Some(square);
                Role::Rook
            }
            role => *Role::ALL
                .get(usize::from(role))
                .ok_or(RecordError::Damaged("an unknown piece"))?,
        };
        king_seen[color.index()] |= role == Role::King;
        board[square.index()] = Some(Piece { color, role });
    }
    let fen = fen(&board, rights, packed);
    let position =
        Position::from_fen(&fen).map_err(|_| RecordError::Damaged("an impossible position"))?;
    let outcome = match packed[30] {
        0 => Outcome::BlackWins,
        1 => Outcome::Draw,
        2 => Outcome::WhiteWins,
        _ => return Err(RecordError::Damaged("an unknown result")),
    };
    Ok((position, outcome))
}

/// The position as Shredder-FEN. `rights`: by color, the king-side and the queen-side rook.
fn fen(
    board: &[Option<Piece>; 64],
    rights: [(Option<Square>, Option<Square>); 2],
    packed: &[u8; START],
) -> String {
    let mut fen = String::with_capacity(90);
    for rank in (0..8).rev() {
        let mut empty = 0u8;
        for piece in &board[rank * 8..rank * 8 + 8] {
            match piece {
                Some(piece) => {
                    if empty > 0 {
                        fen.push(char::from(b'0' + empty));
                        empty = 0;
                    }
                    fen.push(piece.char());
                }
                None => empty += 1,
            }
        }
        if empty > 0 {
            fen.push(char::from(b'0' + empty));
        }
        if rank > 0 {
            fen.push('/');
        }
    }
    fen.push_str(if packed[24] & 128 == 0 { " w " } else { " b " });
    let before = fen.len();
    for (color, (king_side, queen_side)) in Color::ALL.into_iter().zip(rights) {
        for rook in [king_side, queen_side].into_iter().flatten() {
            let letter = rook.file().char();
            fen.push(if color == Color::White {
                letter.to_ascii_uppercase()
            } else {
                letter
            });
        }
    }
    if fen.len() == before {
        fen.push('-');
    }
    match Square::from_index(packed[24] & 127) {
        Some(square) => fen.push_str(&format!(" {square}")),
        None => fen.push_str(" -"),
    }
    let fullmove = u16::from_le_bytes([packed[26], packed[27]]).max(1);
    fen.push_str(&format!(" {} {fullmove}", packed[25]));
    fen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random game and its record.
    fn random_game(seed: u64) -> (Record, Vec<(Position, Move, i16)>) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let start = if seed.is_multiple_of(3) {
            Position::startpos()
        } else {
            Position::chess960_start((seed * 37 % 960) as u32).unwrap()
        };
        let mut position = start;
        for _ in 0..rng.usize(0..9) {
            let Some(mv) = rng.choice(position.legal_moves().iter().copied()) else {
                break;
            };
            position.play(mv);
        }
        let mut record = Record::new(position.clone());
        let mut plies = Vec::new();
        for _ in 0..200 {
            let moves = position.legal_moves();
            let castle = moves
                .iter()
                .copied()
                .find(|mv| mv.is_castle() || mv.kind() == MoveKind::EnPassant);
            let Some(mv) = castle.or_else(|| rng.choice(moves.iter().copied())) else {
                break;
            };
            let score = rng.i16(-3000..3000);
            record.push(mv, score);
            plies.push((position.clone(), mv, score));
            position.play(mv);
        }
        record.finish([Outcome::BlackWins, Outcome::Draw, Outcome::WhiteWins][seed as usize % 3]);
        (record, plies)
    }

    #[test]
    fn records_round_trip() {
        let (mut bytes, mut games) = (Vec::new(), Vec::new());
        for seed in 0..200 {
            let (record, plies) = random_game(seed);
            record.write(&mut bytes);
            games.push((record, plies));
        }
        let mut from = bytes.as_slice();
        for (record, plies) in games {
            let read = Record::read(&mut from).unwrap().unwrap();
            assert_eq!(read, record);
            let mut seen = Vec::new();
            read.replay(|position, mv, score| seen.push((position.clone(), mv, score)))
                .unwrap();
            assert_eq!(seen, plies);
        }
        assert!(Record::read(&mut from).unwrap().is_none());
    }

    #[test]
    fn record_layout_is_viriformat() {
        use viriformat::dataformat::Game;
        for seed in 0..200 {
            let (record, plies) = random_game(seed);
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            let theirs = Game::deserialise_from(&mut bytes.as_slice(), Vec::new()).unwrap();
            let (mut board, _, wdl, _) = theirs.initial_position.unpack();
            assert_eq!(wdl, record.outcome() as u8);
            assert_eq!(theirs.moves.len(), plies.len());
            for ((position, _, score), (mv, theirs)) in plies.iter().zip(&theirs.moves) {
                let placement = |fen: &str| {
                    fen.split(' ')
                        .take(2)
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                };
                assert_eq!(placement(&board.to_string()), placement(&position.fen()));
                assert_eq!(theirs.get(), *score);
                assert!(
                    board.make_move_simple(*mv),
                    "{mv:?} is legal for viriformat"
                );
            }
            let mut back = Vec::new();
            theirs.serialise_into(&mut back).unwrap();
            assert_eq!(back, bytes);
        }
    }

    #[test]
    fn damaged_records_are_errors() {
        let (record, _) = random_game(3);
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        let read = |bytes: &[u8]| {
            Record::read(&mut &*bytes)
                .map(|record| record.map(|record| record.replay(|_, _, _| {})))
        };
        assert!(read(&bytes[..20]).is_err());
        assert!(read(&bytes[..bytes.len() - 4]).is_err());
        let mut result = bytes.clone();
        result[30] = 7;
        assert!(read(&result).is_err());
        let mut illegal = bytes.clone();
        illegal[32] = 63;
        assert!(matches!(
            read(&illegal),
            Ok(Some(Err(RecordError::Damaged(_))))
        ));
    }
}
