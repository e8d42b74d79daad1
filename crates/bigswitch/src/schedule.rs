//! A schedule: who sent when, as it is drawn.

/// Who sent when: stretches of slots in which the same flow sends, in order of
/// their first slot.
pub fn stretches(sent: &[(u32, u32)]) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for &(slot, flow) in sent {
        open.retain(|&i| found[i].slot + found[i].slots >= slot);
        let goes_on =
            |&&i: &&usize| found[i].flow == flow && found[i].slot + found[i].slots == slot;
        match open.iter().find(goes_on) {
            Some(&i) => found[i].slots += 1,
            None => {
                open.push(found.len());
                found.push(Stretch {
                    slot,
                    slots: 1,
                    flow,
                });
            }
        }
    }
    found
}

/// Slots in a row in which a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Stretch {
    /// The first.
    pub slot: u32,
    /// How many.
    pub slots: u32,
    /// Which flow, from 0.
    pub flow: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_join_slots_in_a_row() {
        let found = stretches(&[(1, 0), (1, 1), (2, 0), (3, 1), (4, 0)]);
        let found: Vec<_> = found.iter().map(|s| (s.slot, s.slots, s.flow)).collect();
        assert_eq!(found, [(1, 2, 0), (1, 1, 1), (3, 1, 1), (4, 1, 0)]);
    }
}
