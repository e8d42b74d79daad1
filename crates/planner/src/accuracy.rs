//! Where the link model is known to be off, and by how much: measured against the packet engine
//! (`docs/evidence/model-accuracy.md`).
//!
//! HPCC's flows react to the load in BDPs. The queue that packets make when they meet by chance, which a fluid
//! does not have, is the larger a part of that the fewer packets a BDP is; and close to the load that HPCC aims at
//! whoever reacts to less of it gains. DCTCP's marks begin at a queue beside which it is nothing.

use fctlab_core::Rate;
use fctlab_link::Law;

use crate::spec::Spec;
use crate::spec::load::Load;

/// Packets in a BDP: with 57 means were 1 to 6% off, with 46 4 to 9%, with fewer more.
const LEAST_BDP: f64 = 50.0;
/// With 23 to 46 it was off by less than with 11.
const VERY_FEW: f64 = 20.0;
/// The load on the wire: at 0.76 means were 2 to 4% off, at 0.87 and above 3 to 6%.
const MOST_LOAD: f64 = 0.85;

/// What to beware of in what the model says of `spec` if its link has this `rate`.
pub fn warnings(spec: &Spec, load: &Load, rate: Rate) -> Vec<String> {
    let mut found = Vec::new();
    let Law::Hpcc(_) = spec.cc.law else {
        return found;
    };
    let bps = rate.bps() as f64;
    let bdp = rate.bytes_per_s() * spec.network.rtt.as_secs_f64() / spec.cc.full_packet();
    let way_out = "predict --engine packet runs the same flows packet by packet";
    if bdp < LEAST_BDP {
        let far = if bdp < VERY_FEW {
            "mean slowdowns of long flows were up to 52% too low and their p99s 62%"
        } else {
            "mean slowdowns of long flows were up to 24% too low and their p99s 31%"
        };
        found.push(format!(
            "the model has too little queue for HPCC where a BDP is few packets, here {bdp:.0} ({rate}, {}): {far} \
             (measured below {LEAST_BDP}); {way_out}",
            spec.network.rtt
        ));
    }
    let wire = load.wire * spec.network.link.bps() as f64 / bps;
    if wire > MOST_LOAD {
        found.push(format!(
            "the model is too fast for HPCC at high load, here {wire:.3} on the wire of {rate}: mean slowdowns of long \
             flows were up to 6% too low and their p99s 9% (measured above {MOST_LOAD}); \
             {way_out}"
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    fn of(cc: &str, link: &str, rtt: &str, load: f64) -> Vec<String> {
        let value = json!({"network": {"link": link, "rtt": rtt}, "cc": cc, "queue": "fifo",
            "classes": [{"name": "a", "flowsizes": {"kind": "fixed", "size": "1MB"}, "load": load}]});
        let spec = Spec::read(value, Path::new("")).unwrap();
        let load = Load::of(&spec, &spec.classes().unwrap());
        warnings(&spec, &load, spec.network.link)
    }

    #[test]
    fn hpcc_is_warned_of_where_a_bdp_is_few_packets() {
        let few = |link, rtt| of("hpcc", link, rtt, 0.6);
        assert!(few("100Gbps", "10us").is_empty() && few("50Gbps", "10us").is_empty());
        let found = few("40Gbps", "10us").join("\n");
        assert!(
            found.contains("here 46 (40Gbps, 10us)") && found.contains("24% too low"),
            "{found}"
        );
        assert!(found.contains("--engine packet"), "{found}");
        assert!(few("25Gbps", "8us")[0].contains("24% too low"));
        assert!(few("10Gbps", "10us")[0].contains("52% too low"));
        assert!(of("dctcp-rate", "25Gbps", "8us", 0.6).is_empty());
        assert!(of("swp-h", "25Gbps", "8us", 0.6).is_empty());
    }

    #[test]
    fn hpcc_is_warned_of_at_high_load() {
        // 90 B for every 1000 of payload.
        assert!(of("hpcc", "100Gbps", "10us", 0.7).is_empty());
        let found = of("hpcc", "100Gbps", "10us", 0.8).join("\n");
        assert!(
            found.contains("here 0.872 on the wire of 100Gbps"),
            "{found}"
        );
        assert!(of("dctcp-rate", "100Gbps", "10us", 0.85).is_empty());
    }
}
