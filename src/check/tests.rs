//! Tests against the simulator.

use std::path::Path;

use tempfile::{NamedTempFile, TempDir};
use tokio::net::TcpListener;

use super::*;
use crate::config::TokenSource;
use crate::sim::{NewUser, Sim, SimOptions};

/// A simulator with these users, and settings that point to it.
struct Site {
    settings: Settings,
    sim: Sim,
    token: NamedTempFile,
    _home: TempDir,
}

impl Site {
    async fn new(users: Vec<NewUser>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let token = NamedTempFile::new().unwrap();
        let mut settings = Settings::default();
        settings.lichess.url = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        settings.token = Some(TokenSource::File(token.path().to_owned()));
        let home = tempfile::tempdir().unwrap();
        settings.records.directory = Some(home.path().to_owned());
        settings.engine.hash_mib = 1;
        settings.engine.threads = 1;
        let sim = Sim::new(SimOptions {
            users,
            ..SimOptions::default()
        });
        let site = sim.clone();
        tokio::spawn(async move { site.serve(listener, std::future::pending()).await });
        Self {
            settings,
            sim,
            token,
            _home: home,
        }
    }

    /// The settings with the token of a user.
    fn of(&self, user: &str) -> &Settings {
        std::fs::write(self.token.path(), self.sim.token_of(user)).unwrap();
        &self.settings
    }
}

/// All warnings and problems, with topic and text.
fn warnings_and_problems(report: &Report) -> Vec<String> {
    let bad = report
        .findings
        .iter()
        .filter(|finding| finding.severity != Severity::Ok);
    bad.map(|finding| {
        assert!(finding.hint.is_some(), "what to do about it: {finding}");
        format!("{}: {}", finding.topic, finding.text)
    })
    .collect()
}

#[tokio::test]
async fn bot_account_with_bio_and_scopes_is_ready() {
    let kestrel = NewUser {
        takebacks: true,
        ..NewUser::bot("Kestrel")
    };
    let site = Site::new(vec![kestrel]).await;
    let report = check(site.of("Kestrel")).await;
    assert_eq!(warnings_and_problems(&report), [""; 0], "{report}");
    assert_eq!(report.exit_code(), 0);
    let topics: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| finding.topic)
        .collect();
    assert_eq!(
        topics,
        [
            "configuration",
            "lichess",
            "clock",
            "token",
            "takebacks",
            "account",
            "book",
            "records",
            "page",
            "disk",
            "files",
            "engine"
        ]
    );
    assert!(
        report
            .to_string()
            .ends_with("Ready to play: knightwatch run"),
        "{report}"
    );
    assert!(
        !format!("{report} {report:?}").contains("lip_"),
        "the token is not shown"
    );
}

#[tokio::test]
async fn all_problems_are_reported_at_once() {
    let mut site = Site::new(vec![NewUser::human("Anna")]).await;
    site.sim
        .add_token("lip_narrow", "Anna", &["challenge:write"]);
    std::fs::write(site.token.path(), "lip_narrow").unwrap();
    site.settings.book.files = vec!["/nowhere/book.bin".into()];
    let report = check(&site.settings).await;
    let warnings_and_problems = warnings_and_problems(&report);
    let expected = [
        "token: of Anna, lacks the scope bot:play",
        "token: lacks the scope challenge:read",
        "account: Anna is not a bot account",
        "account: Anna has no biography",
        "book: ",
    ];
    assert_eq!(warnings_and_problems.len(), expected.len(), "{report}");
    for (finding, beginning) in warnings_and_problems.iter().zip(expected) {
        assert!(finding.starts_with(beginning), "{finding}");
    }
    assert!(
        warnings_and_problems[4].contains("/nowhere/book.bin"),
        "{}",
        warnings_and_problems[4]
    );
    assert_eq!(report.exit_code(), 78, "the configuration comes first");
    assert!(
        report
            .to_string()
            .ends_with("Not ready to play: 3 problems"),
        "{report}"
    );
}

#[tokio::test]
async fn exit_code_depends_on_cause() {
    let site = Site::new(vec![NewUser::bot("Kestrel"), NewUser::human("Anna")]).await;
    assert_eq!(check(site.of("Anna")).await.exit_code(), 77, "no title");

    site.of("Nobody");
    let report = check(&site.settings).await;
    assert_eq!(report.exit_code(), 77, "{report}");
    assert!(
        warnings_and_problems(&report)[0].contains("Lichess does not know it"),
        "{report}"
    );

    let mut nameless = site.settings.clone();
    nameless.token = None;
    let report = check(&nameless).await;
    assert_eq!(report.exit_code(), 78, "as at the start: {report}");
    assert!(
        report
            .to_string()
            .contains("/account/oauth/token/create?scopes[]=bot:play"),
        "{report}"
    );

    let mut away = site.of("Kestrel").clone();
    let unused = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    away.lichess.url = format!("http://{unused}").parse().unwrap();
    let report = check(&away).await;
    assert_eq!(report.exit_code(), 1, "{report}");
    assert!(
        warnings_and_problems(&report)[0].contains("cannot be reached"),
        "{report}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn token_file_readable_by_others_warns() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new(vec![NewUser::bot("Kestrel")]).await;
    let settings = site.of("Kestrel");
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644));
    open(site.token.path()).unwrap();
    let report = check(settings).await;
    assert!(
        warnings_and_problems(&report)[0].contains("(mode 0644)"),
        "{report}"
    );
    assert_eq!(report.exit_code(), 0);
}

fn must_not_ask(_: &str) -> io::Result<Option<String>> {
    panic!("there is nothing to ask")
}

#[tokio::test]
async fn upgrade_with_typed_name_succeeds() {
    let site = Site::new(vec![NewUser::human("Anna")]).await;
    let settings = site.of("Anna");
    let answer = |words: &'static str| {
        move |warning: &str| {
            assert!(
                warning.contains("cannot be undone") && warning.contains("Anna"),
                "{warning}"
            );
            Ok(Some(words.to_owned()))
        }
    };
    let error = upgrade(settings, false, answer("yes\n")).await.unwrap_err();
    assert!(matches!(error, UpgradeError::NotConfirmed(_)), "{error}");
    assert_eq!(error.exit_code(), 1);
    let error = upgrade(settings, false, |_| Ok(None)).await.unwrap_err();
    assert!(matches!(error, UpgradeError::NoTerminal), "{error}");

    let done = upgrade(settings, false, answer("anna\n")).await.unwrap();
    assert!(done.starts_with("Anna is a bot account now."), "{done}");
    let again = upgrade(settings, false, must_not_ask).await.unwrap();
    assert_eq!(again, "Anna is already a bot account.");
}

#[tokio::test]
async fn upgrade_without_asking_needs_no_terminal() {
    let site = Site::new(vec![NewUser::human("Anna")]).await;
    upgrade(site.of("Anna"), true, |_| Ok(None)).await.unwrap();
}

#[tokio::test]
async fn upgrade_of_account_with_games_fails() {
    let played = NewUser {
        games: 3,
        ..NewUser::human("Anna")
    };
    let site = Site::new(vec![played]).await;
    let error = upgrade(site.of("Anna"), true, must_not_ask)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("Anna has played 3 games"),
        "{error}"
    );
    assert_eq!(error.exit_code(), 77);
}

#[tokio::test]
async fn upgrade_with_unsuitable_token_fails() {
    let site = Site::new(vec![NewUser::human("Anna")]).await;
    site.sim
        .add_token("lip_narrow", "Anna", &["challenge:write"]);
    for (token, why) in [
        ("lip_narrow", "lacks the scope bot:play"),
        ("lip_unknown", "does not know"),
    ] {
        std::fs::write(site.token.path(), token).unwrap();
        let error = upgrade(&site.settings, true, must_not_ask)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.exit_code(), 77);
    }
}

#[tokio::test]
async fn files_that_the_sandbox_hides_are_named() {
    let mut site = Site::new(vec![NewUser::bot("Tester")]).await;
    site.settings.records.directory = None;
    let home = tempfile::tempdir_in("/tmp").unwrap();
    let book = home.path().join("white.bin");
    site.settings.book.files = vec![book.clone(), "/etc/knightwatch/black.bin".into()];
    let hidden = |settings: &Settings| -> Vec<String> {
        let found = sandbox::hidden_files(settings);
        found.into_iter().map(|finding| finding.text).collect()
    };
    assert_eq!(hidden(&site.settings), [""; 0]);
    site.settings.file = Some(crate::config::SERVICE_CONFIG.into());
    let why = "is hidden from the service by ProtectHome= and PrivateTmp= of its unit";
    assert_eq!(
        hidden(&site.settings),
        [format!("book.files: {} {why}", book.display())]
    );
}
