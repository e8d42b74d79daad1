//! What the header says: the tag that a sender writes into each data packet.
//!
//! A tag is a number of 32 bits, in bytes unless the tagger says otherwise;
//! smaller is more urgent. What a switch makes of it is its discipline's
//! business. One file and two lines below per tagger.

use fctlab_core::SpecError;

/// What a tagger may know when a packet is handed to the NIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Payload bytes of the flow.
    pub size: u64,
    /// Payload bytes that have become available to the sender; `size` once the
    /// flow is complete, at its start unless the traffic spaces packets.
    pub written: u64,
    /// Payload bytes cumulatively acknowledged.
    pub acknowledged: u64,
    /// Payload bytes of the flow before this packet's.
    pub offset: u64,
    /// The transport's estimate of the share of marked packets; 0 without one,
    /// and for taggers that do not ask for it.
    pub alpha: f64,
    /// Bits per second of the host's link.
    pub capacity: f64,
    /// Index of the flow's traffic class.
    pub class: u16,
    /// Bits per second that are available of it now; all of them for taggers
    /// that do not ask.
    pub available: f64,
}

/// A rule for the tag.
pub trait Tag {
    /// Whether the tag counts bytes.
    const IN_BYTES: bool = true;

    /// Whether it looks at `alpha` or `available`, which others do not pay for.
    const SEES_BANDWIDTH: bool = false;

    /// The tag of the packet about to be sent; values beyond 32 bits saturate.
    fn tag(&self, view: &View) -> u64;

    /// The largest tag that there can be.
    fn largest(&self) -> u64 {
        u64::from(u32::MAX)
    }

    /// Checks its own parameters.
    ///
    /// # Errors
    /// A parameter that makes no sense, with its path.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}

/// Declares the taggers: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! taggers {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        fctlab_core::parts! {
            /// The choice of a tagger.
            pub enum Tagger, "tagger" { $( $kind => $variant($file::Spec) ),+ }
        }

        impl Tagger {
            /// Whether the tag counts bytes.
            pub fn in_bytes(&self) -> bool {
                match self { $( Tagger::$variant(_) => <$file::Spec as Tag>::IN_BYTES ),+ }
            }
            /// The largest tag that there can be.
            pub fn largest(&self) -> u64 {
                match self { $( Tagger::$variant(t) => t.largest() ),+ }
            }
            /// See [`Tag::check`].
            ///
            /// # Errors
            /// A parameter that makes no sense.
            pub fn check(&self) -> Result<(), SpecError> {
                match self { $( Tagger::$variant(t) => t.check() ),+ }
            }
            /// See [`Tag::SEES_BANDWIDTH`].
            pub fn sees_bandwidth(&self) -> bool {
                match self { $( Tagger::$variant(_) => <$file::Spec as Tag>::SEES_BANDWIDTH ),+ }
            }
            /// The tag of the packet about to be sent.
            #[inline]
            pub fn tag(&self, view: &View) -> u32 {
                let tag = match self { $( Tagger::$variant(t) => t.tag(view) ),+ };
                u32::try_from(tag).unwrap_or(u32::MAX)
            }
        }
    };
}

pub mod class;
pub mod complete;
pub mod none;
pub mod outstanding;
pub mod remaining;
pub mod remaining_time;
pub mod sent;
pub mod size;

taggers! {
    "none" => None(none),
    "remaining" => Remaining(remaining),
    "size" => Size(size),
    "sent" => Sent(sent),
    "outstanding" => Outstanding(outstanding),
    "remaining-time" => RemainingTime(remaining_time),
    "complete" => Complete(complete),
    "class" => Class(class),
}
