//! Draw offers and takeback requests.

use super::{GameCore, SideAction};
use crate::bot::game::pending_move::Action;
use crate::chess::Color;
use crate::lichess::model::GameState;

/// Draw offers, and takeback requests, that are answered in one position. Further ones are ignored and cost no requests.
const MAX_ANSWERS_PER_POSITION: u32 = 3;

/// Reaction to the offers in a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    /// Sides with a new draw offer.
    pub new_draws: Vec<Color>,
    /// The opponent and whether they request a takeback, if that has changed.
    pub takeback_requested: Option<(Color, bool)>,
    /// Actions to take.
    pub actions: Vec<SideAction>,
    /// A takeback was requested while our move is being posted; the move declines it.
    pub declined_by_move: bool,
    /// Next action for the pending move.
    pub action: Option<Action>,
}

impl GameCore {
    /// Reactions to draw offers and takeback requests in a state.
    pub(crate) fn offers(&mut self, state: &GameState, changed: bool) -> Offers {
        let Some((header, game_moves)) = &self.game else {
            return Offers::default();
        };
        let them = !header.us;
        if changed {
            (self.draw_offer_count, self.takeback_request_count) = (0, 0);
        }
        let draw = state.offers_draw(them);
        let is_new = draw && !self.opponent_offers_draw;
        self.draw_offer_count += u32::from(is_new);
        let new_draw = is_new && self.draw_offer_count <= MAX_ANSWERS_PER_POSITION;
        // Our offer ends with the opponent's next move, whatever the flag says.
        let our_offer = state.offers_draw(header.us) && game_moves.turn() == them;
        let new_draws = [
            (header.us, our_offer && !self.our_draw_offered),
            (them, new_draw),
        ];
        let new_draws = new_draws
            .into_iter()
            .filter_map(|(by, new)| new.then_some(by));
        self.our_draw_offered = our_offer;
        let asks = state.asks_takeback(them);
        let is_asked = asks && !self.takeback_requested;
        self.takeback_request_count += u32::from(is_asked);
        let is_reported = self.takeback_request_count <= MAX_ANSWERS_PER_POSITION;
        let takeback_requested =
            (asks != self.takeback_requested && is_reported).then_some((them, asks));
        let takeback = is_asked && self.takeback_request_count <= MAX_ANSWERS_PER_POSITION;
        // A flag that is still set when our own move appears belongs to an offer that the move declined.
        self.opponent_offers_draw = draw && (is_new || !changed || game_moves.turn() == header.us);
        self.takeback_requested = asks;
        let waiting = game_moves.turn() != header.us && !state.status.is_over();
        let mut actions = Vec::new();
        // On our own turn the move answers the offer. A bot offers right before its move, which may be a blunder, so our
        // next search decides; a person gets an answer at once.
        let is_person = self.match_input.as_ref().is_some_and(|it| !it.bot);
        if new_draw && waiting && is_person {
            let trend = &self.score_trend;
            actions.push(match trend.accepts(game_moves.ply(), &self.terms.draw) {
                true => SideAction::AcceptDraw,
                false => SideAction::DeclineDraw,
            });
        }
        let answer = takeback.then(|| self.decide_takeback()).flatten();
        actions.extend(answer);
        Offers {
            new_draws: new_draws.collect(),
            takeback_requested,
            declined_by_move: takeback && answer.is_none(),
            // On our own turn this ends the search, since the position is about to change.
            action: actions
                .contains(&SideAction::AcceptTakeback)
                .then(|| self.pending_move.grant_takeback()),
            actions,
        }
    }

    /// Decides about a takeback request. `None` while our move is being posted, since the move declines it.
    fn decide_takeback(&mut self) -> Option<SideAction> {
        if self.takebacks_granted >= self.terms.takebacks {
            return Some(SideAction::DeclineTakeback);
        }
        if !self.pending_move.can_grant_takeback() {
            return None;
        }
        self.takebacks_granted += 1;
        Some(SideAction::AcceptTakeback)
    }
}
