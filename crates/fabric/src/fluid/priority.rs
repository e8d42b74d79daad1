//! A port that serves classes by strict priority, in whole packets.

/// Bytes that are as good as none.
pub(super) const ROUNDING: f64 = 1e-6;

/// A class at a port that serves by priority.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Class {
    /// Bytes that wait, and those that come in the step.
    pub waits: f64,
    pub comes: f64,
    /// What the link sends in the time by which one of them is late, for what it has met by chance.
    pub late: f64,
}

/// Divides `capacity` by strict priority among classes.
///
/// A packet on its way is not taken back. One that comes when nothing of its class waits finds another class's on its way,
/// which goes before it: a class that fills the link lets one packet of those below it through, and then nothing while
/// anything of it waits, be it less than a packet. But where packets may be late, one that is later than what waits is long
/// leaves a gap.
pub(super) fn by_priority(capacity: f64, packet: f64, known: &[Class], served: &mut [f64]) {
    let mut rest = capacity;
    let mut below: f64 = known.iter().map(|class| class.waits + class.comes).sum();
    for (served, class) in served.iter_mut().zip(known) {
        let own = class.waits + class.comes;
        below -= own;
        let pauses = class.waits <= class.late + ROUNDING || own <= rest;
        let through = if pauses && below > ROUNDING {
            (own + packet - rest).clamp(0.0, packet)
        } else {
            0.0
        };
        *served = (own - through).max(class.waits).min(rest);
        rest -= *served;
    }
    for (served, class) in served.iter_mut().zip(known) {
        let more = (class.waits + class.comes - *served).min(rest);
        *served += more;
        rest -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_waits_for_a_packet_of_those_below_it() {
        let served = |known: [(f64, f64); 3]| {
            let mut served = [0.0; 3];
            let known = known.map(|(waits, comes)| Class {
                waits,
                comes,
                late: 0.0,
            });
            by_priority(10.0, 1.0, &known, &mut served);
            served
        };
        let (none, lots) = ((0.0, 0.0), (2.0, 2.0));
        assert_eq!(served([(0.0, 10.0), none, none]), [10.0, 0.0, 0.0]);
        // The first class has as much as the link sends: one packet of the others goes before its last one.
        assert_eq!(served([(0.0, 10.0), none, lots]), [9.0, 0.0, 1.0]);
        assert_eq!(served([(0.0, 10.0), (0.0, 0.25), none]), [9.75, 0.25, 0.0]);
        // Once that waits nothing more goes before it.
        assert_eq!(served([(1.0, 10.0), none, lots]), [10.0, 0.0, 0.0]);
        assert_eq!(served([(1.0, 0.0), none, lots]), [1.0, 0.0, 4.0]);
        assert_eq!(served([(0.25, 10.0), none, lots]), [10.0, 0.0, 0.0]);
        // Nothing of it waits for the last quarter of a packet's time: a packet goes then, the rest of it in the next step.
        assert_eq!(served([(0.25, 9.5), none, lots]), [9.0, 0.0, 1.0]);
        // A class that leaves room waits for nobody.
        assert_eq!(served([(0.0, 8.0), none, lots]), [8.0, 0.0, 2.0]);
        assert_eq!(
            served([(0.0, 5.0), (0.0, 2.0), (0.0, 3.0)]),
            [5.0, 2.0, 3.0]
        );
    }

    #[test]
    fn a_late_packet_leaves_a_gap_where_less_waits() {
        let late = Class {
            waits: 0.25,
            comes: 10.0,
            late: 0.25,
        };
        let lots = Class {
            comes: 4.0,
            ..Class::default()
        };
        let mut found = [0.0; 2];
        by_priority(10.0, 1.0, &[late, lots], &mut found);
        assert_eq!(found, [9.25, 0.75]);
    }
}
