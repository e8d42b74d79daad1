//! Which flows count, where their time ends, and when a run does.

use fctlab_core::{Duration, FctEnds, SpecError, Time};
use fctlab_workload::TrafficSpec;
use serde::{Deserialize, Serialize};

/// Which flows count, where their time ends, and when the run does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeasureSpec {
    /// Flows that start earlier are simulated and not measured, and `traffic.flows` does not count them.
    pub warmup: Duration,
    /// Length of the window, after the warm-up, in which a measured flow
    /// starts. Default: until the last flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// Flows that start within this time before `traffic.duration` are not
    /// measured. Needs `traffic.duration`; instead of `window`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Duration>,
    /// Where a flow's completion time ends.
    pub fct_ends: FctEnds,
    /// When the run ends.
    pub stop: Stop,
    /// The run ends at this time at the latest; flows in progress are then
    /// reported as unfinished. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
    /// Further summaries.
    pub extras: Vec<Extra>,
}

/// When the run ends.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// When all flows have finished.
    #[default]
    Drained,
    /// When the window is over and all measured flows have finished; flows go
    /// on arriving until then, so that the load does not fall.
    Measured,
}

/// A further summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extra {
    /// Payload delivered, per second and host.
    Goodput,
    /// Jain's fairness index over the flows in progress.
    Jain,
    /// The longest times that a flow with data to send received nothing.
    Starvation,
    /// Completion times of queries (incast): the last of a query's flows.
    Queries,
    /// How much has waited at the ports of switches, for how long; of the engine `fluid`.
    Waits,
}

impl MeasureSpec {
    /// First and last start (exclusive) of a measured flow.
    ///
    /// # Errors
    /// Keys that do not fit each other.
    pub fn window(&self, traffic: &TrafficSpec) -> Result<(Time, Time), SpecError> {
        let from = Time::ZERO + self.warmup;
        let until = match (self.window, self.cooldown) {
            (Some(_), Some(_)) => {
                return Err(SpecError::new(
                    "cooldown",
                    "has no meaning beside window; give one of the two",
                ));
            }
            (Some(window), None) => from + window,
            (None, Some(cooldown)) => {
                let Some(duration) = traffic.duration else {
                    let message = "needs traffic.duration, to be counted back from";
                    return Err(SpecError::new("cooldown", message));
                };
                if self.warmup + cooldown >= duration {
                    let message = format!(
                        "with the warm-up nothing is left of traffic.duration ({duration})"
                    );
                    return Err(SpecError::new("cooldown", message));
                }
                Time::ZERO + (duration - cooldown)
            }
            (None, None) => Time::NEVER,
        };
        if until <= from {
            return Err(SpecError::new("window", "0s is not above zero"));
        }
        if self.stop == Stop::Measured && until == Time::NEVER {
            let message =
                "\"measured\" needs measure.window or measure.cooldown, or it would never end";
            return Err(SpecError::new("stop", message));
        }
        Ok((from, until))
    }
}
