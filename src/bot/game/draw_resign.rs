//! When to offer a draw, to take one, to resign. Pure.

use std::time::Duration;

use crate::config;
use crate::engine::{Score, Wdl};

/// Between two draw offers of ours, in plies: Lichess ignores an offer within 20 plies of the last one.
const OFFER_EVERY: usize = 40;

/// Nobody resigns what is lost in fewer of 100 games, however bad the score.
const SURELY_LOST: f64 = 95.0;

/// A position that was lost is so until it is better than this share of what makes one lost: scores swing a little from move
/// to move.
const STILL_LOST: f64 = 2.0 / 3.0;

/// What our last scores say about manners.
#[derive(Clone, Debug, Default)]
pub struct ScoreTrend {
    /// Moves of ours in a row in which neither side was likely to win.
    level: u32,
    /// Moves of ours in a row in which we were not.
    modest: u32,
    /// Moves of ours with a lost position, without a hope between them.
    lost: u32,
    /// The ply of our last draw offer, and how many there were.
    offered: Option<usize>,
    offers: u32,
}

/// How things stand when our move has been found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Half-moves on the board.
    pub ply: usize,
    /// The opponent offers a draw.
    pub offered: bool,
    /// The opponent's clock, where there is one.
    pub their_time: Option<Duration>,
}

/// What to do beside the move, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawResignDecision {
    /// Just play.
    Play,
    /// Play and offer a draw; takes the opponent's offer if there is one.
    Draw,
    /// Resign instead.
    Resign,
}

impl ScoreTrend {
    /// Takes up the score of a search of ours, with so much material on the board.
    pub fn feel(
        &mut self,
        score: Score,
        material: u32,
        draw: &config::Draw,
        resign: &config::Resign,
    ) {
        let Wdl { win, loss } = Wdl::of(score, material);
        let most = f64::from(draw.max_win_percent);
        let count = |so_far: u32, is: bool| if is { so_far + 1 } else { 0 };
        self.modest = count(self.modest, win <= most);
        self.level = count(self.level, win <= most && loss <= most);
        let down = match score {
            Score::Centipawns(cp) => f64::from(-cp),
            Score::Mate(moves) if moves > 0 => f64::NEG_INFINITY,
            Score::Mate(_) => f64::INFINITY,
        };
        let limit = f64::from(resign.score_cp);
        if down >= limit && loss >= SURELY_LOST {
            self.lost += 1;
        } else if down < limit * STILL_LOST {
            self.lost = 0;
        }
    }

    /// Moves were taken back: what we felt about them counts no more.
    pub fn forget(&mut self) {
        (self.level, self.modest, self.lost) = (0, 0, 0);
    }

    /// Whether we take a draw that is offered at this ply: nothing better has been in sight for a while.
    pub fn takes(&self, ply: usize, draw: &config::Draw) -> bool {
        draw.accept && self.modest >= draw.min_level_moves.max(1) && late_enough(ply, draw)
    }

    /// Why we do not take a draw at this ply.
    pub fn objection(&self, ply: usize, draw: &config::Draw) -> String {
        let moves = draw.min_level_moves.max(1);
        if !draw.accept {
            "draws are not accepted in this game".to_owned()
        } else if !late_enough(ply, draw) {
            format!("none is accepted before move {}", draw.min_move)
        } else if moves == 1 {
            "we may still win".to_owned()
        } else {
            format!(
                "we may still win, or have searched fewer than {moves} moves in a row without winning chances"
            )
        }
    }

    /// Whether we offer a draw at this ply.
    fn offers(&self, ply: usize, draw: &config::Draw) -> bool {
        let lately = self.offered.is_some_and(|last| ply < last + OFFER_EVERY);
        let may = draw.offer && !lately && self.offers < draw.max_offers;
        may && self.level >= draw.min_level_moves.max(1) && late_enough(ply, draw)
    }

    /// Whether we resign: there is no hope any more on the board, and none on the opponent's clock either.
    fn resigns(&self, their_time: Option<Duration>, resign: &config::Resign) -> bool {
        let pressed = their_time.is_some_and(|time| time < resign.their_time());
        resign.enabled && self.lost >= resign.min_lost_moves.max(1) && !pressed
    }

    /// What to do with the move that is about to be played.
    pub fn manner(
        &mut self,
        moment: Moment,
        draw: &config::Draw,
        resign: &config::Resign,
    ) -> DrawResignDecision {
        let Moment { ply, offered, .. } = moment;
        if offered && self.takes(ply, draw) {
            return DrawResignDecision::Draw;
        }
        if self.resigns(moment.their_time, resign) {
            return DrawResignDecision::Resign;
        }
        if !offered && self.offers(ply, draw) {
            self.offered = Some(ply);
            self.offers += 1;
            return DrawResignDecision::Draw;
        }
        DrawResignDecision::Play
    }
}

fn late_enough(ply: usize, draw: &config::Draw) -> bool {
    ply >= 2 * draw.min_move as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rooks and pawns.
    const ENDING: u32 = 4;
    const OPENING: u32 = 24;

    /// The settings: draws as they are, and resignation where a rule asks for it.
    fn settings() -> (config::Draw, config::Resign) {
        (config::Draw::default(), config::Resign::default())
    }

    fn felt_with(material: u32, scores: &[Score]) -> ScoreTrend {
        let (draw, resign) = settings();
        let mut mood = ScoreTrend::default();
        for &score in scores {
            mood.feel(score, material, &draw, &resign);
        }
        mood
    }

    fn felt(scores: &[Score]) -> ScoreTrend {
        felt_with(ENDING, scores)
    }

    fn at(ply: usize, offered: bool) -> Moment {
        Moment {
            ply,
            offered,
            their_time: Some(Duration::from_secs(60)),
        }
    }

    fn cp(scores: &[i32]) -> Vec<Score> {
        scores.iter().copied().map(Score::Centipawns).collect()
    }

    const LEVEL: [Score; 6] = [Score::Centipawns(-3); 6];

    #[test]
    fn a_draw_is_offered_once_in_a_long_while() {
        let (draw, resign) = settings();
        let mut mood = felt(&LEVEL);
        for (ply, offered, expected, why) in [
            (60, false, DrawResignDecision::Play, "too early"),
            (80, false, DrawResignDecision::Draw, "level for long enough"),
            (82, false, DrawResignDecision::Play, "not again"),
            (
                84,
                true,
                DrawResignDecision::Draw,
                "theirs is taken at any time",
            ),
            (118, false, DrawResignDecision::Play, "not yet"),
            (120, false, DrawResignDecision::Draw, "after twenty moves"),
            (160, false, DrawResignDecision::Draw, "and a third time"),
            (
                200,
                false,
                DrawResignDecision::Play,
                "but no more than that",
            ),
            (400, false, DrawResignDecision::Play, "ever"),
        ] {
            let manner = mood.manner(at(ply, offered), &draw, &resign);
            assert_eq!(manner, expected, "at {ply}: {why}");
        }
    }

    #[test]
    fn level_is_what_nobody_would_win() {
        let (draw, resign) = settings();
        for (material, score, offers, takes) in [
            (ENDING, 0, true, true),
            (ENDING, -20, true, true),
            (0, 60, true, true),
            (0, 120, false, false),
            (OPENING, 0, false, false),
            (ENDING, 150, false, false),
            (ENDING, -150, false, true),
            (OPENING, -60, false, false),
            (OPENING, -600, false, true),
        ] {
            let scores = cp(&[score; 6]);
            let manner = |offered| {
                let mut mood = felt_with(material, &scores);
                mood.manner(at(100, offered), &draw, &resign) == DrawResignDecision::Draw
            };
            let both = (manner(false), manner(true));
            assert_eq!(both, (offers, takes), "{score} with {material}");
        }
    }

    #[test]
    fn no_draw_is_given_away() {
        let (draw, resign) = settings();
        for last in [Score::Centipawns(180), Score::Mate(3)] {
            let mut mood = felt(&[&LEVEL[..], &[last]].concat());
            let manner = mood.manner(at(100, true), &draw, &resign);
            assert_eq!(manner, DrawResignDecision::Play, "{last:?}");
        }
        let never = config::Draw {
            offer: false,
            accept: false,
            ..draw
        };
        for offered in [false, true] {
            let manner = felt(&LEVEL).manner(at(100, offered), &never, &resign);
            assert_eq!(manner, DrawResignDecision::Play);
        }
    }

    #[test]
    fn a_draw_that_is_not_taken_has_a_reason() {
        let (draw, _) = settings();
        let never = config::Draw {
            accept: false,
            ..draw.clone()
        };
        let mood = felt(&cp(&[180; 6]));
        for (draw, ply, why) in [
            (&never, 100, "draws are not accepted"),
            (&draw, 10, "none is accepted before move 35"),
            (&draw, 100, "we may still win"),
        ] {
            assert!(!mood.takes(ply, draw));
            let objection = mood.objection(ply, draw);
            assert!(objection.starts_with(why), "{objection}");
        }
    }

    #[test]
    fn a_draw_is_better_than_to_resign() {
        let (draw, resign) = settings();
        let lost = cp(&[-950; 6]);
        let manner = |offered| felt(&lost).manner(at(100, offered), &draw, &resign);
        assert_eq!(manner(false), DrawResignDecision::Resign);
        assert_eq!(manner(true), DrawResignDecision::Draw, "with thanks");
    }

    #[test]
    fn resigns_only_when_it_stays_lost() {
        let (draw, on) = settings();
        let off = config::Resign {
            enabled: false,
            ..on.clone()
        };
        let table: [(&[i32], bool); 7] = [
            (&[-950, -1_000, -1_200, -900], true),
            (&[-950, -1_000, -1_200], false),
            (&[-950, -1_000, -1_200, -899], false),
            // A little less is no hope, and no further proof either.
            (&[-950, -1_000, -700, -1_200, -900], true),
            (&[-950, -1_000, -700, -1_200], false),
            (&[-950, -1_000, -500, -1_200, -900], false),
            (&[-950, -1_000, -1_200, -900, 0], false),
        ];
        for (scores, resigns) in table {
            let manner = |resign| felt(&cp(scores)).manner(at(90, false), &draw, resign);
            assert_eq!(
                manner(&on) == DrawResignDecision::Resign,
                resigns,
                "{scores:?}"
            );
            assert_eq!(manner(&off), DrawResignDecision::Play);
        }
        let mated = [
            Score::Mate(-5),
            Score::Mate(-4),
            Score::Mate(-3),
            Score::Mate(-2),
        ];
        let manner = felt(&mated).manner(at(90, false), &draw, &on);
        assert_eq!(manner, DrawResignDecision::Resign);
    }

    #[test]
    fn nobody_resigns_where_there_is_too_little_to_win_with() {
        let (draw, default) = settings();
        let early = config::Resign {
            score_cp: 300,
            ..default
        };
        for (material, score, resigns) in [
            (OPENING, -450, true),
            (OPENING, -310, false),
            (ENDING, -450, false),
            (ENDING, -600, true),
        ] {
            let mut mood = ScoreTrend::default();
            for score in cp(&[score; 4]) {
                mood.feel(score, material, &draw, &early);
            }
            let manner = mood.manner(at(90, false), &draw, &early);
            assert_eq!(
                manner == DrawResignDecision::Resign,
                resigns,
                "{score} with {material}"
            );
        }
    }

    #[test]
    fn nobody_resigns_to_a_falling_flag() {
        let (draw, resign) = settings();
        let lost = cp(&[-950; 4]);
        for (seconds, expected) in [
            (Some(5), DrawResignDecision::Play),
            (Some(19), DrawResignDecision::Play),
            (Some(20), DrawResignDecision::Resign),
            (None, DrawResignDecision::Resign),
        ] {
            let moment = Moment {
                their_time: seconds.map(Duration::from_secs),
                ..at(90, false)
            };
            let manner = felt(&lost).manner(moment, &draw, &resign);
            assert_eq!(manner, expected, "{seconds:?}");
        }
    }

    #[test]
    fn what_was_taken_back_is_forgotten() {
        let (draw, resign) = settings();
        for scores in [&LEVEL[..], &cp(&[-950; 4])] {
            let mut mood = felt(scores);
            mood.forget();
            assert_eq!(
                mood.manner(at(100, true), &draw, &resign),
                DrawResignDecision::Play
            );
        }
    }
}
