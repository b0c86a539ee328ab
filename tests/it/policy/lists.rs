//! Block lists that others keep, read from a server of the test and from a file.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use knightwatch::sim::NewUser;

use super::{BLITZ, challenge_and_wait, site, wait_for_log};
use crate::common::{Daemon, IMPATIENT, Site, wait};
use crate::operator::run_command;

/// A list on a server, with the versions that clients have named.
#[derive(Clone, Default)]
struct Server {
    /// Text and version; `None` for an outage.
    list: Arc<Mutex<Option<(String, String)>>>,
    named: Arc<Mutex<Vec<Option<String>>>>,
}

impl Server {
    fn set(&self, list: Option<(&str, &str)>) {
        let list = list.map(|(text, etag)| (text.to_owned(), etag.to_owned()));
        *self.list.lock().unwrap() = list;
    }

    /// Serves the list: its address.
    fn start(&self, site: &Site) -> String {
        let server = self.clone();
        let respond = move |headers: HeaderMap| async move {
            let named = headers.get("if-none-match");
            let named = named.map(|version| version.to_str().unwrap().to_owned());
            server.named.lock().unwrap().push(named.clone());
            assert!(!headers.contains_key("authorization"));
            match server.list.lock().unwrap().clone() {
                None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
                Some((_, etag)) if named.as_ref() == Some(&etag) => {
                    StatusCode::NOT_MODIFIED.into_response()
                }
                Some((text, etag)) => ([("etag", etag)], text).into_response(),
            }
        };
        let app = Router::new().route("/list", get(respond));
        format!("{}/list", site.serve(app))
    }

    fn named(&self) -> Vec<Option<String>> {
        self.named.lock().unwrap().clone()
    }
}

fn wait_for_line(bot: &Daemon, words: &str) {
    wait(&format!("the log says: {words}"), || {
        bot.log().contains(words).then_some(())
    });
}

#[test]
fn block_list_beyond_its_limit_changes_nothing() {
    let site = site();
    let server = Server::default();
    server.set(Some(("Anna\n", "\"v1\"")));
    let url = server.start(&site);
    let config = format!("challenge.block_lists = [\"{url}\", \"own.txt\"]\n");
    let bot = Daemon::start_with(&site, &config, &IMPATIENT);
    wait_for_line(&bot, &format!("the block list {url} has 1 name"));
    let long = "Bert\n".repeat(60_000);
    server.set(Some((&long, "\"v2\"")));
    std::fs::write(bot.state().join("../own.txt"), &long).unwrap();
    run_command(&bot, &["reload"]);
    wait("both are refused", || {
        (bot.log().matches("more than 256 KiB").count() >= 2).then_some(())
    });
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "generic");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
}

#[test]
fn block_list_outlives_server_and_restart() {
    let site = site();
    let server = Server::default();
    server.set(Some(("# clones\nAnna\nRobot # by mistake\n", "\"v1\"")));
    let url = server.start(&site);
    let config = format!(
        "[challenge]\nblock_lists = [\"{url}\", \"own.txt\"]\n\
         [[rule]]\nname = \"friends\"\nmatch = {{ name = \"robot\" }}\naccept = true\n\
         [[rule]]\nname = \"strong\"\nmatch = {{ rating = \"2000..\" }}\naccept = true\n\
         [[rule]]\nname = \"tamed\"\nmatch = {{ listed = true, bot = true, rated = false }}\naccept = true\n"
    );
    let mut bot = Daemon::start(&site, &config);
    wait_for_line(&bot, &format!("the block list {url} has 2 names"));
    wait_for_line(&bot, "own.txt: No such file");
    wait_for_line(
        &bot,
        "there is no earlier copy, so it has no effect until it can be read",
    );
    std::fs::write(bot.state().join("../own.txt"), "RIVAL\n").unwrap();
    assert!(run_command(&bot, &["reload"]).contains("nothing has changed"));
    wait_for_line(&bot, "own.txt has 1 name");
    let [anna, bert, robot, rival] =
        ["Anna", "Bert", "Robot", "Rival"].map(|name| site.player(name));
    let reason = format!("Anna is on the block list {url}");
    let id = anna.challenge(&BLITZ);
    assert_eq!(anna.answer(&id), "generic");
    wait_for_log(&bot, &id, &reason);
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
    // Own names come first, and only a rule about listed users accepts one.
    assert_eq!(challenge_and_wait(&robot, &BLITZ), "accepted");
    let rated = [BLITZ[0], BLITZ[1], ("rated", "true")];
    assert_eq!(challenge_and_wait(&rival, &rated), "generic");
    let id = rival.challenge(&BLITZ);
    assert_eq!(rival.answer(&id), "accepted");
    wait_for_log(&bot, &id, "rule `tamed`");
    let explain = |bot: &Daemon, user: &str| {
        let mut explain = bot.command("explain");
        explain.env("STATE_DIRECTORY", bot.state());
        let output = explain.args(["--user", user]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let explanation = explain(&bot, "Anna");
    assert!(
        explanation.contains(&format!("\nDeclined, generic: {reason}\n")),
        "{explanation}"
    );

    // The server and the file are gone, and the copies are used.
    wait("the copies are on disk", || {
        let text = std::fs::read_to_string(bot.state_file(".blocklists.json")?).ok()?;
        (text.contains("\"anna\"") && text.contains("\"rival\"")).then_some(())
    });
    server.set(None);
    std::fs::remove_file(bot.state().join("../own.txt")).unwrap();
    bot.crash_and_restart();
    wait_for_line(
        &bot,
        "the server responds with 503 Service Unavailable; its last copy with 2 names is used",
    );
    wait_for_line(&bot, "its last copy with 1 name is used");
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "generic");
    assert_eq!(challenge_and_wait(&rival, &rated), "generic");

    // Known versions are named, and differences logged.
    server.set(Some(("Anna\nRobot", "\"v1\"")));
    run_command(&bot, &["reload"]);
    wait_for_line(&bot, &format!("the block list {url} is unchanged"));
    server.set(Some(("Robot\nCleo\n", "\"v2\"")));
    run_command(&bot, &["reload"]);
    wait_for_line(
        &bot,
        &format!("the block list {url} has 2 names: 1 added (cleo), 1 removed (anna)"),
    );
    let first = [None, Some("\"v1\"".to_owned())];
    assert_eq!(server.named()[..2], first);
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    assert_eq!(challenge_and_wait(&site.player("Cleo"), &BLITZ), "generic");

    // A list that its owner has emptied blocks nobody.
    server.set(Some(("# nobody\n", "\"v3\"")));
    run_command(&bot, &["reload"]);
    wait_for_line(
        &bot,
        &format!("the block list {url} has 0 names: 2 removed (cleo, robot)"),
    );
    wait("the copy on disk is empty, too", || {
        let text = std::fs::read_to_string(bot.state_file(".blocklists.json")?).ok()?;
        (!text.contains("\"cleo\"")).then_some(())
    });
    let explanation = explain(&bot, "Cleo");
    assert!(explanation.contains("not listed"), "{explanation}");
    let warning = "Warning: cannot read the block list";
    assert!(
        explanation.contains(warning) && explanation.contains("last copy with 1 name"),
        "{explanation}"
    );
    // A file is read, whether the bot has read it or not.
    std::fs::write(bot.state().join("../own.txt"), "Cleo\n").unwrap();
    let explanation = explain(&bot, "Cleo");
    assert!(
        explanation.contains("Cleo is on the block list"),
        "{explanation}"
    );
    assert!(!explanation.contains(warning), "{explanation}");
}

#[test]
fn skipped_lines_of_a_block_list_are_logged_once() {
    let site = site();
    let server = Server::default();
    server.set(Some(("Anna\nRobot\nnot a name\n?\nAnna\n", "\"v1\"")));
    let url = server.start(&site);
    let bot = Daemon::start(&site, &format!("challenge.block_lists = [\"{url}\"]\n"));
    let warning =
        format!("the block list {url}: 2 lines of it are no user names, the first: \"not a name\"");
    wait_for_line(&bot, &format!("{warning}; the other lines are used"));
    wait_for_line(&bot, &format!("the block list {url} has 2 names"));
    assert_eq!(bot.log().matches(&warning).count(), 1, "{}", bot.log());
    let output = bot.command("check").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2 lines of it are no user names"), "{text}");
}

#[test]
fn block_list_of_matchmaking_excludes_bots() {
    let present = |name: &str| NewUser {
        present: true,
        ..NewUser::bot(name)
    };
    let site = Site::new([present("Clone"), present("Cousin"), present("Friend")]);
    let server = Server::default();
    server.set(Some(("Clone\nFriend\n", "\"v1\"")));
    let url = server.start(&site);
    let lists = |lists: &str| {
        format!(
            "challenge.block_lists = [{lists}]\n\
             [[rule]]\nmatch = {{ name = \"friend\" }}\naccept = true\n\
             [matchmaking]\nenabled = true\nidle_s = 5\nchallenge_timeout_s = 1\nblock_lists = [\"{url}\"]\n"
        )
    };
    let bot = Daemon::start_with(&site, &lists(""), &IMPATIENT);
    for name in ["Cousin", "Friend"] {
        wait_for_line(&bot, &format!("INFO challenged {name}"));
    }
    assert!(!bot.log().contains("challenged Clone"));
    // Challenges have lists of their own.
    assert_eq!(
        challenge_and_wait(&site.player("Clone"), &BLITZ),
        "accepted"
    );
}

#[test]
fn check_reads_block_lists() {
    let site = site();
    let server = Server::default();
    server.set(Some(("Anna\nRobot\n", "\"v1\"")));
    let url = server.start(&site);
    let bot = Daemon::start(
        &site,
        &format!(
            "challenge.block_lists = [\"{url}\", \"none.txt\"]\nmatchmaking.block_lists = [\"{url}\", \"page.html\"]\n"
        ),
    );
    let page = "<html>\n<head>\n</head>\nhello\n</html>\n";
    std::fs::write(bot.state().join("../page.html"), page).unwrap();
    let output = bot.command("check").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text.matches(&format!("{url} with 2 names")).count(),
        1,
        "{text}"
    );
    assert!(text.contains("none.txt: No such file"), "{text}");
    assert!(
        text.contains("page.html: 4 of 5 lines are no user names"),
        "{text}"
    );
    assert!(output.status.success(), "{text}");
}
