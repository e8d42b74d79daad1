//! Indexing on the packet path.
//!
//! A number that is out of range is a bug of the engine's own; its panic names
//! no numbers, which saves an instruction or two on each of the dozen accesses
//! of a packet-hop (docs/performance.md).

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

#[cold]
#[inline(never)]
fn out_of_range() -> ! {
    unreachable!("a number out of range inside the engine")
}
