//! Graph of a game's win probabilities and move times.

use std::fmt::Write as _;

use super::Escaped;
use crate::chess::Color;

/// Size of the image in pixels: probabilities on top, times below.
const WIDTH: f64 = 640.0;
const WIN_HEIGHT: f64 = 180.0;
const TIMES_HEIGHT: f64 = 60.0;

const WHITE: &str = "#f4f1ea";
const BLACK: &str = "#4a4540";
const LINE: &str = "#d08b1d";
/// Background where nothing was measured.
const UNKNOWN: &str = "#8d867c";

/// Longest gap, in plies, that the curve bridges: one side measures only at its own moves.
const MAX_GAP_PLIES: usize = 2;

/// A graph to draw.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// Names of White and Black.
    pub names: [&'a str; 2],
    /// White's win probability after each ply, 0 to 1, where known.
    pub wins: &'a [Option<f64>],
    /// Time of each ply in milliseconds, where known.
    pub times: &'a [Option<u64>],
    /// The side that made the first move.
    pub first: Color,
}

impl Graph<'_> {
    /// The image.
    pub fn svg(&self) -> String {
        let [white, black] = self.names;
        let height = WIN_HEIGHT + TIMES_HEIGHT;
        let title = format!("White's chance of winning: {white} against {black}");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\
             <title>{}</title><path fill=\"{UNKNOWN}\" d=\"M0 0h{WIDTH}v{WIN_HEIGHT}h-{WIDTH}z\"/>\
             <path fill=\"{BLACK}\" d=\"M0 {WIN_HEIGHT}h{WIDTH}v{TIMES_HEIGHT}h-{WIDTH}z\"/>{}\
             <path fill=\"none\" stroke=\"#b5aea4\" stroke-dasharray=\"4 4\" d=\"M0 {}h{WIDTH}\"/>{}</svg>\n",
            Escaped(&title),
            self.curve(),
            WIN_HEIGHT / 2.0,
            self.bars(),
        )
    }

    /// Horizontal position of a ply.
    fn x(&self, ply: usize) -> f64 {
        let plies = self.wins.len().max(self.times.len()).max(1);
        WIDTH * ply as f64 / plies as f64
    }

    /// White's win probability from below, Black's above, and a line in between, where known.
    fn curve(&self) -> String {
        let known = (0..).zip(self.wins);
        let known: Vec<(usize, f64)> = known
            .filter_map(|(ply, win)| Some((ply, (*win)?.clamp(0.0, 1.0))))
            .collect();
        let runs = known.chunk_by(|(one, _), (next, _)| next - one <= MAX_GAP_PLIES);
        runs.map(|run| self.run(run)).collect()
    }

    /// A run of measurements, each in the middle of its ply.
    fn run(&self, known: &[(usize, f64)]) -> String {
        let (Some((first, begin)), Some((last, end))) = (known.first(), known.last()) else {
            return String::new();
        };
        let y = |win: f64| WIN_HEIGHT * (1.0 - win);
        let middle = |ply: usize| f64::midpoint(self.x(ply), self.x(ply + 1));
        let (left, right) = (self.x(*first), self.x(last + 1));
        let mut line = format!("{left:.1} {:.1}", y(*begin));
        for (ply, win) in known {
            let _ = write!(line, " {:.1} {:.1}", middle(*ply), y(*win));
        }
        let _ = write!(line, " {right:.1} {:.1}", y(*end));
        format!(
            "<path fill=\"{BLACK}\" d=\"M{left:.1} 0H{right:.1}V{WIN_HEIGHT}H{left:.1}z\"/>\
             <path fill=\"{WHITE}\" d=\"M{line} {right:.1} {WIN_HEIGHT} {left:.1} {WIN_HEIGHT}z\"/>\
             <path fill=\"none\" stroke=\"{LINE}\" stroke-width=\"2\" d=\"M{line}\"/>"
        )
    }

    /// Times of White upwards, of Black downwards; the longest fills its half.
    fn bars(&self) -> String {
        let longest = self.times.iter().flatten().copied().max().unwrap_or(0);
        if longest == 0 {
            return String::new();
        }
        let middle = WIN_HEIGHT + TIMES_HEIGHT / 2.0;
        let (mut up, mut down) = (String::new(), String::new());
        for (ply, time) in self.times.iter().enumerate() {
            let Some(time) = time else { continue };
            let length = (TIMES_HEIGHT / 2.0 - 2.0) * *time as f64 / longest as f64;
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
    fn svg_of_unknown_values_is_empty() {
        let names = ["Anna", "A&B"];
        let empty = Graph {
            names,
            wins: &[],
            times: &[],
            first: Color::White,
        };
        let nothing = empty.svg();
        assert!(nothing.contains("A&amp;B"));
        let unmeasured = Graph {
            wins: &[None; 9],
            ..empty
        };
        for svg in [nothing, unmeasured.svg()] {
            assert!(!svg.contains(WHITE) && !svg.contains(LINE), "{svg}");
        }
        let wins = [None, Some(0.5), None, Some(1.0)];
        let times = [None, Some(100), Some(0), Some(250)];
        let svg = Graph {
            names,
            wins: &wins,
            times: &times,
            first: Color::Black,
        }
        .svg();
        assert!(
            svg.contains("M160.0 90.0 240.0 90.0 560.0 0.0 640.0 0.0"),
            "{svg}"
        );
        // The curve does not bridge larger gaps.
        let apart = Graph {
            wins: &[Some(0.5), None, None, Some(1.0)],
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
