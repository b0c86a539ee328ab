//! Chess960 start positions.

use super::{Position, Role};

impl Position {
    /// The Chess960 start position with this number (Scharnagl's); 518 is the standard one. `None` from 960 on.
    ///
    /// ```
    /// # use knightwatch_chess::Position;
    /// assert_eq!(Position::chess960_start(518), Some(Position::startpos()));
    /// assert_eq!(Position::chess960_start(960), None);
    /// ```
    pub fn chess960_start(number: u32) -> Option<Position> {
        if number >= 960 {
            return None;
        }
        let mut roles = [None; 8];
        let number = number as usize;
        roles[number % 4 * 2 + 1] = Some(Role::Bishop);
        roles[number / 4 % 4 * 2] = Some(Role::Bishop);
        put_on_free(&mut roles, number / 16 % 6, Role::Queen);
        // The ten placements of two knights on five squares.
        const KNIGHTS: [(usize, usize); 10] = [
            (0, 1),
            (0, 2),
            (0, 3),
            (0, 4),
            (1, 2),
            (1, 3),
            (1, 4),
            (2, 3),
            (2, 4),
            (3, 4),
        ];
        let (first, second) = KNIGHTS[number / 96];
        put_on_free(&mut roles, second, Role::Knight);
        put_on_free(&mut roles, first, Role::Knight);
        for role in [Role::Rook, Role::King, Role::Rook] {
            put_on_free(&mut roles, 0, role);
        }
        let pieces: String = roles.iter().flatten().map(|role| role.char()).collect();
        let fen = format!(
            "{pieces}/pppppppp/8/8/8/8/PPPPPPPP/{} w KQkq - 0 1",
            pieces.to_ascii_uppercase()
        );
        Position::from_fen(&fen).ok()
    }
}

/// Places a piece on the `number`-th free square, counted from the a-file.
fn put_on_free(roles: &mut [Option<Role>; 8], number: usize, role: Role) {
    if let Some(place) = roles.iter_mut().filter(|place| place.is_none()).nth(number) {
        *place = Some(role);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chess960_starts_are_distinct() {
        let rank = |number| Position::chess960_start(number).map(|position| position.fen());
        let first = "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1";
        let last = "rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w KQkq - 0 1";
        assert_eq!(rank(0).as_deref(), Some(first));
        assert_eq!(rank(959).as_deref(), Some(last));
        let all: std::collections::HashSet<_> = (0..960).map(rank).collect();
        assert_eq!(all.len(), 960);
        let shredder = Position::startpos().shredder_fen();
        assert_eq!(
            shredder,
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1"
        );
    }
}
