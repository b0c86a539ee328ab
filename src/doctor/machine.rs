//! What the bot needs of the machine: a clock that is right, files that may be open, a disk that is not too slow.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::report::Finding;
use crate::config::{SERVICE_STATE, Settings};
use crate::plural;

/// A clock that is off by more is spoken of: the server's counts whole seconds, and the way there takes time.
const OFF: f64 = 5.0;

/// Files that are open whatever is played: books, records, sockets, the connections of questions.
const FILES: u64 = 128;

/// For each game a stream and a connection for its moves, and both anew while the old ones are being given up.
const FILES_A_GAME: u64 = 4;

/// A disk that takes longer to keep a page of 4 KiB is slow: one that turns takes some 20 ms.
const SLOW: Duration = Duration::from_millis(100);

/// By how many seconds this machine's clock is ahead of Lichess's, as far as that is known.
pub(super) fn clock(ahead: Option<f64>) -> Option<Finding> {
    let ahead = ahead?;
    let seconds = ahead.abs();
    if seconds <= OFF {
        return Some(Finding::good("clock", "agrees with Lichess's"));
    }
    let side = if ahead > 0.0 { "ahead of" } else { "behind" };
    let text = format!("{seconds:.0} s {side} Lichess's");
    let advice = "limits for a day, the times of the records and certificates go by it: timedatectl set-ntp true";
    Some(Finding::warning("clock", text).advice(advice))
}

/// How many files may be open, where the system tells.
pub(super) fn files(settings: &Settings) -> Option<Finding> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let accounts = settings.accounts();
    let games = accounts.iter().map(|account| account.games.concurrency);
    let games = games.fold(0_usize, usize::saturating_add);
    let games = games.try_into().unwrap_or(u64::MAX);
    Some(enough_files(open_files(&limits)?, games))
}

/// The soft limit, in the words of `/proc/self/limits`.
fn open_files(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let rest = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

fn enough_files(most: u64, games: u64) -> Finding {
    let needed = FILES.saturating_add(FILES_A_GAME.saturating_mul(games));
    if most >= needed {
        return Finding::good(
            "files",
            format!("{most} may be open, {needed} are needed at most"),
        );
    }
    let games = plural::count(games, "game", "games");
    let text = format!("only {most} may be open, and {games} at once may need {needed}");
    Finding::warning("files", text).advice(format!(
        "ulimit -n {needed}, or LimitNOFILE={needed} in the unit; or fewer games.concurrency"
    ))
}

/// Where the bot keeps what has to survive a restart, if it keeps anything.
pub(super) fn directory(settings: &Settings) -> Option<PathBuf> {
    let chosen = settings.records.directory.clone();
    chosen.or_else(|| settings.data_directory())
}

/// How long it takes to keep something there. Where it is not there yet, the directory is tried in which it will be created.
/// `None` where systemd creates it.
///
/// # Errors
/// Why nothing can be kept there.
pub(super) fn try_to_keep(settings: &Settings, directory: &Path) -> Option<Result<Kept, String>> {
    if settings.is_of_service() && directory == Path::new(SERVICE_STATE) && !directory.exists() {
        return None;
    }
    let mut there = directory.ancestors();
    // Of a relative path the last one is empty.
    let there = there.find(|path| path.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("."));
    let (shown, wanted) = (there.display(), directory.display());
    let is_missing = there != directory;
    Some(match keep_a_page(there) {
        Ok(took) => Ok(Kept {
            directory: there.to_owned(),
            took,
        }),
        Err(_) if !there.is_dir() && is_missing => Err(format!(
            "cannot create {wanted}: {shown} is not a directory"
        )),
        Err(_) if !there.is_dir() => Err(format!("{wanted} is not a directory")),
        Err(error) if is_missing => Err(format!(
            "cannot create {wanted}: cannot write in {shown}: {error}"
        )),
        Err(error) => Err(format!("cannot write in {wanted}: {error}")),
    })
}

/// A directory in which something was kept.
pub(super) struct Kept {
    directory: PathBuf,
    took: Duration,
}

/// What came of [`try_to_keep`].
pub(super) fn disk(kept: &Result<Kept, String>) -> Finding {
    match kept {
        Ok(kept) => quick_enough(&kept.directory, kept.took),
        Err(why) => Finding::warning("disk", why).advice(
            "records, counts of challenges and what the operator says are lost at a restart: put it right, or name another \
             directory in records.directory; where the bot runs as another user, check as that user",
        ),
    }
}

fn quick_enough(directory: &Path, took: Duration) -> Finding {
    let millis = took.as_secs_f64() * 1e3;
    let text = format!("{} keeps a page in {millis:.1} ms", directory.display());
    if took < SLOW {
        return Finding::good("disk", text);
    }
    Finding::warning("disk", text).advice(
        "no game waits for it, but what happens just before a crash is lost: name a disk of this machine in \
         records.directory",
    )
}

/// The middle one of five tries.
fn keep_a_page(directory: &Path) -> io::Result<Duration> {
    let path = directory.join(format!(".check.{}", std::process::id()));
    let kept = || {
        let mut file = File::create(&path)?;
        let mut tries = [Duration::ZERO; 5];
        for took in &mut tries {
            let start = Instant::now();
            file.write_all(&[0; 4096])?;
            file.sync_all()?;
            *took = start.elapsed();
        }
        tries.sort_unstable();
        Ok(tries[2])
    };
    let kept = kept();
    match fs::remove_file(&path) {
        Err(error) if kept.is_ok() => Err(error),
        _ => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_told() {
        assert_eq!(clock(None), None);
        for (ahead, told) in [
            (0.4, "agrees with Lichess's"),
            (-4.9, "agrees with Lichess's"),
            (90.2, "90 s ahead of Lichess's"),
            (-3600.0, "3600 s behind Lichess's"),
        ] {
            let finding = clock(Some(ahead)).unwrap();
            assert_eq!(finding.text, told);
            assert_eq!(finding.verdict == Verdict::Good, ahead.abs() < 5.0);
        }
    }

    #[test]
    fn the_limit_of_files_is_compared_with_the_games() {
        let limits = |most: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max open files            {most}                 1048576              files     \n"
            )
        };
        assert_eq!(open_files(&limits("1024")), Some(1024));
        assert_eq!(open_files(&limits("unlimited")), Some(u64::MAX));
        assert_eq!(open_files(""), None);
        assert_eq!(enough_files(1024, 4).verdict, Verdict::Good);
        assert_eq!(enough_files(144, 4).verdict, Verdict::Good);
        assert_eq!(enough_files(143, 4).verdict, Verdict::Warning);
        assert_eq!(enough_files(1024, 1000).verdict, Verdict::Warning);
    }

    #[test]
    fn a_slow_disk_is_told() {
        let of = |ms| quick_enough(Path::new("/x"), Duration::from_millis(ms));
        assert_eq!(of(20).verdict, Verdict::Good);
        assert_eq!(of(250).verdict, Verdict::Warning);
        assert_eq!(of(250).text, "/x keeps a page in 250.0 ms");
        let home = tempfile::tempdir().unwrap();
        assert!(keep_a_page(home.path()).is_ok());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(keep_a_page(&home.path().join("nowhere")).is_err());
    }
}
