//! The paper's law (swp, sections 4.1 and 4.2): flows approach one rate, the same for all.
//!
//! What is left of the link is R(t), for each of N flows
//! (U available - beta uncontrolled - (q - T)+ / 2 tau) / N (equations 6 and 11), heard a round trip later. A flow at rate
//! rho follows it by d(rho)/dt = (R(t) - rho) / (eta tau) (equation 7).

use std::convert::Infallible;

use fctlab_core::spec::{half_open_unit, non_negative, positive};
use serde::{Deserialize, Serialize};

use super::{LawPart, Scope};
use crate::heard::Line;
use crate::signal::Report;

/// What a flow may have left when it counts as sent; made good in its last step.
pub(crate) const SENT_BYTES: f64 = 1e-3;

/// The rate with which a flow's control begins, one round trip after its start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// r_init, from which it approaches R(t) (equation 7 from where equation 2 leaves it).
    #[default]
    Initial,
    /// R(t) as it is then; from there on it follows equation 7 as well.
    Ideal,
}

/// They approach one rate, the same for all (equations 6, 7 and 11).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Under `law = "rate"`, the rate from which a flow goes on after that. Only `initial` is in the paper.
    pub start: Start,
    /// U, in (0, 1]: the share of the capacity that controlled flows aim at.
    #[serde(deserialize_with = "half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub u_target: f64,
    /// Beta: how much controlled flows make room for uncontrolled traffic (0 or 1 in the paper).
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0))]
    pub beta: f64,
    /// Eta: rates approach their ideal within eta x tau.
    #[serde(deserialize_with = "positive")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub eta: f64,
    /// Whose queue, capacity and flows a flow hears of. `port` is not in the paper.
    pub scope: Scope,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            start: Start::Initial,
            u_target: 1.0,
            beta: 0.0,
            eta: 1.0,
            scope: Scope::Class,
        }
    }
}

impl LawPart for Spec {
    type Flow = Infallible;
    fn scope(&self) -> Scope {
        self.scope
    }
    fn flow(&self, _: f64, _: &Line) -> Option<Infallible> {
        None
    }
}

impl Spec {
    /// R(t), as it is signalled of a step of `span` seconds.
    pub(crate) fn ideal(&self, report: &Report, span: f64, line: &Line) -> f64 {
        let seen = &report.seen;
        let mut room = self.u_target * seen.available / span - report.uncontrolled;
        room -= seen.excess / span / line.round_trip;
        // Before its own flows are counted (N one round trip ago is 0) a flow counts itself.
        (room.max(0.0) / report.controlled.max(1) as f64).min(line.capacity)
    }
}

/// How rates follow `ideal` over a step of `span` seconds: within `relax`, eta tau; `decay` is
/// exp(-span / relax).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approach {
    pub span: f64,
    pub ideal: f64,
    pub relax: f64,
    pub decay: f64,
}

impl Approach {
    /// What a flow at `rate` sends in the step, and its rate afterwards.
    pub(crate) fn take(&self, rate: f64) -> (f64, f64) {
        self.until(rate, self.span)
    }

    /// The same in the first `at` seconds.
    fn until(&self, rate: f64, at: f64) -> (f64, f64) {
        let decay = if at == self.span {
            self.decay
        } else {
            libm::exp(-at / self.relax)
        };
        let gap = self.ideal - rate;
        let sent = self.ideal * at - gap * self.relax * (1.0 - decay);
        (sent, self.ideal - gap * decay)
    }

    /// The time into the step after which a flow at `rate` has sent `left` bytes, if it does.
    pub(crate) fn end(&self, rate: f64, left: f64) -> Option<f64> {
        (self.take(rate).0 >= left).then(|| self.time_to_send(left, rate))
    }

    /// The time in which a flow at `rate` sends `left` bytes, which it does within the step.
    fn time_to_send(&self, left: f64, rate: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.span);
        let mut at = self.span;
        for _ in 0..50 {
            let (sent, speed) = self.until(rate, at);
            let excess = sent - left;
            if excess.abs() < SENT_BYTES / 2.0 {
                break;
            }
            if excess > 0.0 {
                high = at;
            } else {
                low = at;
            }
            let newton = at - excess / speed;
            at = if newton > low && newton < high {
                newton
            } else {
                (low + high) / 2.0
            };
        }
        at
    }
}
