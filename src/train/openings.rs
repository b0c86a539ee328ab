//! Where games start: after some random moves, or at positions of a list.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::chess::{Epd, Game, Position};
use crate::input;

/// Random plies before the engine plays; a coin decides on one more, so that both sides begin.
const RANDOM_PLIES: usize = 8;

/// The longest file of positions that is read, in bytes.
const LONGEST: u64 = 512 << 20;

/// Who finds none fair of so many has lost his judgement, and plays what comes.
const THROWS: u32 = 100;

/// What the games of a match start from.
pub(super) enum Openings {
    /// Random moves, from a Chess960 position in so many cases of a hundred.
    Random { seed: u32, chess960: u8 },
    /// Positions in the order in which they are used, again and again.
    Listed(Vec<Position>),
}

impl Openings {
    /// The positions of a file of EPD or FEN lines, shuffled by the seed.
    ///
    /// # Errors
    /// When the file cannot be read, with file and line when it is a line of it.
    pub fn load(path: &Path, seed: u32) -> anyhow::Result<Openings> {
        let name = path.display();
        let text =
            input::read_text(path, LONGEST).with_context(|| format!("cannot read {name}"))?;
        let mut positions = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
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

    /// Where the games of a pair start. Random moves are thrown again until the outcome is fair, or nothing seems to be; what
    /// is on a list was chosen by somebody.
    pub fn draw(&self, pair: u64, mut is_fair: impl FnMut(&Game) -> bool) -> Position {
        match self {
            Openings::Listed(positions) => positions[pair as usize % positions.len()].clone(),
            Openings::Random { seed, chess960 } => {
                let mut rng = fastrand::Rng::with_seed(u64::from(*seed) << 32 | pair);
                let mut throws = 0;
                loop {
                    throws += 1;
                    if let Some(start) = random(&mut rng, *chess960)
                        && (throws > THROWS || is_fair(&Game::new(start.clone())))
                    {
                        return start;
                    }
                }
            }
        }
    }
}

/// A position some random plies into a game, of Chess960 in `chess960` percent; `None` when the game ended there.
pub(super) fn random(rng: &mut fastrand::Rng, chess960: u8) -> Option<Position> {
    let mut position = Position::startpos();
    if rng.u8(0..100) < chess960 {
        position = Position::chess960_start(rng.u32(0..960))?;
    }
    for _ in 0..RANDOM_PLIES + rng.usize(0..2) {
        position.play(rng.choice(position.legal_moves().iter().copied())?);
    }
    position.has_legal_move().then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_used_in_a_shuffled_order_and_again() {
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
    fn random_openings_depend_on_seed_and_pair_and_are_fair() {
        let draw = |seed, pair| {
            let openings = Openings::Random { seed, chess960: 0 };
            openings.draw(pair, |game| game.position().turn().is_white())
        };
        assert_eq!(draw(1, 1).fen(), draw(1, 1).fen());
        assert_ne!(draw(1, 1).fen(), draw(1, 2).fen());
        assert_ne!(draw(1, 1).fen(), draw(2, 1).fen());
        assert!((0..8).all(|pair| draw(1, pair).turn().is_white()));
    }
}
