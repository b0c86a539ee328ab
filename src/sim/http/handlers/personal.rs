//! Calls about oneself: settings, messages, whom one follows and blocks.

use serde_json::json;

use super::{Answer, Asked, NDJSON, Reply};
use crate::sim::Sim;
use crate::sim::http::auth::Caller;
use crate::sim::http::error::Failure;
use crate::sim::http::route::personal::{Personal, Tie};
use crate::sim::site::id::UserId;
use crate::sim::site::users::User;
use crate::sim::wire;

pub(super) fn about_me(sim: &Sim, asked: &Asked<'_>, me: &Caller, call: Personal<'_>) -> Answer {
    let mut world = sim.world();
    match call {
        Personal::Preferences => return Ok(Reply::Json(preferences(world.user(&me.user)))),
        Personal::Email => {
            let email = format!("{}@localhost", me.user);
            return Ok(Reply::json(&json!({ "email": email })));
        }
        Personal::Kid => return Ok(Reply::json(&json!({ "kid": world.user(&me.user).kid }))),
        Personal::SetKid => world.user_mut(&me.user).kid = asked.params.is_true("v"),
        Personal::Revoke => {
            world.revoke(&me.token);
            return Ok(Reply::Nothing);
        }
        Personal::Inbox(name) => {
            if asked.params.get("text").is_none() {
                let missing = [("text", "This field is required".to_owned())];
                return Err(Failure::form(&missing));
            }
            let other = world.find_user(name)?;
            if other.ties.blocks(&me.user) {
                return Err(Failure::bad("The message could not be sent"));
            }
        }
        Personal::Relate(tie, name) => {
            let other = world.find_user(name)?.id.clone();
            if other == me.user {
                return Err(Failure::bad("Cannot do that to yourself"));
            }
            relate(world.user_mut(&me.user), tie, other);
        }
        Personal::Following => {
            let followed = world.user(&me.user).ties.followed();
            let lines = followed.filter_map(|id| world.users.get(id));
            return Ok(Reply::Text {
                kind: NDJSON,
                text: lines.map(|user| wire::json(&user.json()) + "\n").collect(),
            });
        }
        // Nothing that happens here is news.
        Personal::Timeline => return Ok(Reply::json(&json!({ "entries": [], "users": {} }))),
        Personal::Seek if world.user(&me.user).bot => return Err(Failure::not_for_bots()),
        Personal::Seek => return Err(Failure::bad("This simulator has no lobby")),
    }
    Ok(Reply::ok())
}

fn relate(user: &mut User, tie: Tie, other: UserId) {
    match tie {
        Tie::Follow => user.ties.follow(other),
        Tie::Unfollow => user.ties.unfollow(&other),
        Tie::Block => user.ties.block(other),
        Tie::Unblock => user.ties.unblock(&other),
    }
}

/// Settings as they are when nobody has touched them. A bot takes no takebacks and no time.
fn preferences(user: &User) -> String {
    let (takeback, moretime) = if user.takebacks { (3, 3) } else { (1, 1) };
    let prefs = json!({
        "dark": true, "transp": false, "bgImg": "", "is3d": false, "theme": "brown",
        "pieceSet": "cburnett", "theme3d": "Blue-Marble", "pieceSet3d": "Basic",
        "soundSet": "standard", "autoQueen": 2, "autoThreefold": 2, "takeback": takeback,
        "moretime": moretime, "clockTenths": 1, "clockBar": true, "clockSound": true,
        "premove": true, "animation": 2, "captured": true, "follow": true, "highlight": true,
        "destination": true, "coords": 2, "replay": 2, "challenge": 4, "message": 3,
        "coordColor": 3, "submitMove": 4, "confirmResign": 1, "insightShare": 1,
        "keyboardMove": 0, "zen": 0, "ratings": 1, "moveEvent": 2, "rookCastle": 1,
    });
    wire::json(&json!({ "prefs": prefs, "language": "en-US" }))
}
