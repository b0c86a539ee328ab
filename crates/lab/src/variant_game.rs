//! A game with the score of every position, and its form in files of variants.
//!
//! The [`Record`]s of standard chess have no place for pieces in hand, counters of checks or more than 32 pieces. A game of
//! a variant is a line of text: the variant, the FEN of the start, the points of White (0, 1 or 2), and the moves in UCI
//! notation, each with the score of the position before it, as in a record; the parts are separated by semicolons.

use std::io::Write as _;

use anyhow::{Context, bail};

use super::record::{Outcome, Record};
use knightwatch_chess::{Color, Move, Position, Variant};

/// A game with the score of every position in which a move was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariantGame {
    pub start: Position,
    pub outcome: Outcome,
    /// Moves, each with the score before it in centipawns for White.
    pub plies: Vec<(Move, i16)>,
}

impl VariantGame {
    /// A game without moves.
    pub(super) fn new(start: Position) -> VariantGame {
        VariantGame {
            start,
            outcome: Outcome::Draw,
            plies: Vec::new(),
        }
    }

    /// The game in the form for standard chess.
    pub(super) fn record(&self) -> Record {
        let mut record = Record::new(self.start.clone());
        for &(mv, score) in &self.plies {
            record.push(mv, score);
        }
        record.finish(self.outcome);
        record
    }

    /// Appends the line of the game.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let start = &self.start;
        let points = self.outcome.points(Color::White);
        let mut text = format!("{};{};{points};", start.variant().key(), start.fen());
        let notation = start.castling_notation();
        for (mv, score) in &self.plies {
            text += &format!("{} {score} ", mv.uci(notation));
        }
        writeln!(into, "{}", text.trim_end()).expect("memory takes everything");
    }

    /// Reads a line.
    ///
    /// # Errors
    /// When it is not a game, or a move is illegal.
    pub(super) fn read(line: &str) -> anyhow::Result<VariantGame> {
        let parts: Vec<&str> = line.split(';').collect();
        let [variant, fen, points, moves] = parts[..] else {
            bail!("expected variant, FEN, points and moves");
        };
        let variant = Variant::from_name(variant).context("an unknown variant")?;
        let mut game = VariantGame::new(Position::from_variant_fen(variant, fen)?);
        game.outcome = match points {
            "0" => Outcome::BlackWins,
            "1" => Outcome::Draw,
            "2" => Outcome::WhiteWins,
            _ => bail!("expected 0, 1 or 2 points"),
        };
        let mut position = game.start.clone();
        let mut words = moves.split(' ').filter(|word| !word.is_empty());
        while let Some(uci) = words.next() {
            let mv = position.parse_uci(uci)?;
            let score = words.next().context("a move without a score")?.parse()?;
            game.plies.push((mv, score));
            position.play(mv);
        }
        Ok(game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_of_variants_round_trip() {
        let mut random = fastrand::Rng::with_seed(3);
        for variant in Variant::ALL {
            let mut game = VariantGame::new(variant.start());
            let mut position = variant.start();
            for score in -40..80 {
                let Some(mv) = random.choice(position.legal_moves().iter().copied()) else {
                    break;
                };
                game.plies.push((mv, score * 400));
                position.play(mv);
            }
            game.outcome = Outcome::BlackWins;
            let mut bytes = Vec::new();
            game.write(&mut bytes);
            let text = String::from_utf8(bytes).unwrap();
            let line = text.strip_suffix('\n').unwrap();
            assert_eq!(VariantGame::read(line).unwrap(), game, "{line}");
        }
        for damaged in [
            "",
            "horde;8/8;0;",
            "atomic;4k3/8/8/8/8/8/8/4K3 w - - 0 1;3;",
        ] {
            assert!(VariantGame::read(damaged).is_err(), "{damaged}");
        }
    }
}
