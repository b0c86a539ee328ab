//! When to offer a draw, to take one, to resign. Pure.

use crate::config;
use crate::engine::Score;

/// Between two draw offers of ours, in plies: Lichess ignores an offer within 20 plies of the last one.
const OFFER_EVERY: usize = 40;

/// What our last scores say about manners.
#[derive(Clone, Debug, Default)]
pub struct Mood {
    /// Moves of ours in a row with a score near zero.
    level: u32,
    /// Moves of ours in a row with a score near zero or below.
    modest: u32,
    /// Moves of ours in a row with a lost position.
    lost: u32,
    /// The ply of our last draw offer.
    offered: Option<usize>,
}

/// What to do beside the move, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Just play.
    Play,
    /// Play and offer a draw; takes the opponent's offer if there is one.
    Draw,
    /// Resign instead.
    Resign,
}

impl Mood {
    /// Takes up the score of a search of ours.
    pub fn feel(&mut self, score: Score, draw: &config::Draw, resign: &config::Resign) {
        let (level, lost, worse) = match score {
            Score::Centipawns(cp) => (
                cp.unsigned_abs() <= draw.score_cp,
                cp < 0 && cp.unsigned_abs() >= resign.score_cp,
                cp < 0,
            ),
            Score::Mate(moves) => (false, moves <= 0, moves <= 0),
        };
        let count = |so_far: u32, is: bool| if is { so_far + 1 } else { 0 };
        self.level = count(self.level, level);
        self.modest = count(self.modest, level || worse);
        self.lost = count(self.lost, lost);
    }

    /// Whether we take a draw that is offered at this ply: nothing better has been in sight for a while.
    pub fn takes(&self, ply: usize, draw: &config::Draw) -> bool {
        draw.accept && self.modest >= draw.moves.max(1) && late_enough(ply, draw)
    }

    /// Whether we offer a draw at this ply.
    fn offers(&self, ply: usize, draw: &config::Draw) -> bool {
        let lately = self.offered.is_some_and(|last| ply < last + OFFER_EVERY);
        draw.offer && !lately && self.level >= draw.moves.max(1) && late_enough(ply, draw)
    }

    /// What to do with the move that is about to be played. `offered` is the opponent's offer.
    pub fn manner(
        &mut self,
        ply: usize,
        offered: bool,
        draw: &config::Draw,
        resign: &config::Resign,
    ) -> Manner {
        if resign.enabled && self.lost >= resign.moves.max(1) {
            return Manner::Resign;
        }
        if offered {
            return if self.takes(ply, draw) {
                Manner::Draw
            } else {
                Manner::Play
            };
        }
        if self.offers(ply, draw) {
            self.offered = Some(ply);
            return Manner::Draw;
        }
        Manner::Play
    }
}

fn late_enough(ply: usize, draw: &config::Draw) -> bool {
    ply >= 2 * draw.min_move as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn felt(scores: &[Score]) -> Mood {
        let mut mood = Mood::default();
        for &score in scores {
            mood.feel(score, &config::Draw::default(), &config::Resign::default());
        }
        mood
    }

    const LEVEL: [Score; 6] = [Score::Centipawns(-3); 6];

    #[test]
    fn a_draw_is_offered_once_in_a_long_while() {
        let (draw, resign) = (config::Draw::default(), config::Resign::default());
        let mut mood = felt(&LEVEL);
        assert_eq!(
            mood.manner(60, false, &draw, &resign),
            Manner::Play,
            "too early"
        );
        assert_eq!(mood.manner(80, false, &draw, &resign), Manner::Draw);
        assert_eq!(mood.manner(82, false, &draw, &resign), Manner::Play);
        assert_eq!(
            mood.manner(84, true, &draw, &resign),
            Manner::Draw,
            "theirs is taken at any time"
        );
        assert_eq!(mood.manner(120, false, &draw, &resign), Manner::Draw);
    }

    #[test]
    fn no_draw_is_given_away() {
        let (draw, resign) = (config::Draw::default(), config::Resign::default());
        for last in [Score::Centipawns(80), Score::Mate(3)] {
            let mut mood = felt(&[&LEVEL[..], &[last]].concat());
            assert_eq!(
                mood.manner(100, true, &draw, &resign),
                Manner::Play,
                "{last:?}"
            );
        }
        let bad = [Score::Centipawns(-90), Score::Mate(-9)].repeat(3);
        assert_eq!(
            felt(&bad).manner(100, true, &draw, &resign),
            Manner::Draw,
            "with thanks"
        );
        assert_eq!(
            felt(&bad).manner(100, false, &draw, &resign),
            Manner::Play,
            "nobody would take it"
        );
        let never = config::Draw {
            offer: false,
            accept: false,
            ..draw
        };
        assert_eq!(
            felt(&LEVEL).manner(100, true, &never, &resign),
            Manner::Play
        );
    }

    #[test]
    fn resigns_only_when_told_to_and_only_when_it_stays_lost() {
        let (draw, off) = (config::Draw::default(), config::Resign::default());
        let on = config::Resign {
            enabled: true,
            ..off.clone()
        };
        let lost = [
            Score::Centipawns(-950),
            Score::Mate(-5),
            Score::Centipawns(-1200),
            Score::Mate(-2),
        ];
        assert_eq!(felt(&lost).manner(90, false, &draw, &off), Manner::Play);
        assert_eq!(felt(&lost).manner(90, false, &draw, &on), Manner::Resign);
        assert_eq!(felt(&lost[..3]).manner(90, false, &draw, &on), Manner::Play);
        let hope = [&lost[..], &[Score::Centipawns(0)]].concat();
        assert_eq!(felt(&hope).manner(90, false, &draw, &on), Manner::Play);
    }
}
