//! Results of finished games: game counts, ratings and crosstables.

use crate::round::{COLORS, Round};
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::site::users::AccountKind;

impl SiteState {
    /// Counts a finished game for both players, and rates it if it is rated.
    pub(crate) fn record_result(&mut self, round: &mut Round, now: SimTime) {
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
            user.game_counts.all += 1;
            let (count, score) = match winner {
                None => (&mut user.game_counts.draw, 0.5),
                Some(winner) if winner == color => (&mut user.game_counts.win, 1.0),
                Some(_) => (&mut user.game_counts.loss, 0.0),
            };
            *count += 1;
            halves[color.index()] = (score * 2.0) as u32;
            if round.rated {
                let (before, other) = (&ratings[color.index()], &ratings[(!color).index()]);
                let after = before.after(other, score, now);
                user.game_counts.rated += 1;
                side.rating_diff = Some(after.value() - before.value());
                *user.rating_mut(key) = after;
            }
        }
        let users = round.sides.each_ref().map(|side| side.user.clone());
        if round
            .sides
            .iter()
            .all(|side| side.account_kind == AccountKind::User)
        {
            self.crosstables.count(&users, halves, now);
        }
    }
}
