//! Fat-tree of k-port switches (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008).

use fctlab_core::{Rate, SpecError, spec};

use super::{Cable, Graph, Topology};

topology_spec! {
    /// Fat-tree of k-port switches: k pods of k/2 edge and k/2 aggregation
    /// switches, (k/2)^2 core switches, k^3/4 hosts, one rate everywhere.
    {
        /// Ports of a switch: even, 4 to 62.
        #[serde(deserialize_with = "spec::whole::<_, 4, 62>")]
        #[schemars(range(min = 4, max = 62))]
        k: u32,
        /// Rate of every link.
        host_rate: Rate,
    }
}

impl Topology for Spec {
    fn graph(&self) -> Result<Graph, SpecError> {
        if !self.k.is_multiple_of(2) {
            return Err(SpecError::new("k", format!("{} is not even", self.k)));
        }
        let (pods, half) = (self.k, self.k / 2);
        let hosts = pods * half * half;
        let edges = pods * half;
        let edge = |pod, i| hosts + pod * half + i;
        let aggregation = |pod, i| hosts + edges + pod * half + i;
        let core = |i, j| hosts + 2 * edges + i * half + j;
        let mut cables = Vec::new();
        let mut connect = |a, b| {
            cables.push(Cable {
                a,
                b,
                rate: self.host_rate,
            })
        };
        for host in 0..hosts {
            connect(host, hosts + host / half);
        }
        for pod in 0..pods {
            for e in 0..half {
                for a in 0..half {
                    connect(edge(pod, e), aggregation(pod, a));
                }
            }
            // Aggregation switch a of every pod reaches core switches (a, *).
            for a in 0..half {
                for c in 0..half {
                    connect(aggregation(pod, a), core(a, c));
                }
            }
        }
        let names = |layer: &'static str, n| (0..n).map(move |i| format!("{layer} {i}"));
        Ok(Graph {
            hosts,
            switches: names("edge", edges)
                .chain(names("aggregation", edges))
                .chain(names("core", half * half))
                .collect(),
            cables,
            sink: None,
        })
    }
}
