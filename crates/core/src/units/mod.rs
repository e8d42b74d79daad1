//! Units: integer newtypes, and the text that people write for them.
//!
//! Time is an integer number of picoseconds, which is exact for one byte at
//! 10, 25, 40, 100, 400 and 800 Gbps. Instants ([`Time`]) and intervals
//! ([`Duration`]) are different types. KB = 1000 bytes.

#[macro_use]
mod text;
mod bytes;
mod rate;
mod relative;
mod time;

pub use bytes::Bytes;
pub use rate::Rate;
pub use relative::{DataLength, Increase, PathScale, RttTime, WindowCounts};
pub use text::grouped;
pub use time::{Duration, PS_PER_S, Time};
