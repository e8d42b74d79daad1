//! When a table says that flows ended, or that they did not.

use arrow_array::RecordBatch;
use fctlab_core::{Duration, Time};
use fctlab_workload::columns::{Flags, Seconds};

/// When a flow ended.
#[derive(Clone, Copy)]
pub(super) enum Ended {
    /// So long after its start.
    After(Duration),
    /// It had been going on for so long.
    Not(Duration),
    /// It did not, as far as the table tells.
    Open,
}

impl Ended {
    /// How long the table tells of it.
    pub(super) fn seen(self) -> Duration {
        match self {
            Ended::After(time) | Ended::Not(time) => time,
            Ended::Open => Duration::ZERO,
        }
    }
}

/// The columns that say when flows ended.
pub(super) struct Ends {
    times: Seconds,
    /// Whether these are instants, and not times since the start.
    instants: bool,
    finished: Option<Flags>,
}

impl Ends {
    pub(super) fn of(table: &RecordBatch) -> Result<Self, String> {
        let (fcts, instants) = (
            Seconds::of(table, "fct_s")?,
            Seconds::of(table, "finish_s")?,
        );
        let (times, instants) = match (fcts, instants) {
            (Some(times), None) => (times, false),
            (None, Some(times)) => (times, true),
            (Some(_), Some(_)) => {
                return Err("has columns fct_s and finish_s; leave out one".into());
            }
            (None, None) => {
                let message = "has no column fct_s (seconds from a flow's start to its end) or finish_s \
                               (the instant of its end)";
                return Err(message.into());
            }
        };
        let finished = Flags::of(table, "finished")?;
        Ok(Ends {
            times,
            instants,
            finished,
        })
    }

    pub(super) fn get(&self, row: usize, start: Time) -> Result<Ended, String> {
        let time = self.times.get(row)?;
        let finished = match &self.finished {
            Some(column) => column.get(row)?,
            None => None,
        };
        let Some(time) = time else {
            return match finished {
                Some(true) => Err("is finished and has no time".into()),
                _ => Ok(Ended::Open),
            };
        };
        let (start_ps, time_ps) = (start.ps(), time.ps());
        let took = if self.instants {
            time_ps.checked_sub(start_ps)
        } else {
            start_ps.checked_add(time_ps).map(|_| time_ps)
        };
        let took = took.map(Duration::from_ps).ok_or_else(|| {
            let (start, time) = (start.as_secs_f64(), time.as_secs_f64());
            if self.instants {
                format!("finish_s {time} is before start_s {start}")
            } else {
                format!(
                    "fct_s {time} ends beyond the clock, which has {} s",
                    u64::MAX / 1_000_000_000_000
                )
            }
        })?;
        match finished {
            Some(false) => Ok(Ended::Not(took)),
            _ if took == Duration::ZERO => Err("ends when it starts; a flow takes time".into()),
            _ => Ok(Ended::After(took)),
        }
    }
}
