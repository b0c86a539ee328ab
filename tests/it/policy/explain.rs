//! Decisions about challenges as `knightwatch explain` prints them.

use std::path::Path;
use std::process::Command;

/// `knightwatch explain` with the configuration and the state files in this directory.
fn explain_command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command
        .args(["explain", "--config", "config.toml"])
        .current_dir(home)
        .env_remove("LICHESS_TOKEN")
        .env("STATE_DIRECTORY", home);
    command
}

/// Output of `knightwatch explain` for a challenge.
fn explain(config: &str, challenge: &str) -> String {
    explain_with_state(&[], config, challenge)
}

/// The same next to these state files of the service.
fn explain_with_state(files: &[(&str, &str)], config: &str, challenge: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(home.path().join(name), text).unwrap();
    }
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    std::fs::write(home.path().join("challenge.json"), challenge).unwrap();
    let output = explain_command(home.path())
        .arg("challenge.json")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const CHALLENGE: &str = r#"{"type":"challenge","challenge":{"id":"abcdefgh","status":"created",
    "challenger":{"id":"robot","name":"Robot","title":"BOT","rating":2200},
    "destUser":{"id":"knightwatch","name":"Knightwatch","title":"BOT","rating":2000},
    "variant":{"key":"standard","name":"Standard","short":"Std"},"rated":true,"speed":"bullet",
    "timeControl":{"type":"clock","limit":60,"increment":0,"show":"1+0"},"color":"random","finalColor":"white"},
    "compat":{"bot":true,"board":false}}"#;

#[test]
fn policy_explain_lists_rules() {
    let config = r#"
        [[rule]]
        name = "people"
        match = { bot = false }
        accept = true
        [[rule]]
        name = "bots"
        match = { bot = true }
        limit = { per_user_day = 3, per_day = 80 }
        play = { offer_draws = false }
        [[rule]]
        name = "no rush"
        match = { speed = ["bullet", "blitz"], increment_s = 0 }
        decline = "tooFast"
        "#;
    insta::assert_snapshot!(explain(config, CHALLENGE));
    let (lenient, _) = config
        .split_once("[[rule]]\n        name = \"no rush\"")
        .unwrap();
    insta::assert_snapshot!(explain(lenient, CHALLENGE));
    insta::assert_snapshot!(explain("", CHALLENGE));
    // The last line is the playing strength.
    let limited = "[engine]\nstrength = { adaptive = true, allow_rated = true }\n";
    let printed = explain(limited, CHALLENGE);
    assert!(
        printed.ends_with("\nPlayed at 2200 Elo, for the opponent has 2200\n"),
        "{printed}"
    );
    let printed = explain("[engine]\nstrength = 1500\n", CHALLENGE);
    assert!(
        printed.contains("\nPlayed at full strength, for the game is rated"),
        "{printed}"
    );
}

#[test]
fn policy_explain_without_challenge_names_both_ways() {
    for (arguments, expected) in [
        (&["explain"][..], "<CHALLENGE|--user <NAME>>"),
        (&["explain", "--user", "A B"], "not the name of a user"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .args(arguments)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(expected), "{printed}");
    }
}

#[test]
fn policy_explain_takes_challenge_in_words() {
    let explain = |arguments: &[&str]| {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(
            home.path().join("config.toml"),
            "challenge.max_rating = 1800\n",
        )
        .unwrap();
        let output = explain_command(home.path())
            .args(arguments)
            .output()
            .unwrap();
        let (out, error) = (output.stdout, output.stderr);
        let [out, error] = [out, error].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out + &error)
    };
    let anna = [
        "--user", "Anna", "--rating", "1500", "--clock", "5+3", "--rated",
    ];
    let (code, printed) = explain(&anna);
    assert!(
        printed.starts_with("Anna (1500) asks for 5+3 blitz, rated, standard\n"),
        "{printed}"
    );
    assert!(
        code == Some(0) && printed.contains("\nAccepted, within [challenge]"),
        "{printed}"
    );
    let (_, printed) = explain(&[
        "--user",
        "lichess.org/@/Anna",
        "--title",
        "bot",
        "--rating",
        "1900",
    ]);
    assert!(
        printed.starts_with("BOT Anna (1900) asks for 3+2 blitz, casual, standard\n"),
        "{printed}"
    );
    assert!(printed.contains("\nDeclined, "), "{printed}");
    let (_, printed) = explain(&["--user", "Anna", "--clock", "2d", "--variant", "chess960"]);
    assert!(
        printed.contains("correspondence, casual, chess960"),
        "{printed}"
    );
    for (arguments, why) in [
        (&[][..], "<CHALLENGE|--user <NAME>>"),
        (&["--rating", "1500"], "--user"),
        (&["--user", "Anna", "--clock", "3"], "minutes and seconds"),
        (&["--user", "Anna", "--fen", "8/8 w"], "--fen"),
        (&["--user", "Anna", "--color", "red"], "white or black"),
        (&["--user", "Anna", "--at", "25:00"], "hours and minutes"),
        (&["--color", "white"], "--user"),
        (
            &["--user", "Anna", "--variant", "ches960"],
            "did you mean `chess960`?",
        ),
    ] {
        let (code, printed) = explain(arguments);
        assert!(code == Some(2) && printed.contains(why), "{printed}");
    }
    let (code, printed) = explain(&["LAST"]);
    assert!(
        code == Some(1) && printed.contains("there are no records"),
        "{printed}"
    );
}

#[test]
fn policy_explain_takes_position_color_and_time_of_day() {
    let home = tempfile::tempdir().unwrap();
    let config = r#"
        [[rule]]
        name = "night"
        match = { hours = "22:00-06:00" }
        decline = "later"
        [[rule]]
        name = "endings"
        match = { fen = "8/8/*" }
        decline = "standard"
        [[rule]]
        name = "white"
        match = { color = "white" }
        limit = { concurrency = 1 }
        accept = true
        [[rule]]
        decline = "generic"
        "#;
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let ending = "8/8/8/8/8/4k3/8/R3K3 w - - 0 1";
    let day = ["--at", "12:00"];
    for (arguments, expected) in [
        (
            &["--at", "23:30", "--color", "white"][..],
            "\nDeclined, later: rule `night`",
        ),
        (
            &["--fen", ending, "--color", "white"],
            "\nDeclined, standard: rule `endings`",
        ),
        (&["--color", "black"], "\nDeclined, generic: rule 4"),
        (&["--color", "white"], "\nAccepted, rule `white`"),
        (
            &["--color", "white"],
            "at most 1 at the same time by rule `white`, running games are not counted",
        ),
        (&["--fen", ending], "casual, fromPosition"),
    ] {
        let day = (!arguments.contains(&"--at")).then_some(day);
        let output = explain_command(home.path())
            .args(["--user", "Anna"])
            .args(arguments)
            .args(day.into_iter().flatten())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
    }
}

#[test]
fn policy_explain_reads_pause_and_quota() {
    let paused = [("lichess.org.overrides.json", "{\"paused\": true}")];
    let printed = explain_with_state(&paused, "", CHALLENGE);
    assert!(
        printed.ends_with("\nDeclined, later: the operator has paused the bot\n"),
        "{printed}"
    );
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let quota =
        format!("{{\"used\": {{\"bot.vsBot.day\": {{\"since\": {now}, \"credits\": 100}}}}}}");
    let spent = [("lichess.org.quota.json", quota.as_str())];
    let printed = explain_with_state(&spent, "", CHALLENGE);
    assert!(
        printed.contains("\nDeclined, later: the daily limit of games against bots is reached"),
        "{printed}"
    );
}
