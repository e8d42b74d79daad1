//! How many flows a question may simulate for one verdict: as many as are asked for, and as fit into memory.

use rayon::current_num_threads;
use serde::Deserialize;

use crate::spec::Class;

/// Of a flow in a list, with what making and sorting the list takes.
const LISTED: u64 = 48;
/// Of a value behind an SLI, in lists that double.
const KEPT: u64 = 32;

/// As a question has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Flows for one verdict, where somebody said how many.
    pub most_flows: Option<u64>,
    /// Bytes of memory that may be taken, where that is known.
    pub free_bytes: Option<u64>,
}

impl Limit {
    /// The number that is asked for, else the `usual` one, and not more than fit into memory.
    pub fn flows(&self, usual: u64, classes: &[Class], at_once: usize) -> u64 {
        let asked = self.most_flows.unwrap_or(usual).min(usual);
        self.fitting(classes, at_once)
            .map_or(asked, |fit| asked.min(fit))
    }

    /// So many flows fit into memory while `at_once` runs of them keep what their SLIs need.
    pub fn fitting(&self, classes: &[Class], at_once: usize) -> Option<u64> {
        let runs = at_once.clamp(1, current_num_threads()) as f64;
        let kept = classes.iter().map(|c| c.shares.iter().sum::<f64>());
        let each = LISTED as f64 + KEPT as f64 * runs * kept.fold(1.0, f64::max);
        self.free_bytes.map(|free| (free as f64 / each) as u64)
    }

    /// What to say of `flows` that did not decide, where memory is why there are no more.
    pub fn warning(
        &self,
        flows: u64,
        usual: u64,
        classes: &[Class],
        at_once: usize,
    ) -> Option<String> {
        let fit = self.fitting(classes, at_once)?;
        let free = self.free_bytes? as f64 / 1e9;
        let asked = self.most_flows.unwrap_or(usual).min(usual);
        (fit < asked && flows >= fit).then(|| {
            format!("{free:.1} GB of memory are free, which is enough for {fit} flows: more might decide")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::flows::MOST_FLOWS;
    use crate::spec::Spec;

    #[test]
    fn what_is_asked_for_and_what_fits() {
        let tail = serde_json::json!({"name": "tail", "metric": "p99"});
        let class = serde_json::json!({"name": "a", "flowsizes": "google_rpc", "load": 0.3, "slis": [tail]});
        let value =
            serde_json::json!({"network": {"link": "10Gbps", "rtt": "10us"}, "classes": [class]});
        let classes = Spec::read(value, Path::new("")).unwrap().classes().unwrap();
        let limit = |most_flows, free_bytes| Limit {
            most_flows,
            free_bytes,
        };
        let flows = |limit: Limit| limit.flows(MOST_FLOWS, &classes, 1);
        assert_eq!(flows(limit(None, None)), MOST_FLOWS);
        assert_eq!(flows(limit(Some(1000), None)), 1000);
        assert_eq!(flows(limit(Some(1 << 40), None)), MOST_FLOWS);
        // 48 bytes of a flow and 32 of its value.
        assert_eq!(flows(limit(None, Some(80_000_000))), 1_000_000);
        assert_eq!(flows(limit(Some(1000), Some(80_000_000))), 1000);
        let told = |limit: Limit, flows| limit.warning(flows, MOST_FLOWS, &classes, 1);
        assert_eq!(told(limit(Some(1000), Some(80_000_000)), 1000), None);
        assert_eq!(
            told(limit(None, Some(80_000_000)), 1_000_000).unwrap(),
            "0.1 GB of memory are free, which is enough for 1000000 flows: more might decide"
        );
    }
}
