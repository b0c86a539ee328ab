//! Huge pages for memory that is accessed at random.

use std::ptr::NonNull;

/// Size and alignment of a huge page.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Asks the system for pages of 2 MiB instead of 4 KiB: the addresses of small ones do not fit into the TLB. For the
/// transposition table that is about 5 % of search speed, for the histories 1 %. Without such pages nothing changes.
pub(crate) fn advise_huge(start: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        let offset = start.align_offset(HUGE_PAGE_BYTES);
        let bytes_in_pages = bytes.saturating_sub(offset) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        if bytes_in_pages > 0 && may_be_huge(bytes_in_pages as u64, physical_memory()) {
            // SAFETY: `offset + bytes_in_pages` is at most `bytes`, which is the caller's; the advice changes no content.
            let advised = unsafe {
                rustix::mm::madvise(
                    start.add(offset).as_ptr().cast(),
                    bytes_in_pages,
                    rustix::mm::Advice::LinuxHugepage,
                )
            };
            // A kernel without huge pages returns an error; the memory works all the same.
            let _ = advised;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// A short search touches few entries of a table, but most of its huge pages, and the system clears each on first use:
/// about 0.1 s for a GiB. So a table above 1 GiB keeps small pages if it takes more than half of the memory or more than
/// 4 GiB.
#[cfg(target_os = "linux")]
fn may_be_huge(bytes: u64, memory: u64) -> bool {
    const ALWAYS: u64 = 1 << 30;
    const NEVER_ABOVE: u64 = 4 << 30;
    bytes <= ALWAYS || bytes <= NEVER_ABOVE && bytes <= memory / 2
}

/// Bytes of memory of the machine; limits of a container do not count.
#[cfg(target_os = "linux")]
fn physical_memory() -> u64 {
    let info = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, reason = "it is a u32 on some targets")]
    let units = u64::from(info.totalram);
    units * u64::from(info.mem_unit)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn tables_that_leave_memory_get_huge_pages() {
        const GIB: u64 = 1 << 30;
        assert!(physical_memory() > GIB / 8);
        for (gib, memory, huge) in [(1, 1, true), (2, 3, false), (4, 8, true), (8, 64, false)] {
            assert_eq!(may_be_huge(gib * GIB, memory * GIB), huge, "{gib} {memory}");
        }
    }
}
