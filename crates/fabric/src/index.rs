//! Indexing on the packet path.
//!
//! A number that is out of range is a bug of the engine's own; its panic names
//! no numbers, which saves an instruction or two on each of the dozen accesses
//! of a packet-hop (docs/evidence/performance.md).

/// Entry `index` of `slice`, which must be there.
#[inline(always)]
pub fn at<T>(slice: &[T], index: u32) -> &T {
    match slice.get(index as usize) {
        Some(entry) => entry,
        None => out_of_range(),
    }
}

/// Entry `index` of `slice`, which must be there.
#[inline(always)]
pub fn at_mut<T>(slice: &mut [T], index: u32) -> &mut T {
    match slice.get_mut(index as usize) {
        Some(entry) => entry,
        None => out_of_range(),
    }
}

/// Asks for entry `index` of `slice`, which will be needed soon; there need not be one.
///
/// With a hundred thousand packets on the wires each visit of one would wait for
/// memory. What comes next is known a step ahead.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: u32) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch reads nothing and does not fault, whatever the address;
    // `wrapping_add` makes the address without claiming that anything is there.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let entry = slice.as_ptr().wrapping_add(index as usize).cast::<i8>();
        for line in (0..size_of::<T>()).step_by(64) {
            _mm_prefetch::<_MM_HINT_T0>(entry.wrapping_add(line));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cold]
#[inline(never)]
fn out_of_range() -> ! {
    unreachable!("a number out of range inside the engine")
}
