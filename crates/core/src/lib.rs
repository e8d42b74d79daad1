//! What every part of fctlab shares and nothing more.
//!
//! * [`units`]: time, bytes and rates as integer newtypes; `"85.2us"`, `"500KB"`, `"10Gbps"` as text.
//! * [`spec`]: reading a specification so that an error names the path, the value and what is allowed.
//! * [`edit`]: one key of a specification set from text.
//! * [`mod@parts`]: the registry behind every choice of the form `kind = "..."`.
//! * [`ends`]: where a flow's completion time ends.
//! * [`mod@format`]: how many bytes a packet has.
//! * [`random`]: named random streams of one seed, so that schemes are compared on the same flows.
//! * [`stats`]: nearest-rank percentiles.
//!
//! Nothing here knows about packets, flows or links.

pub mod edit;
pub mod ends;
pub mod format;
pub mod lines;
pub mod parts;
pub mod presets;
pub mod random;
pub mod spec;
pub mod stats;
pub mod units;

pub use ends::FctEnds;
pub use format::PacketFormat;
pub use spec::SpecError;
pub use units::{Bytes, Duration, Rate, Time, WindowCounts};
