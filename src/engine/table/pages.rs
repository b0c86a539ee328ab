//! The pages that the table's memory is made of.

use std::ptr::NonNull;

/// Asks the system for pages of 2 MiB instead of 4 KiB in a piece of memory: a table is read in places far from one another, and the
/// addresses of so many small pages do not stay in the processor's cache (some 5 % of the speed of a search). Where there are no
/// such pages nothing happens.
pub(super) fn ask_for_huge(memory: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        /// Advice is for whole pages; beginning at one of the huge ones loses nothing.
        const HUGE: usize = 2 << 20;
        /// A larger table keeps its small pages: with huge ones the first search that looks here and there would take all of its
        /// memory.
        const LARGEST: usize = 1 << 30;
        let before = memory.align_offset(HUGE);
        let whole = bytes.saturating_sub(before) / HUGE * HUGE;
        if whole > 0 && whole <= LARGEST {
            // SAFETY: `before + whole` is at most `bytes`, which is the caller's; the advice changes no content.
            let advised = unsafe {
                rustix::mm::madvise(
                    memory.add(before).as_ptr().cast(),
                    whole,
                    rustix::mm::Advice::LinuxHugepage,
                )
            };
            // A kernel without such pages says so; the table works as well.
            let _ = advised;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, bytes);
}
