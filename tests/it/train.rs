//! The training tools: from games to a network.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use knightwatch::lab::archive;
use knightwatch::lab::record::Record;
use knightwatch::signals::is_hangup_ignored;

use crate::cli::{knightwatch, output, stdout};
use crate::common::{python_with, signal, signal_twice, wait};

/// Arguments for quick games in this directory.
fn datagen<'a>(folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let quick = [
        "datagen",
        "--classical",
        "--threads",
        "2",
        "--nodes",
        "20",
        "--seed",
        "7",
        "--data",
        folder,
    ];
    [&quick, more].concat()
}

/// Starts the command and waits until its games begin.
fn start_and_wait(command: &mut Command) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("self-play: 2 threads"), "{first}");
    (child, lines)
}

/// Arguments to train a small network on the games of a directory; options in `more` replace the defaults.
fn train<'a>(folder: &'a str, network: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = [
        ["--data", folder],
        ["--out", network],
        ["--hidden", "32"],
        ["--buckets", "1"],
        ["--validation", "0.3"],
        ["--epochs", "1"],
    ];
    let kept = usual.iter().filter(|[option, _]| !more.contains(option));
    let kept: Vec<&str> = kept.flatten().copied().collect();
    [&["train"], &kept[..], more].concat()
}

/// The number of games in the files of a directory.
fn games(folder: &Path) -> usize {
    let count = |path| {
        let mut from = archive::open(path).unwrap();
        let records = std::iter::from_fn(|| Record::read(&mut from).unwrap());
        records.count()
    };
    archive::files(folder, archive::FILE_SUFFIX)
        .unwrap()
        .iter()
        .map(|path| count(path))
        .sum()
}

/// The number before a word in a line.
fn number_before(word: &str, line: &str) -> usize {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|found| *found == word);
    let at = at.unwrap_or_else(|| panic!("{word} is not in: {line}"));
    words[at - 1].parse().unwrap()
}

/// The validation error in a line.
fn validation_error(line: &str) -> f64 {
    let at = line.rfind("validation ").map(|at| at + "validation ".len());
    let error = at.and_then(|at| line[at..].split([' ', ';']).next()?.parse().ok());
    error.unwrap_or_else(|| panic!("no validation error: {line}"))
}

#[test]
fn gpu_trainer_agrees_with_train() {
    let Some(python) = python_with("jax") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (folder, positions, start) = (at("games"), at("positions"), at("start.kwnn"));
    stdout(&datagen(&folder, &["--games", "30"]));
    let exported = ["--lambda", "0.8", "--validation", "0.3"];
    let printed = stdout(
        &[
            &["export-positions", "--data", &folder, "--out", &positions],
            &exported[..],
        ]
        .concat(),
    );
    let count = number_before("positions,", &printed);
    let held_out = number_before("of", printed.split("them for").next().unwrap());
    let length = |name: &str| {
        let path = Path::new(&positions).join(name);
        fs::metadata(path).unwrap().len() as usize
    };
    assert_eq!(length("validation.samples"), held_out * 36);
    assert_eq!(length("training-00.samples"), (count - held_out) * 36);
    let gpu_train = |network: &str, more: &[&str]| {
        let trainer = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/lab/gpu/train.py");
        let mut command = Command::new(&python);
        command.env("JAX_PLATFORMS", "cpu").arg(trainer);
        command.args(["--data", &positions, "--out", network, "--hidden", "32"]);
        let output = command.args(["--batch", "64"]).args(more).output().unwrap();
        let (printed, errors) = (output.stdout, String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{errors}");
        String::from_utf8(printed).unwrap()
    };

    // Both find the same error in the same network, which is not changed at this rate.
    let target = ["--lambda", "0.8", "--wdl", "0.15", "--scale", "190"];
    let like_gpu = [&["--buckets", "8", "--batch", "64"], &target[..]].concat();
    stdout(&train(&folder, &start, &like_gpu));
    let same = [&["--from", &start, "--rate", "1e-12"], &like_gpu[..]].concat();
    let printed = stdout(&train(&folder, &at("same.kwnn"), &same));
    let epoch = printed.lines().find(|line| line.starts_with("epoch "));
    let expected = validation_error(epoch.unwrap());
    let printed = gpu_train(&at("unchanged.kwnn"), &["--from", &start, "--epochs", "0"]);
    let found = validation_error(printed.lines().last().unwrap());
    assert!((found - expected).abs() < 2e-6, "{found} {expected}");

    // It learns, and the engine plays with what it writes.
    let network = at("learned.kwnn");
    let printed = gpu_train(
        &network,
        &["--from", &start, "--epochs", "4", "--rate", "0.01"],
    );
    let learned = validation_error(printed.lines().last().unwrap());
    let losses: Vec<f64> = printed
        .lines()
        .filter_map(|line| line.split("loss ").nth(1)?.split(',').next()?.parse().ok())
        .collect();
    assert_eq!(losses.len(), 4, "{printed}");
    assert!(losses[3] < losses[0] / 2.0, "{printed}");
    stdout(&["match", &network, "none", "--games", "2", "--nodes", "50"]);
    // It continues from the weights as they were before they were rounded.
    let weights = at("learned.npz");
    let printed = gpu_train(&at("more.kwnn"), &["--from", &weights, "--epochs", "0"]);
    let continued = validation_error(printed.lines().last().unwrap());
    assert!((continued - learned).abs() < 2e-6, "{continued} {learned}");
}

#[test]
fn trained_network_plays() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (folder, network, log) = (at("games"), at("new.kwnn"), at("new.log"));
    stdout(&datagen(&folder, &["--games", "30"]));
    assert!(games(Path::new(&folder)) >= 30);
    let learn = |more: &[&str]| output(&train(&folder, &network, more));
    let six = ["--epochs", "6", "--batch", "64", "--rate", "0.05"];
    let printed = stdout(&train(&folder, &network, &six));
    assert_eq!(fs::read_to_string(&log).unwrap(), printed);
    // The epoch with the lowest loss is kept.
    let after = |line: &str, words: &str| line.split(words).nth(1).unwrap()[..8].to_owned();
    let epochs = printed.lines().filter(|line| line.starts_with("epoch "));
    let losses: Vec<String> = epochs.map(|line| after(line, "validation ")).collect();
    assert_eq!(losses.len(), 6, "{printed}");
    let best = printed.lines().last().unwrap();
    assert_eq!(Some(&after(best, "best: validation ")), losses.iter().min());
    stdout(&["match", &network, "none", "--games", "2", "--nodes", "50"]);
    // Training continues from it, also with more units.
    let wide = at("wide.kwnn");
    stdout(&train(
        &folder,
        &wide,
        &["--from", &network, "--hidden", "64"],
    ));

    // After an error the network and its log are unchanged.
    let whole = fs::read(&network).unwrap();
    for (more, words) in [
        (
            &["--validation", "0"][..],
            "and 0 set apart (--validation 0)",
        ),
        (&["--from", "nowhere.kwnn"], "nowhere.kwnn"),
        (&["--from", &wide], "64 hidden units"),
        (&["--data", "nowhere"], "cannot read nowhere"),
        (&["--out", &log], "the log would overwrite"),
        (
            &["--out", "nowhere/new.kwnn"],
            "its directory does not exist",
        ),
    ] {
        let refused = learn(more);
        assert_eq!(refused.status.code(), Some(1), "{more:?}");
        let why = String::from_utf8(refused.stderr).unwrap();
        assert!(why.contains(words), "{why}");
        assert_eq!(fs::read(&network).unwrap(), whole);
        assert_eq!(fs::read_to_string(&log).unwrap(), printed);
    }

    let file = archive::files(Path::new(&folder), archive::FILE_SUFFIX)
        .unwrap()
        .remove(0);
    let games = fs::read(&file).unwrap();
    let over_games = ["train", "--data", &folder, "--out", file.to_str().unwrap()];
    let refused = knightwatch(&over_games).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(why.contains("exists and is not a network"), "{why}");
    assert_eq!(fs::read(&file).unwrap(), games);
    fs::write(&file, &games[..games.len() / 2]).unwrap();
    let why = String::from_utf8(learn(&[]).stderr).unwrap();
    let warning = format!("cannot use {}, which may be removed: ", file.display());
    assert!(
        why.contains(&warning) && why.contains("it ends within a game"),
        "{why}"
    );
}

#[test]
fn hangup_keeps_games() {
    for repeated in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().to_str().unwrap();
        let arguments = datagen(folder, &["--file-minutes", "0.01"]);
        let mut command = knightwatch(&arguments);
        if is_hangup_ignored() {
            // The tests may run under nohup; the command must not.
            command = Command::new("env");
            command
                .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_knightwatch")])
                .args(&arguments);
        }
        let (mut child, mut lines) = start_and_wait(&mut command);
        wait("the first file", || (games(home.path()) > 0).then_some(()));
        if repeated {
            signal_twice(child.id(), "HUP");
        } else {
            signal(&child, "HUP");
        }
        assert!(child.wait().unwrap().success());
        let line = lines.next().unwrap().unwrap();
        assert_eq!(games(home.path()), number_before("games,", &line));
        assert!(games(home.path()) > 0);
    }
}

#[test]
fn nohup_ignores_hangup() {
    let home = tempfile::tempdir().unwrap();
    let arguments = datagen(home.path().to_str().unwrap(), &["--file-minutes", "0.01"]);
    let (mut child, mut lines) = start_and_wait(
        Command::new("sh")
            .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_knightwatch"))
            .args(&arguments)
            .stderr(Stdio::null()),
    );
    signal(&child, "HUP");
    let before = games(home.path());
    wait("further games", || {
        (games(home.path()) > before + 20).then_some(())
    });
    signal(&child, "TERM");
    assert!(lines.next().unwrap().unwrap().contains(" games, "));
    assert!(child.wait().unwrap().success());
}

#[test]
fn closed_stdout_keeps_games() {
    let home = tempfile::tempdir().unwrap();
    let arguments = datagen(home.path().to_str().unwrap(), &["--games", "30"]);
    let mut child = knightwatch(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(games(home.path()) >= 30);
}

#[test]
fn unwritable_directory_is_retried() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("games");
    let arguments = datagen(folder.to_str().unwrap(), &["--file-minutes", "0.01"]);
    let (mut child, mut lines) = start_and_wait(knightwatch(&arguments).stderr(Stdio::piped()));
    let away = home.path().join("away");
    fs::rename(&folder, &away).unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let error = errors.find(|line| {
        let line = line.as_ref().unwrap();
        line.contains("cannot write") && line.ends_with("trying again later")
    });
    assert!(error.is_some());
    fs::rename(&away, &folder).unwrap();
    signal(&child, "TERM");
    let line = lines.next().unwrap().unwrap();
    // Further output must not block it.
    drop(errors);
    assert!(child.wait().unwrap().success());
    assert_eq!(games(&folder), number_before("games,", &line));
}
