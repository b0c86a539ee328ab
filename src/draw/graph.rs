//! Who stood how well in a game, and how long each move took.

use std::fmt::Write as _;

use super::Escaped;
use crate::chess::Color;

/// The picture's size, in pixels: the chances above, the times below.
const WIDTH: f64 = 640.0;
const CHANCES: f64 = 180.0;
const TIMES: f64 = 60.0;

const WHITE: &str = "#f4f1ea";
const BLACK: &str = "#4a4540";
const LINE: &str = "#d08b1d";
/// Where nothing was measured.
const NOTHING: &str = "#8d867c";

/// Plies between two measurements with a straight line between them: one side measures at its own moves.
const APART: usize = 2;

/// The chance to win of a side that is so many hundredths of a pawn ahead, 0 to 1: the curve that Lichess shows games
/// by, fitted to games of people rated 2300.
pub fn winning_chance(centipawns: i32) -> f64 {
    1.0 / (1.0 + (-0.003_682_08 * f64::from(centipawns)).exp())
}

/// A graph to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// Who had White, and who Black.
    pub names: [&'a str; 2],
    /// White's chance of winning after each ply, 0 to 1, where it is known.
    pub chances: &'a [Option<f64>],
    /// The time that each ply took in milliseconds, where it is known.
    pub times: &'a [Option<u64>],
    /// Who made the first move.
    pub first: Color,
}

impl Graph<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let [white, black] = self.names;
        let height = CHANCES + TIMES;
        let title = format!("White's chance of winning: {white} against {black}");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\
             <title>{}</title><path fill=\"{NOTHING}\" d=\"M0 0h{WIDTH}v{CHANCES}h-{WIDTH}z\"/>\
             <path fill=\"{BLACK}\" d=\"M0 {CHANCES}h{WIDTH}v{TIMES}h-{WIDTH}z\"/>{}\
             <path fill=\"none\" stroke=\"#b5aea4\" stroke-dasharray=\"4 4\" d=\"M0 {}h{WIDTH}\"/>{}</svg>\n",
            Escaped(&title),
            self.curve(),
            CHANCES / 2.0,
            self.bars(),
        )
    }

    /// Where a ply is, from the left.
    fn x(&self, ply: usize) -> f64 {
        let plies = self.chances.len().max(self.times.len()).max(1);
        WIDTH * ply as f64 / plies as f64
    }

    /// White's share from below, Black's above it, and a line between them: only where it was measured.
    fn curve(&self) -> String {
        let known = (0..).zip(self.chances);
        let known: Vec<(usize, f64)> = known
            .filter_map(|(ply, chance)| Some((ply, (*chance)?.clamp(0.0, 1.0))))
            .collect();
        let stretches = known.chunk_by(|(one, _), (next, _)| next - one <= APART);
        stretches.map(|stretch| self.stretch(stretch)).collect()
    }

    /// Measurements that follow one another, each in the middle of its ply.
    fn stretch(&self, known: &[(usize, f64)]) -> String {
        let (Some((first, begin)), Some((last, end))) = (known.first(), known.last()) else {
            return String::new();
        };
        let y = |chance: f64| CHANCES * (1.0 - chance);
        let middle = |ply: usize| (self.x(ply) + self.x(ply + 1)) / 2.0;
        let (left, right) = (self.x(*first), self.x(last + 1));
        let mut line = format!("{left:.1} {:.1}", y(*begin));
        for (ply, chance) in known {
            let _ = write!(line, " {:.1} {:.1}", middle(*ply), y(*chance));
        }
        let _ = write!(line, " {right:.1} {:.1}", y(*end));
        format!(
            "<path fill=\"{BLACK}\" d=\"M{left:.1} 0H{right:.1}V{CHANCES}H{left:.1}z\"/>\
             <path fill=\"{WHITE}\" d=\"M{line} {right:.1} {CHANCES} {left:.1} {CHANCES}z\"/>\
             <path fill=\"none\" stroke=\"{LINE}\" stroke-width=\"2\" d=\"M{line}\"/>"
        )
    }

    /// White's times up, Black's down; the longest fills its half.
    fn bars(&self) -> String {
        let longest = self.times.iter().flatten().copied().max().unwrap_or(0);
        if longest == 0 {
            return String::new();
        }
        let middle = CHANCES + TIMES / 2.0;
        let (mut up, mut down) = (String::new(), String::new());
        for (ply, time) in self.times.iter().enumerate() {
            let Some(time) = time else { continue };
            let length = (TIMES / 2.0 - 2.0) * *time as f64 / longest as f64;
            let (x, width) = (self.x(ply), (self.x(ply + 1) - self.x(ply)) * 0.8);
            let (path, way) = match (ply % 2 == 0) == self.first.is_white() {
                true => (&mut up, -length),
                false => (&mut down, length),
            };
            let _ = write!(path, "M{x:.1} {middle:.1}h{width:.1}v{way:.1}h-{width:.1}z");
        }
        format!("<path fill=\"{WHITE}\" d=\"{up}\"/><path fill=\"#a39b90\" d=\"{down}\"/>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_even_without_an_advantage() {
        assert_eq!(winning_chance(0), 0.5);
        assert!((winning_chance(100) - 0.5910).abs() < 1e-3);
        assert!((winning_chance(-100) + winning_chance(100) - 1.0).abs() < 1e-12);
        assert!(winning_chance(i32::MAX) <= 1.0 && winning_chance(i32::MIN) >= 0.0);
    }

    #[test]
    fn a_graph_of_nothing_is_empty_and_no_number_is_missing() {
        let names = ["Anna", "A&B"];
        let empty = Graph {
            names,
            chances: &[],
            times: &[],
            first: Color::White,
        };
        let nothing = empty.svg();
        assert!(nothing.contains("A&amp;B"));
        let unmeasured = Graph {
            chances: &[None; 9],
            ..empty
        };
        for svg in [nothing, unmeasured.svg()] {
            assert!(!svg.contains(WHITE) && !svg.contains(LINE), "{svg}");
        }
        let chances = [None, Some(0.5), None, Some(1.0)];
        let times = [None, Some(100), Some(0), Some(250)];
        let svg = Graph {
            names,
            chances: &chances,
            times: &times,
            first: Color::Black,
        }
        .svg();
        assert!(
            svg.contains("M160.0 90.0 240.0 90.0 560.0 0.0 640.0 0.0"),
            "{svg}"
        );
        // Nothing is drawn between measurements with others missing between them.
        let apart = Graph {
            chances: &[Some(0.5), None, None, Some(1.0)],
            times: &[],
            names,
            first: Color::White,
        };
        let svg = apart.svg();
        for line in [
            "M0.0 90.0 80.0 90.0 160.0 90.0",
            "M480.0 0.0 560.0 0.0 640.0 0.0",
        ] {
            assert!(svg.contains(&format!("d=\"{line}\"")), "{svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
