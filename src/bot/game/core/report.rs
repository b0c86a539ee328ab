//! Reports of a game: its status, its end, and the rematch to offer.

use super::GameCore;
use crate::bot::game::status::{GameSnapshot, Pairing, RematchOffer};
use crate::events::GameFinished;
use crate::lichess::model::{NewChallenge, Status, Variant};
use crate::plural;

impl GameCore {
    /// Updates the part of the status that the core knows.
    pub(crate) fn update_snapshot(&self, snapshot: &mut GameSnapshot) {
        if let Some((header, game_moves)) = self.game() {
            if snapshot.opponent.is_empty() {
                snapshot.opponent = header.opponent.clone();
                snapshot.clocked = header.has_clock();
                snapshot.pairing = self.match_input.as_ref().map(|match_input| Pairing {
                    color: header.us,
                    rating: match_input.rating,
                    time: match_input.time.to_string(),
                });
            }
            snapshot.ply = game_moves.ply();
        }
        snapshot.clocks = self.clocks();
        let info = self.last_search.as_ref();
        snapshot.score = info.and_then(|(info, _)| info.score);
        snapshot.no_move = self.pending_move.has_no_move();
        let pending = self.pending_move.is_pending();
        snapshot.our_turn_since = pending.then_some(self.turn.began);
        snapshot.remaining = self.remaining();
    }

    /// `won against Anna (1500): resignation, 3 moves`
    pub(crate) fn describe_end(&self, end: &GameFinished) -> String {
        let Some((header, game_moves)) = self.game() else {
            return format!("over before its first state: {}", end.reason(None));
        };
        let match_input = self.match_input.as_ref();
        let rating = match_input.and_then(|match_input| match_input.rating);
        let rating = rating.map_or_else(String::new, |rating| format!(" ({rating})"));
        let outcome = match (end.winner, end.result.as_str()) {
            (Some(winner), _) if winner == header.us => "won against",
            (Some(_), _) => "lost against",
            (None, "*") => "no result against",
            (None, _) => "drawn with",
        };
        format!(
            "{outcome} {}{rating}: {}, {}",
            header.opponent,
            end.reason(Some(game_moves.game())),
            plural::count(end.plies.div_ceil(2), "move", "moves")
        )
    }

    /// The rematch to offer, if any.
    pub(crate) fn rematch_offer(&self, status: Status) -> Option<RematchOffer> {
        let ((header, _), match_input) = (self.game()?, self.match_input.as_ref()?);
        let played = status.has_result() && status != Status::Cheat;
        if !self.terms.offer_rematch || !played || !header.has_clock() {
            return None;
        }
        // As with a rematch on Lichess, a human keeps their color in a position that they set up.
        let set_up = match_input.variant == Variant::FromPosition;
        let ours = if set_up && !match_input.bot {
            header.us
        } else {
            !header.us
        };
        Some(RematchOffer {
            to: match_input.name.clone()?,
            human: !match_input.bot,
            challenge: NewChallenge {
                time_control: match_input.time,
                rated: match_input.rated,
                color: ours.into(),
                variant: match_input.variant,
                fen: set_up.then(|| header.initial.fen()),
            },
        })
    }
}
