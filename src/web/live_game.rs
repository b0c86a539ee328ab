//! State of one game on the page, updated by events.

use std::collections::VecDeque;

use super::wire::{self, ChatLine, ClockSetting, Clocks, GAME_ROOM, Game, GameResult, Move, Sides};
use crate::chess::{self, CastlingNotation, Color, Position, Variant};
use crate::events::{self, GameFinished, GameStarted, Moved, Offer, TimeControl, initial_position};
use crate::seconds::DAY;

/// Maximum number of moves of a principal variation while the engine is thinking.
const MAX_THINKING_PV_MOVES: usize = 16;

/// Maximum number of moves of the principal variation stored with a move.
const MAX_MOVE_PV_MOVES: usize = 8;

/// Maximum number of chat lines stored per game.
const MAX_CHAT_LINES: usize = 100;

/// A game as sent to the page, with the board for updating it.
#[derive(Clone, Debug)]
pub(super) struct LiveGame {
    pub view: Game,
    pub ours: Color,
    /// The start, with what the page does not show.
    pub start: GameStarted,
    board: chess::Game,
    notation: CastlingNotation,
    increment_ms: u64,
    has_days: bool,
    /// Recorded moves from before the game was resumed.
    recorded: Vec<Move>,
    /// The side with an unanswered takeback request; the stream may drop the request before the answer.
    open_takeback: Option<Color>,
}

impl LiveGame {
    /// A game that starts at `now`, in milliseconds since 1970. `server` is the base URL.
    pub(super) fn new(start: &GameStarted, server: &str, now: u64) -> Self {
        let initial = initial_position(&start.variant, start.initial_fen.as_deref())
            .unwrap_or_else(Position::startpos);
        // The notation of castling that the server uses.
        let notation = match start.variant.as_str() {
            "standard" => CastlingNotation::Standard,
            _ => CastlingNotation::KingTakesRook,
        };
        let clock = ClockSetting::of(start.time_control);
        let days = match start.time_control {
            TimeControl::Correspondence { days } => Some(u64::from(days) * DAY * 1_000),
            _ => None,
        };
        // In a resumed game the clocks come with the moves.
        let initial_ms = clock.map(|clock| clock.start_ms).or(days);
        let left = initial_ms.filter(|_| start.plies == 0);
        let mut live = Self {
            view: Game {
                id: start.game.clone(),
                url: format!("{}/{}", server.trim_end_matches('/'), start.game),
                white: start.white.clone(),
                black: start.black.clone(),
                ours: start.our_color.key(),
                speed: start.speed.clone(),
                time_control: start.time_control.to_string(),
                clock,
                rated: start.rated,
                variant: start.variant.clone(),
                tournament: start.tournament.clone(),
                engine: start.engine.clone(),
                start_fen: initial.fen(),
                started: now,
                moves: Vec::new(),
                fen: String::new(),
                check: false,
                legal: Vec::new(),
                clocks: Clocks {
                    white_ms: left,
                    black_ms: left,
                    at: now,
                    running: None,
                },
                thinking: None,
                draw_offer: None,
                last_draw_offer: Sides::default(),
                takeback: None,
                takebacks_allowed: true,
                opponent_gone: false,
                chat: VecDeque::new(),
                result: None,
            },
            board: chess::Game::new(initial),
            ours: start.our_color,
            start: start.clone(),
            notation,
            increment_ms: clock.map_or(0, |clock| clock.increment_ms),
            has_days: days.is_some(),
            recorded: Vec::new(),
            open_takeback: None,
        };
        live.refresh();
        live
    }

    /// The current position.
    pub(super) fn position(&self) -> &Position {
        self.board.position()
    }

    /// The game with its moves.
    pub(super) fn board(&self) -> &chess::Game {
        &self.board
    }

    /// The side at the bottom of a picture: ours, but both sides of racing kings see the board from White's.
    pub(super) fn orientation(&self) -> Color {
        match self.position().variant() {
            Variant::RacingKings => Color::White,
            _ => self.ours,
        }
    }

    /// Returns whether the game is over.
    pub(super) fn is_over(&self) -> bool {
        self.view.result.is_some()
    }

    /// Adds a move. Returns whether it is new: the events of a resumed game repeat all moves.
    pub(super) fn on_move(&mut self, moved: &Moved, now: u64) -> bool {
        let index = moved.ply.saturating_sub(1) as usize;
        if let Some(known) = self.view.moves.get(index) {
            if known.uci == moved.uci {
                return false;
            }
            self.truncate_to(moved.ply - 1, now);
        }
        // Missed moves are added at the end of the game.
        if index != self.view.moves.len() || !self.play(&moved.uci, (moved.wtime, moved.btime)) {
            return false;
        }
        self.add_search_info(moved.search.as_ref());
        self.merge_move(index);
        self.view.clocks.at = now;
        self.view.thinking = None;
        true
    }

    /// Declines the offers of the opponent of `by`, who has moved. Returns whether there was an offer.
    pub(super) fn decline_by_move(&mut self, by: Color, now: u64) -> bool {
        let draw = self.decline(by, Offer::Draw, now);
        let takeback = self.decline(by, Offer::Takeback, now);
        // A move withdraws the requests of the mover.
        self.view.takeback = None;
        self.open_takeback = None;
        draw || takeback
    }

    /// Sets the draw offer of a side.
    pub(super) fn offer_draw(&mut self, by: Color, now: u64) {
        let plies = Some(self.view.moves.len() as u32);
        self.view.draw_offer = Some(by.key());
        match by {
            Color::White => self.view.last_draw_offer.white = plies,
            Color::Black => self.view.last_draw_offer.black = plies,
        }
        self.add_event_line(by, "offered a draw", now);
    }

    /// Sets or withdraws the takeback request of a side.
    pub(super) fn set_takeback_request(&mut self, by: Color, pending: bool, now: u64) {
        if pending {
            self.view.takeback = Some(by.key());
            self.open_takeback = Some(by);
            self.add_event_line(by, "asked for a takeback", now);
        } else {
            self.view.takeback.take_if(|side| *side == by.key());
        }
    }

    /// Declines an offer of the opponent of `by`. Returns whether there was an unanswered offer.
    pub(super) fn decline(&mut self, by: Color, offer: Offer, now: u64) -> bool {
        let other = !by;
        let (was_open, text) = match offer {
            Offer::Draw => {
                let offered = &mut self.view.draw_offer;
                let was_open = offered.take_if(|by| *by == other.key()).is_some();
                (was_open, "declined the draw")
            }
            Offer::Takeback => {
                let was_open = self.open_takeback.take_if(|side| *side == other).is_some();
                if was_open {
                    self.view.takeback = None;
                }
                (was_open, "declined the takeback")
            }
        };
        if was_open {
            self.add_event_line(by, text, now);
        }
        was_open
    }

    /// Adds an action of a player, such as a draw offer, to the chat.
    pub(super) fn add_event_line(&mut self, by: Color, text: &str, at: u64) {
        let player = match by {
            Color::White => &self.view.white,
            Color::Black => &self.view.black,
        };
        self.add_chat(ChatLine {
            at,
            ply: Some(self.view.moves.len() as u32),
            room: GAME_ROOM.to_owned(),
            from: player.name.clone(),
            text: text.to_owned(),
        });
    }

    /// Plays a move, with the clocks after it. Returns whether it was legal.
    pub(super) fn play(
        &mut self,
        uci: &str,
        (white_ms, black_ms): (Option<u64>, Option<u64>),
    ) -> bool {
        let position = self.position().clone();
        let Ok(mv) = position.parse_uci(uci) else {
            return false;
        };
        let by = position.turn();
        self.board.play(mv);
        let ply = self.board.moves().len() as u32;
        let now = if by.is_white() { white_ms } else { black_ms };
        let before = self.view.moves.last().map(|last| match by {
            Color::White => last.white_ms,
            Color::Black => last.black_ms,
        });
        // The first move of each side is not timed, and correspondence clocks are reset by each move.
        let is_timed = ply > 2 && self.view.clock.is_some();
        let spent_ms = before
            .flatten()
            .zip(now)
            .map(|(before, now)| (before + self.increment_ms).saturating_sub(now))
            .filter(|_| is_timed);
        self.view.moves.push(Move {
            ply,
            uci: uci.to_owned(),
            san: position.san(mv),
            fen: self.position().fen(),
            check: self.position().in_check(),
            by: by.key(),
            ours: by == self.ours,
            spent_ms,
            white_ms,
            black_ms,
            thought: None,
        });
        self.view.clocks.white_ms = white_ms.or(self.view.clocks.white_ms);
        self.view.clocks.black_ms = black_ms.or(self.view.clocks.black_ms);
        self.refresh();
        true
    }

    /// Adds search information to the last move.
    pub(super) fn add_search_info(&mut self, info: Option<&events::SearchInfo>) {
        let Some(info) = info else { return };
        let plies = self.board.moves().len();
        let mut before = self.board.clone();
        before.truncate(plies.saturating_sub(1));
        let search =
            wire::SearchInfo::of(info, before.position(), self.notation, MAX_MOVE_PV_MOVES);
        if let Some(last) = self.view.moves.last_mut() {
            last.thought = Some(search);
        }
    }

    /// Takes moves back, with the consent of the opponent of the requesting side. `ply` moves are left.
    pub(super) fn on_takeback(&mut self, ply: u32, now: u64) {
        let requester = self.open_takeback.take();
        self.truncate_to(ply, now);
        if let Some(requester) = requester {
            self.add_event_line(!requester, "accepted the takeback", now);
        }
    }

    /// Removes all but the first `ply` moves.
    pub(super) fn truncate_to(&mut self, ply: u32, now: u64) {
        self.board.truncate(ply as usize);
        self.view.moves.truncate(ply as usize);
        self.recorded.truncate(ply as usize);
        let (white_ms, black_ms) = match self.view.moves.last() {
            Some(last) => (last.white_ms, last.black_ms),
            None => {
                let start = self.view.clock.map(|clock| clock.start_ms);
                (start, start)
            }
        };
        self.view.clocks.white_ms = white_ms.or(self.view.clocks.white_ms);
        self.view.clocks.black_ms = black_ms.or(self.view.clocks.black_ms);
        self.view.clocks.at = now;
        self.view.thinking = None;
        self.view.draw_offer = None;
        self.view.takeback = None;
        self.refresh();
    }

    /// Sets the search information of the position after `ply` moves. Returns whether it is the current position.
    pub(super) fn set_search_info(&mut self, ply: u32, info: &events::SearchInfo) -> bool {
        let is_current = ply as usize == self.view.moves.len() && !self.is_over();
        if is_current {
            let thinking =
                wire::SearchInfo::of(info, self.position(), self.notation, MAX_THINKING_PV_MOVES);
            self.view.thinking = Some(thinking);
        }
        is_current
    }

    /// Adds a chat line.
    pub(super) fn add_chat(&mut self, line: ChatLine) {
        if self.view.chat.len() == MAX_CHAT_LINES {
            self.view.chat.pop_front();
        }
        self.view.chat.push_back(line);
    }

    /// Adds the recorded chat, times and search information from before the game was resumed.
    pub(super) fn merge_history(&mut self, past: Game) {
        let mut chat = past.chat;
        chat.retain(|line| line.at < self.view.started);
        chat.append(&mut self.view.chat);
        chat.drain(..chat.len().saturating_sub(MAX_CHAT_LINES));
        self.view.chat = chat;
        self.view.started = past.started.min(self.view.started);
        let (last_draw_offer, before) = (&mut self.view.last_draw_offer, past.last_draw_offer);
        last_draw_offer.white = last_draw_offer.white.or(before.white);
        last_draw_offer.black = last_draw_offer.black.or(before.black);
        self.recorded = past.moves;
        for index in 0..self.view.moves.len() {
            self.merge_move(index);
        }
    }

    /// Adds recorded information to a move.
    fn merge_move(&mut self, index: usize) {
        let (Some(known), Some(past)) = (self.view.moves.get_mut(index), self.recorded.get(index))
        else {
            return;
        };
        if known.uci != past.uci {
            // The recorded move was taken back while the bot was not running.
            return self.recorded.truncate(index);
        }
        known.spent_ms = known.spent_ms.or(past.spent_ms);
        known.white_ms = known.white_ms.or(past.white_ms);
        known.black_ms = known.black_ms.or(past.black_ms);
        known.thought = known.thought.take().or_else(|| past.thought.clone());
    }

    /// Finishes the game and adds missed moves.
    pub(super) fn finish(&mut self, end: &GameFinished, now: u64) {
        let moves: Vec<&str> = end.moves.split_whitespace().collect();
        let known = self.view.moves.iter().zip(&moves);
        let agreed = known.take_while(|(known, uci)| known.uci == **uci).count();
        if agreed < moves.len() {
            self.truncate_to(agreed as u32, now);
            for uci in &moves[agreed..] {
                if !self.play(uci, (None, None)) {
                    break;
                }
            }
        }
        self.stop_clock(now);
        let outcome = match (end.winner, end.result.as_str()) {
            (Some(winner), _) if winner == self.ours => "won",
            (Some(_), _) => "lost",
            (None, "1/2-1/2") => "drawn",
            (None, _) => "unknown",
        };
        self.set_result(GameResult {
            outcome,
            score: end.result.clone(),
            status: end.status.clone(),
            text: end.reason(Some(&self.board)),
        });
    }

    /// Sets the result and clears everything that only running games have.
    pub(super) fn set_result(&mut self, result: GameResult) {
        self.view.result = Some(result);
        self.view.thinking = None;
        self.view.draw_offer = None;
        self.view.takeback = None;
        self.refresh();
    }

    /// Sets the clocks of White and Black to what is left of them now.
    pub(super) fn set_clocks(
        &mut self,
        (white_ms, black_ms): (Option<u64>, Option<u64>),
        now: u64,
    ) {
        let clocks = &mut self.view.clocks;
        clocks.white_ms = white_ms.or(clocks.white_ms);
        clocks.black_ms = black_ms.or(clocks.black_ms);
        clocks.at = now;
        self.refresh();
    }

    /// Subtracts the elapsed time from the running clock.
    fn stop_clock(&mut self, now: u64) {
        let clocks = &mut self.view.clocks;
        let passed = now.saturating_sub(clocks.at);
        let left = match clocks.running {
            Some("white") => &mut clocks.white_ms,
            Some(_) => &mut clocks.black_ms,
            None => return,
        };
        *left = left.map(|left| left.saturating_sub(passed));
        clocks.at = now;
    }

    /// Updates the fields that depend on the board.
    fn refresh(&mut self) {
        let position = self.board.position();
        let (over, turn) = (self.is_over(), position.turn());
        self.view.fen = position.fen();
        self.view.check = position.in_check();
        self.view.legal = match over {
            true => Vec::new(),
            false => {
                let moves = position.legal_moves();
                let moves = moves.iter().map(|mv| mv.uci(self.notation).to_string());
                moves.collect()
            }
        };
        // A chess clock starts when each side has made a move.
        let runs = !over && (self.board.moves().len() >= 2 || self.has_days);
        let left = match turn {
            Color::White => self.view.clocks.white_ms,
            Color::Black => self.view.clocks.black_ms,
        };
        self.view.clocks.running = left.filter(|_| runs).map(|_| turn.key());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::events::{Player, Score, SearchInfo, Source};

    fn start(plies: u32) -> GameStarted {
        let player = |name: &str| Player {
            name: name.to_owned(),
            ..Player::default()
        };
        GameStarted {
            game: "abcdefgh".to_owned(),
            white: player("Knightwatch"),
            black: player("Anna"),
            our_color: Color::White,
            speed: "blitz".to_owned(),
            time_control: TimeControl::Clock {
                limit: 180,
                increment: 2,
            },
            rated: false,
            variant: "standard".to_owned(),
            initial_fen: None,
            tournament: None,
            engine: None,
            plies,
        }
    }

    fn moved(ply: u32, uci: &str, clocks: (u64, u64)) -> Moved {
        Moved {
            game: "abcdefgh".to_owned(),
            ply,
            san: String::new(),
            uci: uci.to_owned(),
            by: Color::ALL[(ply as usize + 1) % 2],
            ours: ply % 2 == 1,
            wtime: Some(clocks.0),
            btime: Some(clocks.1),
            search: None,
            timing: None,
        }
    }

    fn played(moves: &[(&str, (u64, u64))]) -> LiveGame {
        let mut live = LiveGame::new(&start(0), "http://127.0.0.1:9663/", 1_000);
        for (ply, (uci, clocks)) in (1..).zip(moves) {
            assert!(live.on_move(&moved(ply, uci, *clocks), 1_000 + u64::from(ply)));
        }
        live
    }

    const OPENING: [(&str, (u64, u64)); 4] = [
        ("e2e4", (180_000, 180_000)),
        ("e7e5", (180_000, 180_000)),
        ("g1f3", (175_500, 180_000)),
        ("b8c6", (175_500, 178_000)),
    ];

    #[test]
    fn clocks_start_with_the_third_ply() {
        let mut live = LiveGame::new(&start(0), "http://127.0.0.1:9663/", 1_000);
        assert_eq!(live.view.url, "http://127.0.0.1:9663/abcdefgh");
        assert_eq!(live.view.clocks.white_ms, Some(180_000));
        assert_eq!(
            (live.view.legal.len(), live.view.clocks.running),
            (20, None)
        );
        live.on_move(&moved(1, "e2e4", (180_000, 180_000)), 2_000);
        assert_eq!(live.view.clocks.running, None);
        live.on_move(&moved(2, "e7e5", (180_000, 180_000)), 3_000);
        assert_eq!(live.view.clocks.running, Some("white"));
        assert_eq!(live.view.clocks.at, 3_000);
        let live = played(&OPENING);
        let spent: Vec<_> = live.view.moves.iter().map(|mv| mv.spent_ms).collect();
        assert_eq!(spent, [None, None, Some(6_500), Some(4_000)]);
        assert_eq!(live.view.moves[3].san, "Nc6");
        assert_eq!(live.view.moves[3].fen, live.view.fen);
    }

    #[test]
    fn repeated_moves_change_nothing() {
        let mut live = played(&OPENING);
        let before = live.view.clone();
        for (ply, (uci, clocks)) in (1..).zip(&OPENING) {
            assert!(!live.on_move(&moved(ply, uci, *clocks), 9_000));
        }
        assert_eq!(live.view, before);
        // Moves after a missed one are ignored until the end.
        assert!(!live.on_move(&moved(6, "a7a6", (1, 1)), 9_000));
        assert_eq!(live.view, before);
    }

    #[test]
    fn takeback_restores_board_and_clocks() {
        let mut live = played(&OPENING);
        live.truncate_to(2, 9_000);
        assert_eq!(live.view.moves.len(), 2);
        assert_eq!(live.view.clocks.white_ms, Some(180_000));
        assert_eq!(live.view.clocks.running, Some("white"));
        live.set_clocks((Some(171_000), Some(180_000)), 9_100);
        let clocks = &live.view.clocks;
        assert_eq!((clocks.white_ms, clocks.at), (Some(171_000), 9_100));
        assert!(live.on_move(&moved(3, "f1c4", (174_000, 180_000)), 9_500));
        assert_eq!(live.view.moves[2].san, "Bc4");
        // A different move at a known ply implies a takeback.
        assert!(live.on_move(&moved(2, "e7e6", (180_000, 180_000)), 9_900));
        assert_eq!(live.view.moves.len(), 2);
        live.truncate_to(0, 9_950);
        assert_eq!(live.view.fen, live.view.start_fen);
    }

    #[test]
    fn history_of_resumed_game_is_merged() {
        let mut before = played(&OPENING);
        before.add_search_info(Some(&search_info()));
        let line = |at, text: &str| ChatLine {
            at,
            ply: None,
            room: "player".to_owned(),
            from: "Anna".to_owned(),
            text: text.to_owned(),
        };
        before.add_chat(line(1_500, "hello"));
        before.add_chat(line(5_500, "again"));
        // Events of a resumed game repeat the moves without clocks.
        let again = |ply: u32, uci: &str| Moved {
            wtime: None,
            btime: None,
            ..moved(ply, uci, (0, 0))
        };
        let moves = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"];
        // The records may respond at any time.
        for early in 0..=moves.len() {
            let mut live = LiveGame::new(&start(5), "http://127.0.0.1:9663/", 5_000);
            for (ply, uci) in (1..).zip(moves) {
                if ply as usize == early + 1 {
                    live.merge_history(before.view.clone());
                }
                assert!(live.on_move(&again(ply, uci), 6_000));
            }
            if early == moves.len() {
                live.merge_history(before.view.clone());
            }
            live.add_chat(line(5_500, "again"));
            let known = &live.view;
            assert_eq!(known.moves[..4], before.view.moves[..4], "{early}");
            assert!(known.moves[3].thought.is_some());
            assert_eq!(known.moves[4].thought, None);
            let values: Vec<_> = known.chat.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(values, ["hello", "again"]);
            assert_eq!(known.started, 1_000);
        }
        // The game was continued with a different first move.
        let mut other = LiveGame::new(&start(2), "http://127.0.0.1:9663/", 5_000);
        other.merge_history(before.view);
        assert!(other.on_move(&again(1, "d2d4"), 6_000));
        assert!(other.on_move(&again(2, "e7e5"), 6_000));
        assert_eq!(other.view.moves[1].white_ms, None);
    }

    #[test]
    fn finish_adds_missed_moves_and_stops_clocks() {
        let mut live = played(&OPENING[..3]);
        let end = GameFinished {
            game: "abcdefgh".to_owned(),
            our_color: None,
            status: "resign".to_owned(),
            winner: Some(Color::White),
            result: "1-0".to_owned(),
            plies: 5,
            moves: "e2e4 e7e5 g1f3 b8c6 f1b5".to_owned(),
            observed: true,
        };
        live.finish(&end, 60_000);
        assert_eq!(live.view.moves.len(), 5);
        assert_eq!(live.view.clocks.running, None);
        assert!(live.view.legal.is_empty());
        let ending = live.view.result.as_ref().expect("over");
        assert_eq!(
            (ending.outcome, ending.text.as_str()),
            ("won", "resignation")
        );
        assert!(!live.set_search_info(5, &search_info()));
    }

    fn search_info() -> SearchInfo {
        SearchInfo {
            source: Source::Search,
            score: Some(Score::Centipawns(35)),
            wdl: None,
            fallback: None,
            depth: 12,
            seldepth: 20,
            nodes: 1_000_000,
            hashfull: 12,
            ordering: Some(934),
            elapsed: Duration::from_millis(500),
            pv: ["e4", "e5", "Nf3"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn thinking_of_another_position_is_ignored() {
        let mut live = LiveGame::new(&start(0), "", 0);
        assert!(!live.set_search_info(1, &search_info()));
        assert!(live.set_search_info(0, &search_info()));
        let thinking = live.view.thinking.clone().expect("set");
        assert_eq!((thinking.nps, thinking.pv.len()), (2_000_000, 3));
        let with_search = Moved {
            search: Some(search_info()),
            ..moved(1, "e2e4", (180_000, 180_000))
        };
        live.on_move(&with_search, 5);
        assert_eq!(live.view.thinking, None);
        let kept = live.view.moves[0].thought.clone().expect("kept");
        assert_eq!(kept.pv[0].uci, "e2e4");
        assert_eq!(kept.pv[0].fen, live.view.fen);
    }
}
