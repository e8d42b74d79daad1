//! Proportional rate reduction (RFC 6937): a window that has shrunk is reached over a round trip.
//!
//! Of the packets delivered, the share that the new window is of what was in flight goes out anew, so
//! the ACK clock goes on while the pipe drains. Below the new window as many as were delivered go out,
//! and one more if no loss is new (section 3, PRR-SSRB). Linux does so after losses and after marks
//! alike (`tcp_cwnd_reduction`), and no window grows before a packet is acknowledged that was sent
//! after it had shrunk.

/// A reduction in progress, or none.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// The new window, and `RecoverFS`: packets outstanding when it shrank; 0 for none.
    window: u32,
    outstanding: u32,
    /// It is over when a packet beyond this one is acknowledged.
    end: u32,
    /// Packets delivered since.
    delivered: u32,
    /// Packets that had been sent, again or for the first time.
    sent_before: u32,
}

impl Prr {
    /// The window has shrunk to `window` with `outstanding` packets in the network; `next` is the
    /// next new packet, and `sent` packets have been sent in all.
    pub(super) fn begin(&mut self, window: u32, outstanding: u32, next: u32, sent: u32) {
        *self = Prr {
            window,
            outstanding: outstanding.max(1),
            end: next,
            delivered: 0,
            sent_before: sent,
        };
    }

    /// Nothing is being reduced any more.
    pub(super) fn clear(&mut self) {
        self.outstanding = 0;
    }

    /// Whether there is one when packets below `una` are acknowledged.
    #[inline]
    pub(super) fn goes_on(&self, una: u32) -> bool {
        self.outstanding > 0 && una <= self.end
    }

    /// How many packets may be in flight after an ACK of `delivered` packets; `pipe` are, and `lost`
    /// says whether it has told of losses.
    pub(super) fn on_ack(&mut self, delivered: u32, pipe: u32, sent: u32, lost: bool) -> u32 {
        self.delivered += delivered;
        let out = sent - self.sent_before;
        let more = if pipe > self.window {
            let due = u64::from(self.delivered) * u64::from(self.window);
            (due.div_ceil(u64::from(self.outstanding)) as u32).saturating_sub(out)
        } else {
            let limit = self.delivered.saturating_sub(out).max(delivered) + u32::from(!lost);
            limit.min(self.window - pipe)
        };
        // The retransmission that begins a recovery goes out at once.
        pipe + more.max(u32::from(out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in the example of RFC 6937, section 4: 20 packets in flight, and the window halves.
    #[test]
    fn every_other_ack_sends_when_the_window_halves() {
        let mut prr = Prr::default();
        let (mut pipe, mut sent) = (20, 20);
        prr.begin(10, 20, 20, sent);
        let mut sends = Vec::new();
        for _ in 0..20 {
            pipe -= 1;
            let allowed = prr.on_ack(1, pipe, sent, false);
            sends.push(allowed - pipe);
            sent += allowed - pipe;
            pipe = allowed;
        }
        // 11 are in flight after 18 ACKs; the last two fill the new window.
        assert_eq!(sends[..18], [1, 0].repeat(9));
        assert_eq!((&sends[18..], pipe), (&[0, 1][..], 10));
        assert!(prr.goes_on(20) && !prr.goes_on(21));
    }

    /// Section 3: "if pipe falls below ssthresh ... the sender rebuilds it", one more per ACK.
    #[test]
    fn what_is_missing_is_made_up_for() {
        let mut prr = Prr::default();
        prr.begin(10, 20, 20, 20);
        // An ACK of 16 leaves 4 in flight: all that was delivered may go out, up to the window.
        assert_eq!(prr.on_ack(16, 4, 20, false), 10);
        // With losses only as many as were delivered.
        prr.begin(10, 20, 20, 20);
        assert_eq!(prr.on_ack(2, 4, 20, true), 6);
        assert_eq!(prr.on_ack(2, 4, 22, true), 6);
        prr.clear();
        assert!(!prr.goes_on(0));
    }
}
