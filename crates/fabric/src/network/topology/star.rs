//! Star: n senders and one receiver around one switch, a single bottleneck.

use fctlab_core::{Rate, SpecError, spec};

use super::{Cable, Graph, Topology};

topology_spec! {
    /// Star: senders 0..n and one receiver (host n) around one switch; the
    /// link to the receiver is the bottleneck.
    {
        /// Sending hosts.
        #[serde(deserialize_with = "spec::whole::<_, 1, 65534>")]
        #[schemars(range(min = 1, max = 65534))]
        senders: u32,
        /// Rate of the links of the senders.
        host_rate: Rate,
        /// Rate of the link of the receiver. Default: `host_rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bottleneck_rate: Option<Rate>,
    }
}

impl Topology for Spec {
    fn graph(&self) -> Result<Graph, SpecError> {
        let receiver = self.senders;
        let switch = receiver + 1;
        let bottleneck = self.bottleneck_rate.unwrap_or(self.host_rate);
        let cables = (0..=receiver).map(|host| Cable {
            a: host,
            b: switch,
            rate: if host == receiver {
                bottleneck
            } else {
                self.host_rate
            },
        });
        Ok(Graph {
            hosts: receiver + 1,
            switches: vec!["switch".into()],
            cables: cables.collect(),
            sink: Some(receiver),
        })
    }
}
