//! Decisions to offer or accept a draw and to resign. Pure.

use std::time::Duration;

use crate::chess::{Position, Variant};
use crate::config;
use crate::engine::{Score, Wdl, material};

/// Plies between two draw offers of ours. Lichess ignores an offer within 20 plies of the last one.
const PLIES_BETWEEN_OFFERS: usize = 40;

/// Least probability of a loss, in percent, for resigning, however bad the score.
const MIN_LOSS_PERCENT: f64 = 95.0;

/// A lost position stays lost until its score is better than this share of the limit, since scores fluctuate from move to move.
const STILL_LOST_SHARE: f64 = 2.0 / 3.0;

/// Scores of variants are fitted to results by a logistic curve of about this scale, in centipawns.
const VARIANT_SCALE_CP: f64 = 300.0;

/// Material with which level games of three-check are drawn as often as in standard chess: two rooks.
const MAX_DRAWISH_MATERIAL: u32 = 4;

/// Trend of our recent scores, for draws and resignation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScoreTrend {
    /// Our consecutive moves at which neither side was likely to win.
    level_streak: u32,
    /// Our consecutive moves at which we were not likely to win.
    no_win_streak: u32,
    /// Our moves in a lost position, without a better one in between.
    lost_streak: u32,
    /// Ply of our last draw offer.
    last_offer_ply: Option<usize>,
    /// Draw offers of ours.
    offers_made: u32,
}

/// Situation in which our move was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Situation {
    /// Plies played.
    pub ply: usize,
    /// Whether the opponent offers a draw.
    pub offered: bool,
    /// The opponent's clock, if there is one.
    pub their_time: Option<Duration>,
}

/// Draw or resign decision that goes with our move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawResignDecision {
    /// Play the move.
    Play,
    /// Play the move and offer a draw, or accept the opponent's offer.
    Draw,
    /// Resign instead.
    Resign,
}

impl ScoreTrend {
    /// Records the score of our search, and the results that it lets expect, such as [`chances`].
    pub(crate) fn record(
        &mut self,
        score: Score,
        Wdl { win, loss }: Wdl,
        draw: &config::Draw,
        resign: &config::Resign,
    ) {
        let limit_percent = f64::from(draw.max_win_percent);
        let extend = |streak: u32, holds: bool| if holds { streak + 1 } else { 0 };
        self.no_win_streak = extend(self.no_win_streak, win <= limit_percent);
        self.level_streak = extend(
            self.level_streak,
            win <= limit_percent && loss <= limit_percent,
        );
        let down = match score {
            Score::Centipawns(cp) => -f64::from(cp),
            Score::Mate(moves) if moves > 0 => f64::NEG_INFINITY,
            Score::Mate(_) => f64::INFINITY,
        };
        let limit = f64::from(resign.score_cp);
        if down >= limit && loss >= MIN_LOSS_PERCENT {
            self.lost_streak += 1;
        } else if down < limit * STILL_LOST_SHARE {
            self.lost_streak = 0;
        }
    }

    /// Forgets the scores, after a takeback.
    pub(crate) fn reset(&mut self) {
        (self.level_streak, self.no_win_streak, self.lost_streak) = (0, 0, 0);
    }

    /// Returns whether we accept a draw offer at this ply: we had no winning chances for several moves.
    pub(crate) fn accepts(&self, ply: usize, draw: &config::Draw) -> bool {
        draw.accept && self.no_win_streak >= draw.min_level_moves.max(1) && late_enough(ply, draw)
    }

    /// Explains why we do not accept a draw at this ply.
    pub(crate) fn decline_reason(&self, ply: usize, draw: &config::Draw) -> String {
        let moves = draw.min_level_moves.max(1);
        if !draw.accept {
            "draws are not accepted in this game".to_owned()
        } else if !late_enough(ply, draw) {
            format!("not accepted before move {}", draw.min_move)
        } else if moves == 1 {
            "we may still win".to_owned()
        } else {
            format!(
                "we may still win, or have searched fewer than {moves} moves in a row without winning chances"
            )
        }
    }

    /// Returns whether we offer a draw at this ply.
    fn should_offer(&self, ply: usize, draw: &config::Draw) -> bool {
        let too_soon = self
            .last_offer_ply
            .is_some_and(|last| ply < last + PLIES_BETWEEN_OFFERS);
        let is_allowed = draw.offer && !too_soon && self.offers_made < draw.max_offers;
        is_allowed && self.level_streak >= draw.min_level_moves.max(1) && late_enough(ply, draw)
    }

    /// Returns whether we resign: the position is lost and the opponent is not in time trouble.
    fn should_resign(&self, their_time: Option<Duration>, resign: &config::Resign) -> bool {
        let in_time_trouble = their_time.is_some_and(|time| time < resign.their_time());
        resign.enabled && self.lost_streak >= resign.min_lost_moves.max(1) && !in_time_trouble
    }

    /// Decides about the move that is about to be played.
    pub(crate) fn decide(
        &mut self,
        situation: Situation,
        draw: &config::Draw,
        resign: &config::Resign,
    ) -> DrawResignDecision {
        let Situation { ply, offered, .. } = situation;
        if offered && self.accepts(ply, draw) {
            return DrawResignDecision::Draw;
        }
        if self.should_resign(situation.their_time, resign) {
            return DrawResignDecision::Resign;
        }
        if !offered && self.should_offer(ply, draw) {
            self.last_offer_ply = Some(ply);
            self.offers_made += 1;
            return DrawResignDecision::Draw;
        }
        DrawResignDecision::Play
    }
}

/// Expected results in a position with this score.
///
/// Variants are rarely drawn, so a level score says that either side may win. A game is drawn only if the score is
/// exactly that of a draw, by repetition or material.
pub(crate) fn chances(score: Score, position: &Position) -> Wdl {
    let material = material(position);
    let has_draws = match position.variant() {
        Variant::Standard => true,
        Variant::ThreeCheck => material <= MAX_DRAWISH_MATERIAL,
        _ => false,
    };
    match score {
        Score::Centipawns(0) if !has_draws => Wdl {
            win: 0.0,
            loss: 0.0,
        },
        Score::Centipawns(cp) if !has_draws => {
            let win = 100.0 / (1.0 + (-f64::from(cp) / VARIANT_SCALE_CP).exp());
            Wdl {
                win,
                loss: 100.0 - win,
            }
        }
        _ => Wdl::of(score, material),
    }
}

/// The settings of resignation in games with these rules. Scores of variants are not scaled to winning chances, so only
/// mates count there.
pub(crate) fn resign_by(rules: Variant, resign: &config::Resign) -> config::Resign {
    config::Resign {
        score_cp: match rules {
            Variant::Standard => resign.score_cp,
            _ => u32::MAX,
        },
        ..resign.clone()
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

    /// The default settings.
    fn settings() -> (config::Draw, config::Resign) {
        (config::Draw::default(), config::Resign::default())
    }

    fn trend_with(material: u32, scores: &[Score]) -> ScoreTrend {
        let (draw, resign) = settings();
        let mut score_trend = ScoreTrend::default();
        for &score in scores {
            score_trend.record(score, Wdl::of(score, material), &draw, &resign);
        }
        score_trend
    }

    fn trend(scores: &[Score]) -> ScoreTrend {
        trend_with(ENDING, scores)
    }

    fn at(ply: usize, offered: bool) -> Situation {
        Situation {
            ply,
            offered,
            their_time: Some(Duration::from_secs(60)),
        }
    }

    #[test]
    fn results_that_an_engine_expects_count_instead_of_its_score() {
        let (draw, resign) = settings();
        let streaks = |wdl: [u32; 3]| {
            let mut trend = ScoreTrend::default();
            let score = Score::Centipawns(-1_500);
            trend.record(score, Wdl::from_permille(wdl), &draw, &resign);
            (trend.level_streak, trend.lost_streak)
        };
        // A fortress and a lost position with the same score.
        assert_eq!(streaks([0, 1_000, 0]), (1, 0));
        assert_eq!(streaks([0, 10, 990]), (0, 1));
    }

    fn cp(scores: &[i32]) -> Vec<Score> {
        scores.iter().copied().map(Score::Centipawns).collect()
    }

    const LEVEL: [Score; 6] = [Score::Centipawns(-3); 6];

    #[test]
    fn draw_offers_are_rare_and_limited() {
        let (draw, resign) = settings();
        let mut score_trend = trend(&LEVEL);
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
            let decision = score_trend.decide(at(ply, offered), &draw, &resign);
            assert_eq!(decision, expected, "at {ply}: {why}");
        }
    }

    #[test]
    fn level_score_depends_on_material() {
        let (draw, resign) = settings();
        for (material, score, offers, takes) in [
            (ENDING, 0, true, true),
            (ENDING, -20, true, true),
            (0, 60, true, true),
            (0, 180, false, false),
            (OPENING, 0, false, false),
            (ENDING, 150, false, false),
            (ENDING, -150, false, true),
            (OPENING, -60, false, false),
            (OPENING, -600, false, true),
        ] {
            let scores = cp(&[score; 6]);
            let decision = |offered| {
                let mut score_trend = trend_with(material, &scores);
                score_trend.decide(at(100, offered), &draw, &resign) == DrawResignDecision::Draw
            };
            let both = (decision(false), decision(true));
            assert_eq!(both, (offers, takes), "{score} with {material}");
        }
    }

    #[test]
    fn draw_is_declined_with_winning_chances() {
        let (draw, resign) = settings();
        for last in [Score::Centipawns(180), Score::Mate(3)] {
            let mut score_trend = trend(&[&LEVEL[..], &[last]].concat());
            let decision = score_trend.decide(at(100, true), &draw, &resign);
            assert_eq!(decision, DrawResignDecision::Play, "{last:?}");
        }
        let never = config::Draw {
            offer: false,
            accept: false,
            ..draw
        };
        for offered in [false, true] {
            let decision = trend(&LEVEL).decide(at(100, offered), &never, &resign);
            assert_eq!(decision, DrawResignDecision::Play);
        }
    }

    #[test]
    fn declined_draw_has_reason() {
        let (draw, _) = settings();
        let never = config::Draw {
            accept: false,
            ..draw.clone()
        };
        let score_trend = trend(&cp(&[180; 6]));
        for (draw, ply, why) in [
            (&never, 100, "draws are not accepted"),
            (&draw, 10, "not accepted before move 35"),
            (&draw, 100, "we may still win"),
        ] {
            assert!(!score_trend.accepts(ply, draw));
            let objection = score_trend.decline_reason(ply, draw);
            assert!(objection.starts_with(why), "{objection}");
        }
    }

    #[test]
    fn draw_is_accepted_rather_than_resigning() {
        let (draw, resign) = settings();
        let lost = cp(&[-950; 6]);
        let decision = |offered| trend(&lost).decide(at(100, offered), &draw, &resign);
        assert_eq!(decision(false), DrawResignDecision::Resign);
        assert_eq!(decision(true), DrawResignDecision::Draw, "with thanks");
    }

    #[test]
    fn resigns_only_if_position_stays_lost() {
        let (draw, on) = settings();
        let off = config::Resign {
            enabled: false,
            ..on.clone()
        };
        let table: [(&[i32], bool); 7] = [
            (&[-950, -1_000, -1_200, -900], true),
            (&[-950, -1_000, -1_200], false),
            (&[-950, -1_000, -1_200, -899], false),
            // A slightly better score neither resets nor extends the streak.
            (&[-950, -1_000, -700, -1_200, -900], true),
            (&[-950, -1_000, -700, -1_200], false),
            (&[-950, -1_000, -500, -1_200, -900], false),
            (&[-950, -1_000, -1_200, -900, 0], false),
        ];
        for (scores, resigns) in table {
            let decision = |resign| trend(&cp(scores)).decide(at(90, false), &draw, resign);
            assert_eq!(
                decision(&on) == DrawResignDecision::Resign,
                resigns,
                "{scores:?}"
            );
            assert_eq!(decision(&off), DrawResignDecision::Play);
        }
        let mated = [
            Score::Mate(-5),
            Score::Mate(-4),
            Score::Mate(-3),
            Score::Mate(-2),
        ];
        let decision = trend(&mated).decide(at(90, false), &draw, &on);
        assert_eq!(decision, DrawResignDecision::Resign);
    }

    #[test]
    fn variants_are_resigned_before_mate_only() {
        let (draw, resign) = settings();
        let resign = resign_by(Variant::Atomic, &resign);
        for (score, resigns) in [(Score::Centipawns(-5_000), false), (Score::Mate(-3), true)] {
            let mut score_trend = ScoreTrend::default();
            for _ in 0..6 {
                score_trend.record(
                    score,
                    chances(score, &Variant::Atomic.start()),
                    &draw,
                    &resign,
                );
            }
            let decision = score_trend.decide(at(90, false), &draw, &resign);
            assert_eq!(decision == DrawResignDecision::Resign, resigns, "{score:?}");
        }
    }

    #[test]
    fn variants_are_drawn_by_repetition_or_hopeless_for_us() {
        let (draw, resign) = settings();
        let rooks = "4k2r/8/8/8/8/8/8/R3K3 w - - 0 60 +1+1";
        for (variant, fen, score, offers, takes) in [
            (Variant::Crazyhouse, None, 0, true, true),
            (Variant::Crazyhouse, None, 4, false, false),
            (Variant::Antichess, None, -40, false, false),
            (Variant::Horde, None, 900, false, false),
            (Variant::Atomic, None, -900, false, true),
            (Variant::KingOfTheHill, None, 12, false, false),
            (Variant::ThreeCheck, None, 12, false, false),
            (Variant::ThreeCheck, Some(rooks), 12, true, true),
        ] {
            let fen = fen.unwrap_or(variant.start_fen());
            let position = Position::from_variant_fen(variant, fen).expect("a good FEN");
            let mut score_trend = ScoreTrend::default();
            for score in cp(&[score; 6]) {
                score_trend.record(score, chances(score, &position), &draw, &resign);
            }
            let decision = |offered| {
                score_trend.clone().decide(at(100, offered), &draw, &resign)
                    == DrawResignDecision::Draw
            };
            let both = (decision(false), decision(true));
            assert_eq!(both, (offers, takes), "{variant}: {score}");
        }
    }

    #[test]
    fn resignation_depends_on_expected_loss() {
        let (draw, default) = settings();
        let early = config::Resign {
            score_cp: 300,
            ..default
        };
        for (score, resigns) in [(-450, true), (-310, false)] {
            for material in [OPENING, ENDING] {
                let mut score_trend = ScoreTrend::default();
                for score in cp(&[score; 4]) {
                    score_trend.record(score, Wdl::of(score, material), &draw, &early);
                }
                let decision = score_trend.decide(at(90, false), &draw, &early);
                assert_eq!(
                    decision == DrawResignDecision::Resign,
                    resigns,
                    "{score} with {material}"
                );
            }
        }
    }

    #[test]
    fn no_resignation_if_opponent_is_in_time_trouble() {
        let (draw, resign) = settings();
        let lost = cp(&[-950; 4]);
        for (seconds, expected) in [
            (Some(5), DrawResignDecision::Play),
            (Some(19), DrawResignDecision::Play),
            (Some(20), DrawResignDecision::Resign),
            (None, DrawResignDecision::Resign),
        ] {
            let situation = Situation {
                their_time: seconds.map(Duration::from_secs),
                ..at(90, false)
            };
            let decision = trend(&lost).decide(situation, &draw, &resign);
            assert_eq!(decision, expected, "{seconds:?}");
        }
    }

    #[test]
    fn takeback_resets_streaks() {
        let (draw, resign) = settings();
        for scores in [&LEVEL[..], &cp(&[-950; 4])] {
            let mut score_trend = trend(scores);
            score_trend.reset();
            assert_eq!(
                score_trend.decide(at(100, true), &draw, &resign),
                DrawResignDecision::Play
            );
        }
    }
}
