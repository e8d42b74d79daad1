//! What a DCTCP sender makes of marks (RFC 8257): an estimate of how many there are, and when its window has to fall.
//!
//! Once per window of data: alpha <- (1 - g) alpha + g F, F being the share of its bytes that are marked. On a
//! mark, at most once per window: window x (1 - alpha / 2). How windows rise is their own.

use crate::heard::{Heard, Mark, Sent};

/// What a window has to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A window of data is over without a mark, and so is what the last cut was for.
    Unmarked,
    /// It falls to this share of what it is.
    Cut(f64),
}

/// After which shares of a step a window of data is over, and the window falls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changes {
    pub over: Option<f64>,
    pub cut: Option<f64>,
}

/// The marks of one flow. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    gain: f64,
    alpha: f64,
    /// What ends the window of data under observation; there is none before the first ACK.
    over: Option<Mark>,
    /// Bytes of it that were acked, and that were marked.
    delivered: f64,
    marked: f64,
    /// What is sent after the last cut.
    reduced: Mark,
}

impl Marks {
    /// g, and alpha at the start. The first window of data begins with the first ACK.
    pub(crate) fn new(gain: f64, alpha: f64) -> Self {
        Marks {
            gain,
            alpha,
            over: None,
            delivered: 0.0,
            marked: 0.0,
            reduced: Mark::Byte(0.0),
        }
    }

    /// The same where the first ACK is a window of data by itself.
    pub(crate) fn from_the_first_ack(gain: f64, alpha: f64) -> Self {
        Marks {
            over: Some(Mark::Byte(0.0)),
            ..Marks::new(gain, alpha)
        }
    }

    #[cfg(test)]
    pub(crate) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// A window of data is over after `share` of the step.
    fn estimate(&mut self, share: f64, heard: &Heard) {
        let delivered = self.delivered + share * heard.delivered;
        let marked = if delivered > 0.0 {
            (self.marked + share * heard.marked()) / delivered
        } else {
            f64::from(u8::from(heard.acks.marked)) // the ACK that ends it is all that there is
        };
        self.alpha += self.gain * (marked - self.alpha);
        self.delivered = (1.0 - share) * heard.delivered;
        self.marked = (1.0 - share) * heard.marked();
        self.over = Some(Mark::Now(share));
    }

    fn cut(&mut self, share: Option<f64>, act: &mut impl FnMut(Event)) {
        if let Some(share) = share {
            act(Event::Cut(1.0 - self.alpha / 2.0));
            self.reduced = Mark::Now(share);
        }
    }

    /// The step is over.
    pub(crate) fn sent(&mut self, sent: &Sent) {
        if let Some(over) = &mut self.over {
            over.sent(sent);
        }
        self.reduced.sent(sent);
    }

    /// ACKs come; the window has to `act`, in this order.
    #[inline(always)] // out of line it costs 3% of a run
    pub(crate) fn on_acks(&mut self, heard: &Heard, mut act: impl FnMut(Event)) -> Changes {
        let over = self.over.get_or_insert(Mark::Now(0.0)).passed(heard);
        let free = self.reduced.passed(heard);
        let cut = match free {
            Some(share) if heard.acks.marked => {
                Some(heard.next_ack(share)).filter(|&cut| cut <= 1.0)
            }
            _ => None,
        };
        // What comes first is done first; with the ACK that does both the estimate is made before the cut.
        let is_first = |over: f64| cut.is_none_or(|cut| over <= cut);
        match over {
            Some(over) if is_first(over) => {
                self.estimate(over, heard);
                // With an ACK that is marked, or before what the last cut was for is over, it is not without a mark.
                if free.is_some_and(|free| over >= free) && cut != Some(over) {
                    act(Event::Unmarked);
                }
                self.cut(cut, &mut act);
            }
            Some(over) => {
                self.cut(cut, &mut act);
                self.estimate(over, heard);
            }
            None => {
                self.delivered += heard.delivered;
                self.marked += heard.marked();
                self.cut(cut, &mut act);
            }
        }
        Changes { over, cut }
    }
}
