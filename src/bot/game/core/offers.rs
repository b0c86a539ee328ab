//! Draws that are offered, and moves that are asked back.

use super::{Act, GameCore};
use crate::bot::game::pending_move::Step;
use crate::chess::Color;
use crate::lichess::model::GameState;

/// How many draw offers, and how many requests for a takeback, are answered in one position: who goes on is left
/// without an answer, and costs no requests.
const ANSWERS_PER_POSITION: u32 = 3;

/// What the offers have come to.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    /// Who offers a draw now and did not.
    pub new_draws: Vec<Color>,
    /// Whether the opponent asks for a takeback now, where that is new.
    pub takeback_asked: Option<(Color, bool)>,
    /// What is to be done.
    pub acts: Vec<Act>,
    /// A takeback is asked for while our move is on its way, which is the answer.
    pub overtaken: bool,
    /// What is to be done about the move we owe.
    pub step: Option<Step>,
}

impl GameCore {
    /// Draws that are offered, and takebacks that the opponent asks for.
    pub fn offers(&mut self, state: &GameState, changed: bool) -> Offers {
        let Some((head, sheet)) = &self.table else {
            return Offers::default();
        };
        let them = !head.us;
        if changed {
            (self.draws_asked, self.takebacks_asked) = (0, 0);
        }
        let draw = state.offers_draw(them);
        let is_new = draw && !self.draw_offered;
        self.draws_asked += u32::from(is_new);
        let new_draw = is_new && self.draws_asked <= ANSWERS_PER_POSITION;
        // Ours ends with their next move, whatever the flag says.
        let ours = state.offers_draw(head.us) && sheet.turn() == them;
        let new_draws = [(head.us, ours && !self.our_draw), (them, new_draw)];
        let new_draws = new_draws
            .into_iter()
            .filter_map(|(by, new)| new.then_some(by));
        self.our_draw = ours;
        let asks = state.asks_takeback(them);
        let is_asked = asks && !self.takeback_asked;
        self.takebacks_asked += u32::from(is_asked);
        let is_told = self.takebacks_asked <= ANSWERS_PER_POSITION;
        let takeback_asked = (asks != self.takeback_asked && is_told).then_some((them, asks));
        let takeback = is_asked && self.takebacks_asked <= ANSWERS_PER_POSITION;
        // A flag that stays up while our own move goes onto the board is a refused offer's shadow.
        self.draw_offered = draw && (is_new || !changed || sheet.turn() == head.us);
        self.takeback_asked = asks;
        let waiting = sheet.turn() != head.us && !state.status.is_over();
        let mut acts = Vec::new();
        // On our own turn the offer is answered by, or with, the move. A bot's comes right before his own, which may be
        // a blunder, so what we think then decides; a person is told at once.
        let person = self.subject.as_ref().is_some_and(|subject| !subject.bot);
        if new_draw && waiting && person {
            let taken = self.mood.takes(sheet.ply(), &self.terms.draw);
            acts.push(if taken {
                Act::TakeDraw
            } else {
                Act::DeclineDraw
            });
        }
        let answer = if takeback { self.takeback() } else { None };
        acts.extend(answer);
        Offers {
            new_draws: new_draws.collect(),
            takeback_asked,
            overtaken: takeback && answer.is_none(),
            // On our own turn that ends the thinking, since the position is about to be gone.
            step: acts.contains(&Act::GiveBack).then(|| self.duty.yields()),
            acts,
        }
    }

    /// The opponent asks for a move back. Nothing is said while our move is on its way, and is the answer.
    fn takeback(&mut self) -> Option<Act> {
        if self.given_back >= self.terms.takebacks {
            return Some(Act::DeclineTakeback);
        }
        if !self.duty.can_yield() {
            return None;
        }
        self.given_back += 1;
        Some(Act::GiveBack)
    }
}
