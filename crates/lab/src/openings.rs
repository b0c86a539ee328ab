//! Openings: random moves or positions from a file.

use std::path::Path;

use anyhow::{Context, ensure};

use knightwatch_chess::{Epd, Game, Position, Variant};
use knightwatch_util::input;

/// Random plies before the engine plays; one more with a probability of 50 %, so that either side may be to move.
const RANDOM_PLIES: usize = 8;

/// The same in variants, in which random moves lose sooner.
const VARIANT_RANDOM_PLIES: usize = 4;

/// Upper limit of an opening file, in bytes.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Random openings that are tried before an unbalanced one is accepted.
const MAX_RANDOM_DRAWS: u32 = 100;

/// Source of a match's openings.
pub(super) enum Openings {
    /// Random moves; in standard chess from a Chess960 position in this percentage of cases.
    Random {
        seed: u32,
        variant: Variant,
        chess960: u8,
    },
    /// A list of positions, used in order and repeatedly.
    Listed(Vec<Position>),
}

impl Openings {
    /// Loads a file of EPD or FEN lines, shuffled by the seed.
    ///
    /// # Errors
    /// When the file cannot be read, or a line is invalid (with its number).
    pub(crate) fn load(path: &Path, seed: u32) -> anyhow::Result<Openings> {
        let name = path.display();
        let text = input::read_text(path, MAX_FILE_BYTES)
            .with_context(|| format!("cannot read {name}"))?;
        let mut positions = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let epd = Epd::parse(line).with_context(|| format!("{name}:{number}"))?;
            ensure!(
                epd.position.has_legal_move(),
                "{name}:{number}: the game is over"
            );
            positions.push(epd.position);
        }
        ensure!(!positions.is_empty(), "{name} has no positions");
        fastrand::Rng::with_seed(seed.into()).shuffle(&mut positions);
        Ok(Openings::Listed(positions))
    }

    /// The number of openings, if they are listed.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Openings::Listed(positions) => Some(positions.len() as u64),
            Openings::Random { .. } => None,
        }
    }

    /// The opening of a pair. Random moves are drawn again until `is_fair` accepts the position or too many were rejected; listed
    /// positions are always used.
    pub(crate) fn draw(&self, pair: u64, mut is_fair: impl FnMut(&Game) -> bool) -> Position {
        match self {
            Openings::Listed(positions) => positions[pair as usize % positions.len()].clone(),
            Openings::Random {
                seed,
                variant,
                chess960,
            } => {
                let mut rng = fastrand::Rng::with_seed(u64::from(*seed) << 32 | pair);
                let mut draws = 0;
                loop {
                    draws += 1;
                    if let Some(start) = random(&mut rng, *variant, *chess960)
                        && (draws > MAX_RANDOM_DRAWS || is_fair(&Game::new(start.clone())))
                    {
                        return start;
                    }
                }
            }
        }
    }
}

/// A position after some random plies, in standard chess from Chess960 in `chess960` percent of cases; `None` if the game
/// ended.
pub(super) fn random(rng: &mut fastrand::Rng, variant: Variant, chess960: u8) -> Option<Position> {
    let mut position = variant.start();
    let plies = match variant {
        Variant::Standard => RANDOM_PLIES,
        _ => VARIANT_RANDOM_PLIES,
    };
    if variant == Variant::Standard && rng.u8(0..100) < chess960 {
        position = Position::chess960_start(rng.u32(0..960))?;
    }
    for _ in 0..plies + rng.usize(0..2) {
        position.play(rng.choice(position.legal_moves().iter().copied())?);
    }
    position.has_legal_move().then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_of_a_file_are_shuffled_and_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("openings.epd");
        let lines = "# two and a comment\n\n\
            rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - hmvc 0; fmvn 1;\n\
            rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -\n";
        std::fs::write(&path, lines).expect("written");
        let openings = Openings::load(&path, 3).expect("a list");
        let at = |pair| openings.draw(pair, |_| panic!("nobody is asked")).fen();
        assert_ne!(at(0), at(1));
        assert_eq!((at(0), at(1)), (at(2), at(3)));

        std::fs::write(&path, format!("{lines}8/8 w - -\n")).expect("written");
        let error = format!("{:#}", Openings::load(&path, 3).err().expect("refused"));
        assert!(
            error.contains("openings.epd:5: ") && error.contains("8 ranks"),
            "{error}"
        );
    }

    #[test]
    fn openings_random_are_deterministic_and_fair() {
        let draw = |seed, pair| {
            let openings = Openings::Random {
                seed,
                variant: Variant::Standard,
                chess960: 0,
            };
            openings.draw(pair, |game| game.position().turn().is_white())
        };
        assert_eq!(draw(1, 1).fen(), draw(1, 1).fen());
        assert_ne!(draw(1, 1).fen(), draw(1, 2).fen());
        assert_ne!(draw(1, 1).fen(), draw(2, 1).fen());
        assert!((0..8).all(|pair| draw(1, pair).turn().is_white()));
    }
}
