//! One run on several threads, conservative: each simulates a part of the fabric, window by window.
//!
//! In a window no part can be reached by what another does in it ([`Fabric::window`]), so all simulate one side by
//! side. At its end they meet, and each takes in what the others have sent it: packets that cross, and what a flow's
//! sender has to know (`across`). What has been settled (`windows`) is told to all. Events have the same order and
//! slots the same flows as on one thread, so a run gives the same on any number of them, byte for byte.
//!
//! Everything that is told lies in boxes that are used in turn: while a window's are read, the next one's are filled.
//!
//! Conservative windows with a bound from the links' delays are those of Chandy and Misra (CACM 1981) and of
//! Unison (Bai et al., EuroSys 2024), which cuts ns-3 alike.
//!
//! [`Fabric::window`]: crate::network::Fabric::window

use std::iter::once;
use std::mem::swap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use fctlab_core::{Duration, SpecError, Time};

use super::across::{Across, Outbox};
use super::meeting::{Meeting, Promise};
use super::probe::Blind;
use super::{Engine, Pause};
use crate::cpu::thread_cpu;
use crate::outcome::Counters;
use crate::packet::FlowSlot;
use crate::prepared::{End, Ended, Observer, Prepared, Sink};
use crate::records::Record;

/// On how many threads a run can be at most, and why on no more.
pub(crate) fn most_threads(prepared: &Prepared) -> (u32, &'static str) {
    if prepared.settings.is_rare() {
        let why = "packets that are paced, shaped, spaced, carry telemetry or have ACKs that wait or count for several are simulated on one thread";
        return (1, why);
    }
    match prepared.fabric.most_parts() {
        1 => (
            1,
            "a fabric is cut between switches that have hosts, along links with a delay; there is no such cut",
        ),
        most => (
            most,
            "a fabric is cut between switches that have hosts; there are no more",
        ),
    }
}

/// What a part tells all others at the end of a window.
#[derive(Default)]
struct Told {
    /// Before which window there is something to do or to settle.
    next: u64,
    /// Something may be to settle before the next window; that is known when all has been heard.
    again: bool,
    /// Measured flows that started there, less those that finished there.
    open: i64,
    /// When flows have finished there.
    finishes: Vec<Time>,
    settled: Vec<(FlowSlot, Record)>,
    /// The run is given up.
    gives_up: bool,
}

/// What parts say to each other, in turn.
struct Boxes {
    told: Vec<Mutex<Told>>,
    /// From each part to each.
    sent: Vec<Mutex<Outbox>>,
}

/// What all threads see.
struct Shared<'a> {
    prepared: &'a Prepared,
    count: u32,
    parts: Vec<u32>,
    meeting: Meeting,
    boxes: [Boxes; 2],
    /// What went wrong before the first window.
    failed: Mutex<Option<SpecError>>,
}

/// What a part has found.
struct Found {
    end: End,
    now: Time,
    counters: Counters,
    abandoned: Vec<(FlowSlot, Record)>,
    cpu: Duration,
}

/// Runs `prepared` on `count` threads, at most [`most_threads`]; flow records go to `sink`.
///
/// # Errors
/// Traffic that cannot be read to its end.
pub(crate) fn run(
    prepared: &Prepared,
    count: u32,
    sink: &mut Sink<'_>,
    observe: &mut Observer<'_>,
) -> Result<Ended, SpecError> {
    let boxes = || Boxes {
        told: (0..count).map(|_| Mutex::default()).collect(),
        sent: (0..count * count).map(|_| Mutex::default()).collect(),
    };
    let shared = Shared {
        prepared,
        count,
        parts: prepared.fabric.parts(count),
        meeting: Meeting::of(count as usize),
        boxes: [boxes(), boxes()],
        failed: Mutex::default(),
    };
    let found: Option<Vec<Found>> = thread::scope(|scope| {
        let spawn = |number| {
            let shared = &shared;
            scope.spawn(move || {
                let (mut sink, mut observe) = (|_: &_| Ok(()), |_: &_| ControlFlow::Continue(()));
                Part::new(shared, number).simulate(&mut sink, &mut observe)
            })
        };
        let others: Vec<_> = (1..count).map(spawn).collect();
        let first = Part::new(&shared, 0).simulate(sink, observe);
        let others = others.into_iter().map(|other| match other.join() {
            Ok(found) => found,
            Err(panic) => resume_unwind(panic),
        });
        once(first).chain(others).collect()
    });
    if let Some(error) = lock(&shared.failed).take() {
        return Err(error);
    }
    Ok(together(found.unwrap_or_default(), sink))
}

/// What all parts have found together, of which the first says how the run ended.
fn together(found: Vec<Found>, sink: &mut Sink<'_>) -> Ended {
    let mut ended = Ended {
        end: End::Interrupted,
        counters: Counters::default(),
        now: Time::ZERO,
        others_cpu: Duration::ZERO,
        waited: Vec::new(),
    };
    let mut abandoned = Vec::new();
    for (number, part) in found.into_iter().enumerate() {
        abandoned.extend(part.abandoned);
        if number == 0 {
            (ended.end, ended.counters, ended.now) = (part.end, part.counters, part.now);
        } else {
            ended.counters.add_part(&part.counters);
            ended.others_cpu += part.cpu;
        }
    }
    if let End::Complete = ended.end {
        abandoned.sort_unstable_by_key(|flow| flow.0);
        if let Err(error) = abandoned.iter().try_for_each(|(_, record)| sink(record)) {
            ended.end = End::Failed(error);
        }
    }
    ended
}

/// A part of the fabric, in its own thread.
struct Part<'a> {
    shared: &'a Shared<'a>,
    number: u32,
    /// The window before which all meet next.
    window: u64,
    /// The last of those before which there was anything to do.
    busy: u64,
}

impl<'a> Part<'a> {
    fn new(shared: &'a Shared<'a>, number: u32) -> Self {
        Part {
            shared,
            number,
            window: 0,
            busy: 0,
        }
    }

    /// Simulates to the end; nothing where a part could not begin, or the traffic not be read. Records go to the
    /// sink of the first part.
    fn simulate(mut self, sink: &mut Sink<'_>, observe: &mut Observer<'_>) -> Option<Found> {
        let shared = self.shared;
        let _promise = Promise(&shared.meeting);
        let before = thread_cpu();
        let across = Across::new(self.number, shared.count, shared.parts.clone());
        let mut probe = Blind;
        // Boxed, since threads have small stacks.
        let engine = Engine::new(shared.prepared, &mut probe, sink, Some(across)).map(Box::new);
        let engine = engine.map_err(|error| shared.fail(error));
        shared.meeting.wait();
        let mut engine = engine.ok().filter(|_| lock(&shared.failed).is_none())?;
        let pause = self.go(&mut engine, observe);
        if pause == Pause::Idle {
            engine.ended_at = engine.windows.before(self.busy.max(1));
        } else {
            engine.ended_at = engine.now();
        }
        let end = engine.stop(pause);
        engine
            .traffic_error()
            .map_err(|error| shared.fail(error))
            .ok()?;
        engine.check_conservation();
        Some(Found {
            abandoned: match end {
                End::Complete => engine.abandoned(),
                _ => Vec::new(),
            },
            end,
            now: engine.ended_at,
            counters: engine.counters,
            cpu: thread_cpu() - before,
        })
    }

    /// Goes from window to window; says why no further, which all parts agree upon.
    fn go(&mut self, engine: &mut Engine<'_, Blind>, observe: &mut Observer<'_>) -> Pause {
        engine.begin();
        if engine.next_flow.is_none() {
            return Pause::Idle;
        }
        // The first event of all parts is the same.
        let first = engine.windows.of(engine.events.next_at()) + 1;
        self.window = first.min(engine.windows.next_due(0));
        self.busy = self.window;
        for boxes in self.shared.boxes.iter().cycle() {
            engine.events.end_window(engine.windows.before(self.window));
            let pause = engine.go_on(observe);
            self.tell(engine, pause, boxes);
            self.shared.meeting.wait();
            if let Some(pause) = self.hear(engine, pause, boxes) {
                return pause;
            }
        }
        unreachable!("there are boxes")
    }

    /// Tells the others what they have to know of the window that has ended.
    fn tell(&self, engine: &mut Engine<'_, Blind>, pause: Pause, boxes: &Boxes) {
        let settled = match pause {
            Pause::Window => engine.settled(self.window),
            _ => Vec::new(),
        };
        let mut next = engine.windows.next_due(self.window);
        let first = engine.events.next_at();
        if first != Time::NEVER {
            next = next.min(engine.windows.of(first) + 1);
        }
        let mut again = false;
        for (to, out) in engine.outboxes() {
            if !out.packets.is_empty() {
                next = self.window + 1;
            }
            again |= !out.deaths.is_empty();
            swap(
                out,
                &mut lock(&boxes.sent[self.shared.index(self.number, to)]),
            );
        }
        *lock(&boxes.told[self.number as usize]) = Told {
            next,
            again,
            open: engine.measured_open,
            finishes: engine.finishes(),
            settled,
            gives_up: pause == Pause::Interrupted || engine.failed.is_some(),
        };
    }

    /// Hears what the others have told, and settles what is settled; says why the run ends, if it does.
    fn hear(
        &mut self,
        engine: &mut Engine<'_, Blind>,
        pause: Pause,
        boxes: &Boxes,
    ) -> Option<Pause> {
        let (mut next, mut again, mut gives_up) = (u64::MAX, false, false);
        let (mut open, mut finishes, mut settled) = (0, Vec::new(), Vec::new());
        for told in &boxes.told {
            let told = lock(told);
            next = next.min(told.next);
            again |= told.again;
            gives_up |= told.gives_up;
            open += told.open;
            finishes.extend_from_slice(&told.finishes);
            settled.extend_from_slice(&told.settled);
        }
        for from in (0..self.shared.count).filter(|&from| from != self.number) {
            let sent = &boxes.sent[self.shared.index(from, self.number)];
            engine.take_in(self.window - 1, &mut lock(sent));
        }
        engine.finished_everywhere(finishes);
        if gives_up {
            return Some(Pause::Interrupted);
        }
        if pause == Pause::Limit {
            return Some(pause);
        }
        settled.sort_unstable_by_key(|flow| flow.0);
        if self.number == 0 {
            settled.iter().for_each(|(_, record)| engine.keep(record));
        }
        engine.release(settled.iter().map(|flow| flow.0));
        if engine.is_over(self.window, open) {
            return Some(Pause::Window);
        }
        if !settled.is_empty() {
            self.busy = self.window;
        }
        if next == u64::MAX && !again {
            return Some(Pause::Idle);
        }
        self.window += 1;
        if !again {
            self.window = next;
        }
        if next == self.window {
            self.busy = next;
        }
        None
    }
}

impl Shared<'_> {
    /// Where what goes from one part to another lies.
    fn index(&self, from: u32, to: u32) -> usize {
        (from * self.count + to) as usize
    }

    fn fail(&self, error: SpecError) {
        lock(&self.failed).get_or_insert(error);
    }
}

/// What a panic has left is never looked at: it ends all threads.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
