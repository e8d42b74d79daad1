//! All of them, whatever is lost, delayed or marked.

use std::collections::VecDeque;

use fctlab_core::Time;
use fctlab_fabric::transports::sender::Transmit::{Again, New, Probe};
use proptest::prelude::*;
use serde_json::json;

use super::Ends;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Whatever is lost, delayed or marked: every packet arrives in the end,
    /// nothing beyond the flow is sent, no new packet is sent twice, the
    /// window is respected, and packets in flight are never fewer than none.
    #[test]
    fn everything_arrives_in_the_end(
        kind in prop::sample::select(vec!["tcp", "dctcp", "mintcp"]),
        total in 1u32..60,
        window in 1u32..30,
        limits in prop::sample::select(vec!["in-flight", "sequence"]),
        holes in prop::sample::select(vec!["detected", "after-cut"]),
        reduction in prop::sample::select(vec!["at-once", "prr"]),
        opens in any::<bool>(),
        script in prop::collection::vec((any::<u8>(), any::<bool>()), 0..400),
    ) {
        let spec = json!({"kind": kind, "initial_window": format!("{window}pkt"), "min_rto": "500us",
            "window_limits": limits, "holes": holes, "reduction": reduction});
        let mut ends = Ends::new(spec, total);
        if opens {
            ends.sender.open();
        }
        let mut wire = VecDeque::new();
        let mut next_new = 0;
        let mut script = script.into_iter();
        let mut steps = 0;
        let mut sent = ends.send();
        while !ends.sender.is_done() {
            for transmit in &sent {
                match *transmit {
                    New(n) => {
                        prop_assert_eq!(n, next_new);
                        next_new += 1;
                    }
                    Again(n) => prop_assert!(n < next_new && n >= ends.sender.una()),
                    Probe => prop_assert!(kind == "mintcp" || (opens && next_new == 0)),
                }
            }
            prop_assert!(next_new <= total);
            wire.extend(sent.iter().copied());
            steps += 1;
            prop_assert!(steps < 5000, "no end");
            // When the script is over, nothing is lost or reordered any more.
            let (choice, marked) = script.next().unwrap_or((255, false));
            let Some(front) = wire.pop_front() else {
                sent = ends.time_out();
                continue;
            };
            ends.now = Time::from_ps((ends.now.ps() + 1_200_000).min(ends.sender.deadline().ps()));
            sent = match choice {
                0..50 => vec![], // lost
                50..90 => {
                    wire.push_back(front); // overtaken by all others
                    vec![]
                }
                90..100 => ends.time_out(),
                _ => match front {
                    New(n) | Again(n) => ends.hear_marked(n, marked && kind == "dctcp"),
                    Probe => {
                        let ack = ends.receiver.on_probe();
                        ends.ack(ack, false, Time::ZERO)
                    }
                },
            };
        }
        prop_assert_eq!(ends.receiver.distinct(), total);
        prop_assert_eq!(ends.sender.in_flight(), 0);
        prop_assert_eq!(ends.sender.deadline(), Time::NEVER);
    }
}
