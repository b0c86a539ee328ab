//! Arenas: joining, pairing and views.

mod games;
mod play;

use std::time::Duration;

use knightwatch::sim::{ArenaOptions, NewTeam, NewUser, Sim, SimOptions, TimeControl};
use serde_json::Value;

use super::site::{Site, text, until};

/// One minute per player.
pub(super) const BULLET: TimeControl = TimeControl::Clock {
    limit: 60,
    increment: 0,
};

/// An arena for bots that starts in an hour, so that nothing happens on its own.
pub(super) fn later(name: &str) -> ArenaOptions {
    ArenaOptions {
        id: Some("rehearse".to_owned()),
        starts_in: Duration::from_secs(3_600),
        ..ArenaOptions::for_bots(name, BULLET, 30)
    }
}

pub(super) fn hold(sim: &Sim, options: &ArenaOptions) -> String {
    sim.add_arena(options).unwrap()
}

/// Advances time until the condition returns a value.
pub(super) async fn advance_until<T>(
    site: &Site,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    for _ in 0..2_000 {
        if let Some(found) = look().await {
            return found;
        }
        site.sim.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain: {what}");
}

/// The lines of an NDJSON response.
pub(super) async fn ndjson(site: &Site, path: &str) -> Vec<Value> {
    let text = site.text("", path).await;
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

async fn join(site: &Site, user: &str, form: &str) -> (u16, String) {
    let (status, body) = site.post(user, "/api/tournament/rehearse/join", form).await;
    (status, text(&body["error"]))
}

const OK: (u16, String) = (200, String::new());

fn refused(why: &str) -> (u16, String) {
    (400, why.to_owned())
}

#[tokio::test]
async fn arena_bot_reads_and_joins() {
    let site = Site::start().await;
    hold(&site.sim, &later("Friday"));
    let (status, page) = site.get("Whitey", "/api/tournament/rehearse").await;
    assert_eq!(status, 200);
    assert_eq!(page["id"], "rehearse");
    assert_eq!(page["fullName"], "Friday Arena");
    assert_eq!(page["createdBy"], "lichess");
    assert_eq!(
        (&page["minutes"], &page["nbPlayers"]),
        (&30.into(), &0.into())
    );
    assert_eq!(page["clock"]["limit"], 60);
    assert_eq!(page["variant"], "standard");
    assert_eq!(page["perf"]["key"], "bullet");
    assert_eq!(page["botsAllowed"], true);
    assert_eq!(page["verdicts"]["accepted"], true);
    assert!(text(&page["startsAt"]).ends_with('Z'), "{page}");
    let left = page["secondsToStart"].as_i64().unwrap();
    assert!((3_500..=3_600).contains(&left), "{left}");
    for absent in [
        "isStarted",
        "isFinished",
        "secondsToFinish",
        "private",
        "stats",
        "me",
    ] {
        assert!(page.get(absent).is_none(), "{absent} in {page}");
    }

    assert_eq!(join(&site, "Whitey", "").await, OK);
    let (_, page) = site.get("Whitey", "/api/tournament/rehearse").await;
    assert_eq!(page["nbPlayers"], 1);
    assert_eq!(page["me"]["rank"], 1);
    assert_eq!(page["standing"]["players"][0]["name"], "Whitey");
    assert_eq!(page["standing"]["players"][0]["title"], "BOT");

    site.ok("Whitey", "/api/tournament/rehearse/withdraw").await;
    let (_, page) = site.get("", "/api/tournament/rehearse").await;
    assert_eq!(page["nbPlayers"], 0);
}

#[tokio::test]
async fn arena_list_uses_numbers_and_page_uses_texts() {
    let site = Site::start().await;
    hold(&site.sim, &later("Friday"));
    let (_, lists) = site.get("", "/api/tournament").await;
    let listed = &lists["created"][0];
    assert_eq!(listed["id"], "rehearse");
    assert_eq!(listed["status"], 10);
    assert_eq!(listed["variant"]["key"], "standard");
    let (starts, finishes) = (
        listed["startsAt"].as_i64().unwrap(),
        listed["finishesAt"].as_i64().unwrap(),
    );
    assert_eq!(finishes - starts, 30 * 60 * 1_000);
    for empty in ["started", "finished"] {
        assert_eq!(lists[empty].as_array().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn arena_unknown_is_not_found() {
    let site = Site::start().await;
    for path in ["", "/results", "/games", "/teams"] {
        let (status, body) = site
            .get("", &format!("/api/tournament/nonesuch{path}"))
            .await;
        assert_eq!(
            (status, &body["error"]),
            (404, &"Not found".into()),
            "{path}"
        );
    }
    for call in ["join", "withdraw"] {
        let path = format!("/api/tournament/nonesuch/{call}");
        site.refused("Whitey", &path, "", 404, "Not found").await;
    }
    // Not eight characters: an unknown path.
    let (status, body) = site.get("", "/api/tournament/short").await;
    assert_eq!((status, body), (404, Value::Null));
    // An arena without teams has no team standing.
    hold(&site.sim, &later("Friday"));
    let (status, _) = site.get("", "/api/tournament/rehearse/teams").await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn arena_join_refusals_have_messages() {
    let restricted = "Tournament restrictions";
    let team = NewTeam {
        leader: Some("Anna".to_owned()),
        ..NewTeam::new("The Bots")
    };
    for (options, form, answer) in [
        (
            ArenaOptions {
                bots: false,
                ..later("Humans")
            },
            "",
            refused(restricted),
        ),
        (
            ArenaOptions {
                min_rating: Some(1600),
                ..later("Strong")
            },
            "",
            refused(restricted),
        ),
        (
            ArenaOptions {
                max_rating: Some(1400),
                ..later("Weak")
            },
            "",
            refused(restricted),
        ),
        (
            ArenaOptions {
                max_rating: Some(u32::MAX),
                ..later("Anybody")
            },
            "",
            OK,
        ),
        (
            ArenaOptions {
                min_rating: Some(u32::MAX),
                ..later("Nobody")
            },
            "",
            refused(restricted),
        ),
        (
            // Titled players need no past games.
            ArenaOptions {
                min_rated_games: Some(1_000),
                ..later("Old")
            },
            "",
            OK,
        ),
        (
            ArenaOptions {
                allow: vec!["Blacky".to_owned()],
                ..later("Listed")
            },
            "",
            refused(restricted),
        ),
        (
            ArenaOptions {
                banned: vec!["Whitey".to_owned()],
                ..later("Strict")
            },
            "",
            refused("You are not allowed to join arenas"),
        ),
        (
            ArenaOptions {
                team: Some("the-bots".to_owned()),
                ..later("Team")
            },
            "",
            refused(restricted),
        ),
        (
            ArenaOptions {
                teams: vec!["the-bots".to_owned()],
                ..later("Battle")
            },
            "team=the-bots",
            refused("Missing team"),
        ),
        (
            ArenaOptions {
                password: Some("secret".to_owned()),
                ..later("Private")
            },
            "password=guess",
            refused("Wrong entry code"),
        ),
        (
            ArenaOptions {
                password: Some("secret".to_owned()),
                ..later("Private")
            },
            "password=secret",
            OK,
        ),
        (
            // HMAC-SHA256 of `whitey` under `secret`, as another program computes it.
            ArenaOptions {
                password: Some("secret".to_owned()),
                ..later("Private")
            },
            "password=eb706ad1ecf0bc002a8f9a80843f9b2ec3e1c76e39749b8f4c545305d63386a9",
            OK,
        ),
    ] {
        let site = Site::start().await;
        site.sim.add_team(team.clone());
        hold(&site.sim, &options);
        assert_eq!(
            join(&site, "Whitey", form).await,
            answer,
            "{}",
            options.name
        );
    }
}

#[tokio::test]
async fn arena_join_accepts_every_body_type() {
    let site = Site::start().await;
    let options = ArenaOptions {
        password: Some("secret".to_owned()),
        ..later("Private")
    };
    hold(&site.sim, &options);
    let path = "/api/tournament/rehearse/join?password=secret";
    site.ok("Whitey", path).await;
    let request = site
        .request(
            reqwest::Method::POST,
            "Blacky",
            "/api/tournament/rehearse/join",
        )
        .json(&serde_json::json!({"password": "secret", "team": null, "pairMeAsap": true}));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let (_, page) = site.get("", "/api/tournament/rehearse").await;
    assert_eq!(
        (&page["nbPlayers"], &page["private"]),
        (&2.into(), &true.into())
    );
}

#[tokio::test]
async fn arena_join_needs_one_of_two_scopes() {
    let site = Site::start().await;
    hold(&site.sim, &later("Friday"));
    site.sim.add_token("lip_play", "Whitey", &["bot:play"]);
    site.sim
        .add_token("lip_read", "Whitey", &["challenge:read"]);
    let post = async |token: &str| {
        let request = site.request(reqwest::Method::POST, "", "/api/tournament/rehearse/join");
        let response = request.bearer_auth(token).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(post("lip_play").await.0, 200);
    let (status, body) = post("lip_read").await;
    assert_eq!(status, 403);
    assert!(
        body.contains("Missing scope: tournament:write || bot:play"),
        "{body}"
    );
}

#[tokio::test]
async fn arena_created_by_human_from_form() {
    let site = Site::start().await;
    let form = "name=Friday&clockTime=1&clockIncrement=0&minutes=20&waitMinutes=1&rated=false&conditions.bots=true\
                &conditions.minRating.rating=1400&password=x";
    let (status, page) = site.post("Anna", "/api/tournament", form).await;
    assert_eq!(status, 200, "{page}");
    assert_eq!(page["fullName"], "Friday Arena");
    assert_eq!(page["createdBy"], "anna");
    assert_eq!(page["rated"], false);
    assert_eq!(page["minRating"]["rating"], 1400);
    assert_eq!(
        (&page["botsAllowed"], &page["private"]),
        (&true.into(), &true.into())
    );
    let id = text(&page["id"]);
    let path = format!("/api/tournament/{id}/join");
    site.refused("Whitey", &path, "", 400, "Wrong entry code")
        .await;
    assert_eq!(site.post("Whitey", &path, "password=x").await.0, 200);
    let created = ndjson(&site, "/api/user/anna/tournament/created").await;
    assert_eq!((created.len(), &created[0]["id"]), (1, &page["id"]));
    let later = ndjson(&site, "/api/user/anna/tournament/created?status=20").await;
    assert!(later.is_empty());

    let (status, body) = site.post("Anna", "/api/tournament", "clockTime=1").await;
    assert_eq!(status, 400);
    assert_eq!(body["error"]["minutes"][0], "This field is required");
    assert!(body.get("minutes").is_none(), "{body}");
    site.refused(
        "Whitey",
        "/api/tournament",
        form,
        404,
        "This account cannot create tournaments",
    )
    .await;
}

#[tokio::test]
async fn team_join_needs_password_or_message() {
    let site = Site::start().await;
    site.sim.add_team(NewTeam {
        password: Some("secret".to_owned()),
        leader: Some("Anna".to_owned()),
        ..NewTeam::new("The Bots")
    });
    site.sim.add_team(NewTeam {
        by_message: true,
        leader: Some("Anna".to_owned()),
        ..NewTeam::new("Talkers")
    });
    let (_, team) = site.get("Whitey", "/api/team/the-bots").await;
    assert_eq!(
        (&team["name"], &team["nbMembers"]),
        (&"The Bots".into(), &1.into())
    );
    assert_eq!(
        (&team["open"], &team["joined"]),
        (&false.into(), &false.into())
    );
    assert_eq!(team["leader"]["id"], "anna");
    for form in ["", "password=guess"] {
        assert_eq!(
            site.post("Whitey", "/team/the-bots/join", form).await.0,
            403
        );
    }
    let short = "message=hello";
    assert_eq!(
        site.post("Whitey", "/team/talkers/join", short).await.0,
        403
    );
    let long = format!("message={}", "please+".repeat(10));
    assert_eq!(
        site.post("Whitey", "/team/talkers/join", &long).await.0,
        200
    );
    let (_, team) = site.get("Whitey", "/api/team/talkers").await;
    assert_eq!(
        (&team["requested"], &team["joined"]),
        (&true.into(), &false.into())
    );
    site.ok("Anna", "/api/team/talkers/request/whitey/accept")
        .await;
    let json = serde_json::json!({"password": "secret", "message": null});
    let request = site.request(reqwest::Method::POST, "Whitey", "/team/the-bots/join");
    assert_eq!(request.json(&json).send().await.unwrap().status(), 200);

    let (_, mine) = site.get("", "/api/team/of/Whitey").await;
    assert_eq!(mine.as_array().unwrap().len(), 2);
    let members = ndjson(&site, "/api/team/the-bots/users").await;
    assert_eq!((members.len(), &members[1]["id"]), (2, &"whitey".into()));

    // A member may join the team's arena, and is removed from it on leaving the team.
    let options = ArenaOptions {
        team: Some("the-bots".to_owned()),
        ..later("Team")
    };
    hold(&site.sim, &options);
    assert_eq!(join(&site, "Whitey", "").await, OK);
    let arenas = ndjson(&site, "/api/team/the-bots/arena").await;
    assert_eq!(
        (arenas.len(), &arenas[0]["teamMember"]),
        (1, &"the-bots".into())
    );
    site.ok("Whitey", "/team/the-bots/quit").await;
    let (_, page) = site.get("", "/api/tournament/rehearse").await;
    assert_eq!(page["nbPlayers"], 0);
    assert_eq!(
        join(&site, "Whitey", "").await,
        refused("Tournament restrictions")
    );
    assert_eq!(site.get("", "/api/team/none").await.0, 404);
}

#[tokio::test]
async fn team_tournaments_filtered() {
    let site = Site::start().await;
    site.sim.add_team(NewTeam::new("The Bots"));
    for (id, name, created_by, starts_in) in [
        ("aaaaaaaa", "Friday", Some("Anna"), 3_600),
        ("bbbbbbbb", "Monday", Some("Bobby"), 3_600),
        ("cccccccc", "Friday", None, 0),
    ] {
        hold(
            &site.sim,
            &ArenaOptions {
                id: Some(id.to_owned()),
                team: Some("the-bots".to_owned()),
                created_by: created_by.map(str::to_owned),
                starts_in: Duration::from_secs(starts_in),
                ..later(name)
            },
        );
    }
    until(async || site.get("", "/api/tournament/cccccccc").await.1["isStarted"] == true).await;
    for (query, ids) in [
        ("", "cccccccc bbbbbbbb aaaaaaaa"),
        ("max=2", "cccccccc bbbbbbbb"),
        ("status=created", "bbbbbbbb aaaaaaaa"),
        ("status=started", "cccccccc"),
        ("status=finished", ""),
        ("status=other", "cccccccc bbbbbbbb aaaaaaaa"),
        ("createdBy=ANNA", "aaaaaaaa"),
        ("createdBy=lichess", "cccccccc"),
        ("createdBy=nobody", ""),
        ("name=Friday", "cccccccc aaaaaaaa"),
        ("name=Fri", ""),
        ("name=Friday&status=created&max=1", "aaaaaaaa"),
    ] {
        let arenas = ndjson(&site, &format!("/api/team/the-bots/arena?{query}")).await;
        let found: Vec<String> = arenas.iter().map(|arena| text(&arena["id"])).collect();
        assert_eq!(found.join(" "), ids, "{query}");
    }
    let swiss = ndjson(&site, "/api/team/the-bots/swiss").await;
    assert_eq!(swiss, [] as [Value; 0]);
    for list in ["arena", "swiss"] {
        let (status, body) = site.get("", &format!("/api/team/none/{list}")).await;
        assert_eq!((status, &body["error"]), (404, &"Not found".into()));
    }
}

#[tokio::test]
async fn upgrade_to_bot_leaves_arenas() {
    let site = Site::start().await;
    hold(&site.sim, &later("Friday"));
    assert_eq!(join(&site, "Anna", "").await, OK);
    site.ok("Anna", "/api/bot/account/upgrade").await;
    let (_, page) = site.get("", "/api/tournament/rehearse").await;
    assert_eq!(page["nbPlayers"], 0);
}

#[tokio::test]
async fn swiss_tournament_refuses_bots() {
    let site = Site::start().await;
    let bots = "This API endpoint is not for Bot accounts.";
    for call in ["join", "withdraw"] {
        let path = format!("/api/swiss/abcdefgh/{call}");
        site.refused("Whitey", &path, "", 403, bots).await;
    }
    assert_eq!(site.get("", "/api/swiss/abcdefgh").await.0, 404);
}

#[tokio::test]
async fn arena_first_joins_limited() {
    let site = Site::with(SimOptions {
        limits: true,
        ..SimOptions::default()
    })
    .await;
    for number in 0..9 {
        let options = ArenaOptions {
            id: Some(format!("arena00{number}")),
            ..later("Many")
        };
        let id = hold(&site.sim, &options);
        let (status, body) = site
            .post("Whitey", &format!("/api/tournament/{id}/join"), "")
            .await;
        if number < 8 {
            assert_eq!(status, 200, "{number}: {body}");
        } else {
            let text = "You are joining too many tournaments";
            assert_eq!((status, &body["error"]), (400, &text.into()));
        }
    }
}

/// A site with additional bots of these names.
pub(super) async fn with_bots(names: &[&str]) -> Site {
    Site::with(SimOptions {
        users: names.iter().map(|name| NewUser::bot(*name)).collect(),
        ..SimOptions::default()
    })
    .await
}
