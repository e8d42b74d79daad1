//! Matrix: which share of the traffic goes from which rack to which.
//!
//! Inside its racks a flow's sender and receiver are drawn uniformly. Racks are numbered in the
//! order of their first hosts. `load` is the mean over the links of the hosts that send.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fctlab_core::{SpecError, spec};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part, other};
use crate::HostLayout;
use crate::draw::{below, unit};

/// Shares of traffic from rack to rack: so much inside racks, or a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The share of flows that stay in their sender's rack, in [0, 1]; the others go to any host
    /// of another rack. This or `file` has to be given. Default: none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "share"
    )]
    #[schemars(range(min = 0, max = 1))]
    pub rack_local: Option<f64>,
    /// A CSV file without a header: in line i and column j what rack i sends to rack j, in any
    /// unit. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

fn share<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    spec::closed_unit(d).map(Some)
}

/// Traffic from rack to rack.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The hosts of each rack, and where each host is: its rack, its place there.
    racks: Vec<Vec<u32>>,
    place_of: Vec<(usize, u32)>,
    /// The same hosts as ranges.
    ranges: Vec<Vec<Range<u32>>>,
    /// The share of each pair of racks, row by row, and the sum up to it.
    shares: Vec<f64>,
    sums: Vec<f64>,
}

impl Spec {
    /// Makes the file's name absolute; a relative one is taken from `base_dir`.
    pub(super) fn locate(&mut self, base_dir: &Path) {
        if let Some(file) = &mut self.file {
            *file = crate::absolute(base_dir, file);
        }
    }

    /// What each rack sends to each, in any unit.
    fn table(&self, racks: &[Vec<u32>]) -> Result<Vec<Vec<f64>>, SpecError> {
        match (self.rack_local, &self.file) {
            (Some(local), None) => {
                of_local(local, racks).map_err(|e| SpecError::new("rack_local", e))
            }
            (None, Some(file)) => {
                let table = read(file, racks);
                table.map_err(|e| SpecError::new("file", format!("{}: {e}", file.display())))
            }
            (None, None) => {
                let message = "is missing; write a share, or `file`";
                Err(SpecError::new("rack_local", message))
            }
            (Some(_), Some(_)) => {
                let message = "has no meaning beside rack_local; give one of the two";
                Err(SpecError::new("file", message))
            }
        }
    }
}

/// The table of which `local` stays inside racks.
fn of_local(local: f64, racks: &[Vec<u32>]) -> Result<Vec<Vec<f64>>, String> {
    let size = |rack: &Vec<u32>| rack.len() as f64;
    let hosts: f64 = racks.iter().map(size).sum();
    if racks.len() == 1 && local < 1.0 {
        return Err(format!("{local} has no meaning with 1 rack; it would be 1"));
    }
    if local > 0.0 && racks.iter().any(|rack| rack.len() == 1) {
        return Err(format!("{local} has no meaning where a rack has 1 host"));
    }
    let row = |from: usize| {
        let own = &racks[from];
        let cell = move |(to, rack): (usize, &Vec<u32>)| {
            if to == from {
                local * size(own)
            } else {
                (1.0 - local) * size(own) * size(rack) / (hosts - size(own))
            }
        };
        racks.iter().enumerate().map(cell).collect()
    };
    Ok((0..racks.len()).map(row).collect())
}

/// The table of a CSV file.
fn read(file: &Path, racks: &[Vec<u32>]) -> Result<Vec<Vec<f64>>, String> {
    let file = File::open(file).map_err(|e| format!("cannot be read: {e}"))?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(file);
    let count = racks.len();
    let mut table = Vec::new();
    for (i, record) in reader.records().enumerate() {
        let record = record.map_err(|e| format!("row {}: {e}", i + 1))?;
        if record.len() != count {
            let found = record.len();
            return Err(format!(
                "row {} has {found} numbers; the topology has {count} racks",
                i + 1
            ));
        }
        let number = |(j, text): (usize, &str)| {
            let number = text.parse().ok();
            let number = number.filter(|n: &f64| *n >= 0.0 && n.is_finite());
            let at = format!("row {}, column {}", i + 1, j + 1);
            match number {
                None => Err(format!("{at}: {text:?} is not a number of at least 0")),
                Some(n)
                    if n > 0.0 && j == i && racks.get(i).is_some_and(|rack| rack.len() == 1) =>
                {
                    Err(format!("{at}: {text} stays inside a rack that has 1 host"))
                }
                Some(n) => Ok(n),
            }
        };
        table.push(
            record
                .iter()
                .enumerate()
                .map(number)
                .collect::<Result<Vec<_>, _>>()?,
        );
    }
    if table.len() != count {
        return Err(format!(
            "has {} rows; the topology has {count} racks",
            table.len()
        ));
    }
    if table.iter().flatten().all(|share| *share == 0.0) {
        return Err("every number is 0; there would be no flows".into());
    }
    Ok(table)
}

/// Neighbouring numbers as ranges.
fn ranges(hosts: &[u32]) -> Vec<Range<u32>> {
    let runs = hosts.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| run[0]..run[0] + run.len() as u32).collect()
}

impl Part for Spec {
    type Pattern = Pattern;
    fn build(&self, layout: &HostLayout, _: &mut Pcg64) -> Result<Pattern, SpecError> {
        let mut names: Vec<u32> = Vec::new();
        let mut racks: Vec<Vec<u32>> = Vec::new();
        let mut place_of = Vec::new();
        for (host, name) in (0u32..).zip(&layout.rack_of) {
            let known = names.iter().position(|known| known == name);
            let rack = known.unwrap_or_else(|| {
                names.push(*name);
                racks.push(Vec::new());
                racks.len() - 1
            });
            place_of.push((rack, racks[rack].len() as u32));
            racks[rack].push(host);
        }
        let mut shares: Vec<f64> = self.table(&racks)?.into_iter().flatten().collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        let sums = shares.iter().scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        Ok(Pattern {
            sums: sums.collect(),
            ranges: racks.iter().map(|hosts| ranges(hosts)).collect(),
            racks,
            place_of,
            shares,
        })
    }
}

impl Pattern {
    /// What each receiver in rack `to` gets from each sender in rack `from`, as a share of all.
    fn each(&self, from: usize, to: usize) -> f64 {
        let (senders, all) = (self.racks[from].len(), self.racks[to].len());
        let receivers = all - usize::from(from == to);
        match self.shares[from * self.racks.len() + to] {
            0.0 => 0.0,
            share => share / (senders * receivers) as f64,
        }
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        let at = unit(rng) * self.sums[self.sums.len() - 1];
        let pair = self.sums.partition_point(|sum| *sum <= at);
        let (from, to) = (pair / self.racks.len(), pair % self.racks.len());
        let (senders, receivers) = (&self.racks[from], &self.racks[to]);
        let sender = below(rng, senders.len() as u32);
        let receiver = if from == to {
            other(below(rng, receivers.len() as u32 - 1), sender)
        } else {
            below(rng, receivers.len() as u32)
        };
        Endpoints::pair(senders[sender as usize], receivers[receiver as usize])
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        let (rack, _) = self.place_of[src as usize];
        for (other, ranges) in self.ranges.iter().enumerate() {
            let each = self.each(rack, other);
            for range in ranges.iter().filter(|_| each > 0.0) {
                if range.contains(&src) {
                    to(range.start..src, each);
                    to(src + 1..range.end, each);
                } else {
                    to(range.clone(), each);
                }
            }
        }
    }
    fn is_loaded(&self, host: u32) -> bool {
        let (rack, _) = self.place_of[host as usize];
        let row = rack * self.racks.len();
        self.shares[row..row + self.racks.len()]
            .iter()
            .any(|share| *share > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{build, draw, leaf_spine};
    use serde_json::{Value, json};

    /// The pattern of this CSV on 3 racks of 4 hosts.
    fn of_file(text: &str) -> (tempfile::TempDir, Value) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("racks.csv");
        std::fs::write(&file, text).unwrap();
        let spec = json!({"kind": "matrix", "file": file});
        (folder, spec)
    }

    /// Of 120,000 flows those from rack to rack, and those of host 0.
    fn counts(spec: Value) -> (Vec<Vec<f64>>, usize) {
        let drawn = draw(spec, &leaf_spine(3, 4), 120_000);
        let mut between = vec![vec![0.0; 3]; 3];
        for e in &drawn {
            assert_ne!(e.src, e.dst);
            between[e.src as usize / 4][e.dst as usize / 4] += 1.0;
        }
        let of_first = drawn.iter().filter(|e| e.src == 0).count();
        (between, of_first)
    }

    #[test]
    fn shares_are_those_of_the_table() {
        let (_folder, spec) = of_file("# to: a, b, c\n2, 1, 0\n0, 0, 0\n3, 3, 1\n");
        let (between, of_first) = counts(spec.clone());
        let wanted = [[2.0, 1.0, 0.0], [0.0; 3], [3.0, 3.0, 1.0]];
        for (row, wanted) in between.iter().zip(&wanted) {
            for (count, share) in row.iter().zip(wanted) {
                // Binomial(120000, 0.3): five standard deviations are 794.
                assert!((count - share * 12_000.0).abs() < 794.0, "{between:?}");
            }
        }
        // A quarter of the first row: five standard deviations are 500.
        assert!(of_first.abs_diff(9_000) < 500, "{of_first}");
        let pattern = build(spec, &leaf_spine(3, 4)).unwrap();
        let loaded: Vec<u32> = (0..12).filter(|h| pattern.is_loaded(*h)).collect();
        assert_eq!(loaded, [0, 1, 2, 3, 8, 9, 10, 11]);
    }

    #[test]
    fn so_much_stays_in_the_rack() {
        let (between, of_first) = counts(json!({"kind": "matrix", "rack_local": 0.3}));
        for (from, row) in between.iter().enumerate() {
            for (to, count) in row.iter().enumerate() {
                let wanted = if from == to { 12_000.0 } else { 14_000.0 };
                // Binomial(120000, 7/60): five standard deviations are 556.
                assert!((count - wanted).abs() < 556.0, "{between:?}");
            }
        }
        assert!(of_first.abs_diff(10_000) < 500, "{of_first}");
    }

    #[test]
    fn mistakes() {
        let error = |spec: Value, racks, hosts| {
            let error = build(spec, &leaf_spine(racks, hosts))
                .unwrap_err()
                .to_string();
            match error.split_once("racks.csv: ") {
                Some((_, message)) => message.to_owned(),
                None => error,
            }
        };
        let file = |text: &str, racks, hosts| {
            let (_folder, spec) = of_file(text);
            error(spec, racks, hosts)
        };
        assert_eq!(
            file("1,2\n", 3, 4),
            "row 1 has 2 numbers; the topology has 3 racks"
        );
        assert_eq!(
            file("1,2\n3,4\n1,2\n", 2, 4),
            "has 3 rows; the topology has 2 racks"
        );
        assert_eq!(
            file("1,x\n3,4\n", 2, 4),
            "row 1, column 2: \"x\" is not a number of at least 0"
        );
        assert_eq!(
            file("1,-1\n3,4\n", 2, 4),
            "row 1, column 2: \"-1\" is not a number of at least 0"
        );
        assert_eq!(
            file("0,0\n0,0\n", 2, 4),
            "every number is 0; there would be no flows"
        );
        assert_eq!(
            file("1,2\n3,4\n", 2, 1),
            "row 1, column 1: 1 stays inside a rack that has 1 host"
        );
        let local = |share: f64| json!({"kind": "matrix", "rack_local": share});
        assert_eq!(
            error(local(0.3), 1, 4),
            "rack_local: 0.3 has no meaning with 1 rack; it would be 1"
        );
        assert_eq!(
            error(local(0.3), 3, 1),
            "rack_local: 0.3 has no meaning where a rack has 1 host"
        );
        assert_eq!(error(local(1.5), 3, 4), "rack_local: 1.5 is not in [0, 1]");
        assert_eq!(
            error(json!("matrix"), 3, 4),
            "rack_local: is missing; write a share, or `file`"
        );
        let both = json!({"kind": "matrix", "rack_local": 0.3, "file": "racks.csv"});
        assert_eq!(
            error(both, 3, 4),
            "file: has no meaning beside rack_local; give one of the two"
        );
    }
}
