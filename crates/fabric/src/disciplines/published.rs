//! Demotion thresholds that PIAS published for its ns-2 simulation (Bai et al.,
//! NSDI 2015 and the code beside it), so that a scheme tuned to one workload and
//! load can be run on another: `thresholds = "datamining@0.6"`.
//!
//! Seven thresholds for eight queues, in packets of 1460 B of payload.

/// Payload of PIAS's packets in bytes.
const PACKET: u32 = 1460;

/// Workload and load, and the thresholds in packets.
const SETS: [(&str, [u32; 7]); 10] = [
    ("websearch@0.5", [1059, 1412, 1643, 1869, 2008, 2115, 2184]),
    ("websearch@0.6", [956, 1381, 1718, 2028, 2297, 2551, 2660]),
    ("websearch@0.7", [999, 1305, 1564, 1763, 1956, 2149, 2309]),
    ("websearch@0.8", [909, 1329, 1648, 1960, 2143, 2337, 2484]),
    ("websearch@0.9", [759, 1132, 1456, 1737, 2010, 2199, 2325]),
    (
        "datamining@0.5",
        [805, 1106, 1401, 10693, 11970, 21162, 22272],
    ),
    (
        "datamining@0.6",
        [840, 1232, 1617, 11950, 12238, 21494, 25720],
    ),
    (
        "datamining@0.7",
        [907, 1301, 1619, 12166, 12915, 21313, 26374],
    ),
    (
        "datamining@0.8",
        [745, 1083, 1391, 13689, 14936, 21149, 27245],
    ),
    (
        "datamining@0.9",
        [750, 1083, 1416, 13705, 14952, 21125, 28253],
    ),
];

/// The names of all sets.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETS.iter().map(|(name, _)| *name)
}

/// The set called `name`, in bytes.
pub fn named(name: &str) -> Option<Vec<u32>> {
    let (_, packets) = SETS.iter().find(|(known, _)| *known == name)?;
    Some(packets.map(|n| n * PACKET).to_vec())
}

/// The set for `workload` whose load is nearest to `load`, in bytes.
pub fn nearest(workload: &str, load: f64) -> Option<Vec<u32>> {
    let far = |name: &str| {
        let (of, at) = name.split_once('@')?;
        (of == workload).then(|| Some((at.parse::<f64>().ok()? - load).abs()))?
    };
    let sets = names().filter_map(|name| Some((far(name)?, name)));
    let (_, name) = sets.min_by(|a, b| a.0.total_cmp(&b.0))?;
    named(name)
}

/// The workload whose published set at some load these are.
pub fn workload_of(thresholds: &[u32]) -> Option<&'static str> {
    let name = names().find(|name| named(name).as_deref() == Some(thresholds))?;
    name.split_once('@').map(|(workload, _)| workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_load_of_the_same_workload() {
        assert_eq!(nearest("websearch", 0.2), named("websearch@0.5"));
        assert_eq!(nearest("websearch", 0.74), named("websearch@0.7"));
        assert_eq!(nearest("datamining", 0.99), named("datamining@0.9"));
        assert_eq!(named("websearch@0.5").unwrap()[0], 1059 * 1460);
        assert_eq!(nearest("hadoop", 0.5), None);
        let found = named("datamining@0.8").unwrap();
        assert_eq!(workload_of(&found), Some("datamining"));
        assert_eq!(workload_of(&found[1..]), None);
    }
}
