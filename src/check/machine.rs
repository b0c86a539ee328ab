//! Checks of the machine: system clock, open file limit and disk.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::report::Finding;
use crate::config::{SERVICE_STATE, Settings};
use crate::plural;

/// A larger difference is reported. The time of the server has a resolution of one second, plus latency.
const MAX_CLOCK_SKEW_SECONDS: f64 = 5.0;

/// Files open independent of the games: books, records, sockets, connections.
const BASE_OPEN_FILES: u64 = 128;

/// Files per game: a stream and a connection for moves, twice while they are being replaced.
const OPEN_FILES_PER_GAME: u64 = 4;

/// A longer synchronous write of 4 KiB is reported. A rotating disk takes about 20 ms.
const SLOW_WRITE: Duration = Duration::from_millis(100);

/// Checks the system clock, given how many seconds it is ahead of that of Lichess. A server on this machine is a
/// simulator, whose time may run faster.
pub(super) fn clock(ahead: Option<f64>, is_local: bool) -> Option<Finding> {
    let ahead = ahead?;
    let seconds = ahead.abs();
    if seconds <= MAX_CLOCK_SKEW_SECONDS {
        return Some(Finding::ok("clock", "agrees with Lichess's"));
    }
    let side = if ahead > 0.0 { "ahead of" } else { "behind" };
    let text = format!("{seconds:.0} s {side} Lichess's");
    let hint = match is_local {
        true => "the server is on this machine: a simulator with --speed is ahead of the clock",
        false => "daily limits, records and certificates depend on it: timedatectl set-ntp true",
    };
    Some(Finding::warning("clock", text).hint(hint))
}

/// Checks the open file limit, if the system reports it.
pub(super) fn files(settings: &Settings) -> Option<Finding> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let accounts = settings.accounts();
    let games = accounts.iter().map(|account| account.games.concurrency);
    let games = games.fold(0_usize, usize::saturating_add);
    let games = games.try_into().unwrap_or(u64::MAX);
    Some(open_file_limit(parse_open_files(&limits)?, games))
}

/// Parses the soft limit out of `/proc/self/limits`.
fn parse_open_files(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let rest = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

fn open_file_limit(max: u64, games: u64) -> Finding {
    let needed = BASE_OPEN_FILES.saturating_add(OPEN_FILES_PER_GAME.saturating_mul(games));
    if max >= needed {
        return Finding::ok(
            "files",
            format!("{max} may be open, {needed} are needed at most"),
        );
    }
    let games = plural::count(games, "game", "games");
    let text = format!("only {max} may be open, and {games} at once may need {needed}");
    Finding::warning("files", text).hint(format!(
        "ulimit -n {needed}, or LimitNOFILE={needed} in the unit; or fewer games.concurrency"
    ))
}

/// Warns of hash tables that do not fit into the memory of the machine.
pub(super) fn memory(settings: &Settings) -> Option<Finding> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    hash_tables(settings.engine.all_hash_mib(), parse_total_memory(&info)?)
}

/// Parses the size of the memory in MiB out of `/proc/meminfo`.
fn parse_total_memory(info: &str) -> Option<usize> {
    let mut lines = info.lines();
    let rest = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

fn hash_tables(hash_mib: usize, memory_mib: usize) -> Option<Finding> {
    (hash_mib > memory_mib).then(|| {
        let text = format!(
            "the hash tables of all engines take {hash_mib} MiB, and the machine has {memory_mib} MiB"
        );
        Finding::warning("memory", text).hint(
            "lower engine.hash_mib, and hash_mib or processes of [[engine.external]]: hash_mib is that of each process",
        )
    })
}

/// Measures a synchronous write in the directory, or in its nearest existing ancestor. `None` if systemd will create the
/// directory.
///
/// # Errors
/// A sentence that says why the directory cannot be written.
pub(super) fn test_write(
    settings: &Settings,
    directory: &Path,
) -> Option<Result<WriteTest, String>> {
    if settings.is_of_service() && directory == Path::new(SERVICE_STATE) && !directory.exists() {
        return None;
    }
    let mut there = directory.ancestors();
    // The last ancestor of a relative path is empty.
    let there = there.find(|path| path.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("."));
    let (shown, wanted) = (there.display(), directory.display());
    let is_missing = there != directory;
    Some(match write_page(there) {
        Ok(took) => Ok(WriteTest {
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

/// A successful test write.
pub(super) struct WriteTest {
    directory: PathBuf,
    took: Duration,
}

/// The finding for the result of [`test_write`].
pub(super) fn disk(write_test: &Result<WriteTest, String>) -> Finding {
    match write_test {
        Ok(write_test) => write_time(&write_test.directory, write_test.took),
        Err(why) => Finding::warning("disk", why).hint(
            "records, daily counts and operator overrides are lost on restart: correct it, or set another \
             records.directory; if the bot runs as another user, run check as that user",
        ),
    }
}

fn write_time(directory: &Path, took: Duration) -> Finding {
    let millis = took.as_secs_f64() * 1e3;
    let text = format!("{} stores a page in {millis:.1} ms", directory.display());
    if took < SLOW_WRITE {
        return Finding::ok("disk", text);
    }
    Finding::warning("disk", text).hint(
        "games do not wait for it, but the latest records are lost in a crash: set records.directory to a local disk",
    )
}

/// The median of five synchronous writes.
fn write_page(directory: &Path) -> io::Result<Duration> {
    let path = directory.join(format!(".check.{}", std::process::id()));
    let write_test = || {
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
    let write_test = write_test();
    match fs::remove_file(&path) {
        Err(error) if write_test.is_ok() => Err(error),
        _ => write_test,
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Severity;
    use super::*;

    #[test]
    fn clock_off_by_seconds_is_reported() {
        assert_eq!(clock(None, false), None);
        let simulated = format!("{:?}", clock(Some(-90.2), true));
        assert!(!simulated.contains("timedatectl"), "{simulated}");
        for (ahead, expected) in [
            (0.4, "agrees with Lichess's"),
            (-4.9, "agrees with Lichess's"),
            (90.2, "90 s ahead of Lichess's"),
            (-3600.0, "3600 s behind Lichess's"),
        ] {
            let finding = clock(Some(ahead), false).unwrap();
            assert_eq!(finding.text, expected);
            assert_eq!(finding.severity == Severity::Ok, ahead.abs() < 5.0);
        }
    }

    #[test]
    fn hash_tables_larger_than_the_memory_warn() {
        let info = "MemTotal:        4028440 kB\nMemFree:         1000 kB\n";
        assert_eq!(parse_total_memory(info), Some(3_934));
        assert_eq!(hash_tables(3_934, 3_934), None);
        let finding = hash_tables(4_352, 3_934).unwrap();
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.text.contains("take 4352 MiB"), "{}", finding.text);
    }

    #[test]
    fn open_file_limit_below_need_of_games_warns() {
        let limits = |max: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max open files            {max}                 1048576              files     \n"
            )
        };
        assert_eq!(parse_open_files(&limits("1024")), Some(1024));
        assert_eq!(parse_open_files(&limits("unlimited")), Some(u64::MAX));
        assert_eq!(parse_open_files(""), None);
        assert_eq!(open_file_limit(1024, 4).severity, Severity::Ok);
        assert_eq!(open_file_limit(144, 4).severity, Severity::Ok);
        assert_eq!(open_file_limit(143, 4).severity, Severity::Warning);
        assert_eq!(open_file_limit(1024, 1000).severity, Severity::Warning);
    }

    #[test]
    fn slow_disk_warns() {
        let of = |ms| write_time(Path::new("/x"), Duration::from_millis(ms));
        assert_eq!(of(20).severity, Severity::Ok);
        assert_eq!(of(250).severity, Severity::Warning);
        assert_eq!(of(250).text, "/x stores a page in 250.0 ms");
        let home = tempfile::tempdir().unwrap();
        assert!(write_page(home.path()).is_ok());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(write_page(&home.path().join("nowhere")).is_err());
    }
}
