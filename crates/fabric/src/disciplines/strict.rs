//! Strict priority over traffic classes: a class is served only when no class
//! before it has anything to send (swp, section 2.1: "PQ").

use fctlab_core::{SpecError, Time, spec};
use serde::{Deserialize, Serialize};

use super::classes::{ByClass, Classes, Inside, Schedule};
use super::{DisciplineSpec, Site};

/// Strict priority over traffic classes, the first before all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// How many classes there are.
    #[serde(deserialize_with = "spec::whole::<_, 1, 256>")]
    #[schemars(range(min = 1, max = 256))]
    pub classes: u32,
    /// What leaves a class next.
    #[serde(default)]
    pub inside: Inside,
    /// Every class once, the one that is served first at the front. Default: as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<usize>>,
}

/// The order of the classes.
pub struct Strict(Vec<usize>);

impl DisciplineSpec for Spec {
    type State = ByClass<Strict>;
    fn build(&self, site: &Site<'_>) -> Result<ByClass<Strict>, SpecError> {
        let count = self.classes as usize;
        let order = match &self.order {
            None => (0..count).collect(),
            Some(order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if !sorted.into_iter().eq(0..count) {
                    let message =
                        format!("{order:?} does not hold each of 0 to {} once", count - 1);
                    return Err(SpecError::new("order", message));
                }
                order.clone()
            }
        };
        let classes = Classes::new(count, self.inside, site);
        Ok(ByClass::new(classes, Strict(order)))
    }
    fn classes(&self) -> Option<usize> {
        Some(self.classes as usize)
    }
    fn remembers(&self) -> bool {
        self.inside.remembers()
    }
}

impl Schedule for Strict {
    fn arrived(&mut self, _: usize, _: u16, _: bool, _: Time) {}
    #[inline]
    fn choose(&mut self, classes: &Classes) -> Option<usize> {
        let mut order = self.0.iter().copied();
        order.find(|&class| classes.is_backlogged(class))
    }
    fn sent(&mut self, _: usize, _: u16, _: bool) {}
}

#[cfg(test)]
mod tests {
    use super::super::classes::tests::{build, data};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn an_order_of_ones_own() {
        let spec = json!({"kind": "strict", "classes": 3, "order": [2, 0, 1]});
        let mut queue = build(spec);
        (0..3).for_each(|class| queue.enqueue(data(class, 0, class.into(), 100), Time::ZERO));
        let served = std::iter::from_fn(|| queue.dequeue().map(|p| p.class));
        assert_eq!(served.collect::<Vec<_>>(), [2, 0, 1]);
    }

    proptest! {
        /// Against a search of a list: the smallest class, then the oldest.
        #[test]
        fn the_first_class_first(ops in prop::collection::vec((0u8..5, 0u8..4), 0..200)) {
            let mut queue = build(json!({"kind": "strict", "classes": 4}));
            let mut list: Vec<(u8, u32)> = vec![];
            for (i, (op, class)) in ops.into_iter().enumerate() {
                if op < 3 {
                    queue.enqueue(data(class, 0, i as u32, 100), Time::ZERO);
                    list.push((class, i as u32));
                } else {
                    let first = list.iter().min().copied();
                    list.retain(|&p| Some(p) != first);
                    prop_assert_eq!(queue.dequeue().map(|p| (p.class, p.seq)), first);
                }
            }
        }
    }
}
