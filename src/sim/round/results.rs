//! What a game that is over leaves in the accounts.

use crate::sim::round::{COLORS, Round};
use crate::sim::site::state::World;
use crate::sim::site::time::Moment;
use crate::sim::site::users::Face;

impl World {
    /// Counts the game for both players, and rates it if it is rated.
    pub fn settle_accounts(&mut self, round: &mut Round, now: Moment) {
        let key = round.perf().key;
        let winner = round.referee.winner();
        let ratings = round
            .sides
            .each_ref()
            .map(|side| self.user(&side.user).rating(key).clone());
        let mut halves = [0; 2];
        for color in COLORS {
            let side = &mut round.sides[color.index()];
            let user = self.user_mut(&side.user);
            user.play_time += now.since(round.created_at);
            user.tally.all += 1;
            let (count, score) = match winner {
                None => (&mut user.tally.draw, 0.5),
                Some(winner) if winner == color => (&mut user.tally.win, 1.0),
                Some(_) => (&mut user.tally.loss, 0.0),
            };
            *count += 1;
            halves[color.index()] = (score * 2.0) as u32;
            if round.rated {
                let (before, other) = (&ratings[color.index()], &ratings[(!color).index()]);
                let after = before.after(other, score, now);
                user.tally.rated += 1;
                side.rating_diff = Some(after.value() - before.value());
                *user.rating_mut(key) = after;
            }
        }
        let users = round.sides.each_ref().map(|side| side.user.clone());
        if round.sides.iter().all(|side| side.face == Face::User) {
            self.pairs.count(&users, halves, now);
        }
    }
}
