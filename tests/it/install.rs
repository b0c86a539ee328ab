//! `service`, `completions` and `man` of the real program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use clap::CommandFactory;
use knightwatch::cli::Cli;

use crate::cli::{output, stdout};
use crate::common::skip;

/// Exit code and both outputs of the program.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = output(arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn service_unit_is_installed_kept_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().to_str().unwrap();
    let unit = home.path().join("etc/systemd/system/knightwatch.service");
    let service = |words: &[&str]| {
        let arguments = [&["service"], words, &["--root", root]].concat();
        run(&arguments)
    };

    let (code, printed) = service(&["uninstall"]);
    assert!(
        code == Some(1) && printed.contains("nothing to remove"),
        "{printed}"
    );
    let (code, printed) = service(&["install", "--dry-run"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("Would write ") && !unit.exists(),
        "{printed}"
    );

    for _ in 0..2 {
        let (code, printed) = service(&["install"]);
        assert_eq!(code, Some(0), "{printed}");
        assert!(
            printed.contains("systemctl enable --now knightwatch"),
            "{printed}"
        );
        let init = "sudo knightwatch init --service   writes /etc/knightwatch/config.toml\n";
        assert!(printed.contains(init), "{printed}");
    }
    let text = fs::read_to_string(&unit).unwrap();
    assert!(text.contains("\nExecStart=/usr/local/bin/knightwatch run --config /etc/"));
    assert!(stdout(&["service", "print"]).contains("\nDynamicUser=yes\n"));

    // A changed unit is neither replaced nor removed without --force.
    let changed = format!("{text}# ours\n");
    fs::write(&unit, &changed).unwrap();
    for command in ["install", "uninstall"] {
        let (code, printed) = service(&[command]);
        assert!(code == Some(1) && printed.contains("--force"), "{printed}");
        assert_eq!(fs::read_to_string(&unit).unwrap(), changed);
    }
    let (code, printed) = service(&["install", "--force"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(fs::read_to_string(&unit).unwrap(), text);
    let kept = unit.with_file_name("knightwatch.service.old");
    assert_eq!(fs::read_to_string(&kept).unwrap(), changed);

    let (code, printed) = service(&["uninstall", "--dry-run"]);
    assert!(code == Some(0) && unit.exists(), "{printed}");
    let (code, printed) = service(&["uninstall"]);
    assert!(code == Some(0) && !unit.exists(), "{printed}");
    assert!(kept.exists());

    // A program in another place, which is no reason to refuse.
    let elsewhere = text.replace("/usr/local/bin/", "/opt/knightwatch/");
    fs::write(&unit, &elsewhere).unwrap();
    assert_eq!(service(&["install"]).0, Some(1));
    let (code, printed) = service(&["uninstall"]);
    assert!(code == Some(0) && !unit.exists(), "{printed}");

    // The unit of a package.
    let packaged = home
        .path()
        .join("usr/lib/systemd/system/knightwatch.service");
    fs::create_dir_all(packaged.parent().unwrap()).unwrap();
    fs::write(&packaged, &text).unwrap();
    let (code, printed) = service(&["install"]);
    assert!(code == Some(0) && !unit.exists(), "{printed}");
    assert!(printed.contains("is installed already") && printed.contains("enable --now"));
    fs::write(&packaged, &elsewhere).unwrap();
    let (code, printed) = service(&["install"]);
    assert!(code == Some(0) && unit.exists(), "{printed}");
}

#[test]
fn service_of_an_image_follows_no_link_out_of_it() {
    let home = tempfile::tempdir().unwrap();
    let [image, outside] = ["image", "outside"].map(|name| home.path().join(name));
    fs::create_dir_all(image.join("etc")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    let install = |target: &Path| {
        let link = image.join("etc/systemd");
        let _ = fs::remove_file(&link);
        symlink(target, &link).unwrap();
        run(&["service", "install", "--root", image.to_str().unwrap()])
    };
    let within = |directory: &Path| {
        let directory = image.join(directory.strip_prefix("/").unwrap());
        directory.join("system/knightwatch.service")
    };
    // The system of the image sees these below its own root.
    for target in [outside.as_path(), Path::new("/usr/lib/units")] {
        let (code, printed) = install(target);
        assert_eq!(code, Some(0), "{printed}");
        let unit = within(target);
        assert!(
            unit.exists() && printed.contains(unit.to_str().unwrap()),
            "{printed}"
        );
    }
    let (code, printed) = install(Path::new("../../../../../up"));
    assert!(
        code == Some(0) && within(Path::new("/up")).exists(),
        "{printed}"
    );
    let (code, printed) = install(Path::new("/etc/systemd"));
    assert!(
        code == Some(1) && printed.contains("Is a directory"),
        "{printed}"
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn service_without_systemd_is_refused() {
    if Path::new("/run/systemd/system").exists() {
        skip("running-systemd", "systemd is running here");
        return;
    }
    for arguments in [
        &["service", "install"][..],
        &["service", "install", "--user"],
        &["service", "uninstall"],
    ] {
        let (code, printed) = run(arguments);
        assert_eq!(code, Some(1), "{printed}");
        assert!(printed.contains("systemd is not running here"), "{printed}");
    }
}

/// The unit of a user, on a machine with the directory of a running systemd and a `systemctl` that prints its arguments.
#[test]
fn user_unit_is_installed_for_user() {
    let home = tempfile::tempdir().unwrap();
    let tool = home.path().join("systemctl");
    fs::write(&tool, "#!/bin/sh\necho \"ran $*\" >&2\n").unwrap();
    let command = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && chmod 755 \"$HOME/systemctl\" && \
                   PATH=\"$HOME:$PATH\" exec \"$@\"";
    let run = |words: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["-U", "-r", "-m", "sh", "-c", command, "sh"])
            .arg(env!("CARGO_BIN_EXE_knightwatch"))
            .args(words)
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME");
        let output = unshare.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    if run(&["--version"]).0 != Some(0) {
        skip("mount", "unshare cannot mount anything here");
        return;
    }
    let unit = home.path().join(".config/systemd/user/knightwatch.service");
    let (code, printed) = run(&["service", "install", "--user", "--dry-run"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("Would run systemctl --user daemon-reload\n"),
        "{printed}"
    );
    assert!(!unit.exists());
    let (code, printed) = run(&["service", "install", "--user"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("ran --user daemon-reload\n"), "{printed}");
    let text = fs::read_to_string(&unit).unwrap();
    let program = env!("CARGO_BIN_EXE_knightwatch");
    assert!(
        text.contains(&format!("ExecStart={program} run --config %E/")),
        "{text}"
    );
    assert_eq!(text, stdout(&["service", "print", "--user"]));
    let (code, printed) = run(&["service", "uninstall", "--user"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("ran --user disable --now knightwatch\n"),
        "{printed}"
    );
    assert!(!unit.exists());
}

#[test]
fn completions_know_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        for command in Cli::command().get_subcommands() {
            assert!(script.contains(command.get_name()), "{shell}: {command}");
        }
        assert!(script.contains("dry-run"), "{shell}");
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("knightwatch.bash");
    fs::write(&script, stdout(&["completions", "bash"])).unwrap();
    let complete = |words: &str| {
        let line = format!(
            "set -e; source {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _knightwatch knightwatch \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete("knightwatch comple"), "completions\n");
    assert_eq!(complete("knightwatch service install --dr"), "--dry-run\n");
}

#[test]
fn manual_has_page_for_each_command() {
    let home = tempfile::tempdir().unwrap();
    stdout(&["man", home.path().to_str().unwrap()]);
    assert!(stdout(&["man"]).starts_with(".ie"));
    let visible = Cli::command();
    let visible = visible.get_subcommands().filter(|one| !one.is_hide_set());
    for command in visible {
        let page = home
            .path()
            .join(format!("knightwatch-{}.1", command.get_name()));
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{page:?}: {error}"));
        assert!(text.contains(".SH SYNOPSIS"), "{text}");
    }
    assert!(home.path().join("knightwatch.1").exists());
    let (code, printed) = run(&["man", "/no/such/directory"]);
    assert!(
        code == Some(1) && printed.contains("cannot write to /no/such/directory"),
        "{printed}"
    );
}
