//! Packet-level simulator of a datacenter fabric.
//!
//! A [`Scenario`](scenario::Scenario) says which fabric, which flows and which
//! scheme. [`prepare`](prepare::prepare) fills in every default and makes every check, and
//! what it gives, [`Prepared`](prepared::Prepared), can be [`run`](run::run): one record per flow.
//! What happens to a packet:
//!
//! 1. The [`transports`] of a flow decides that a packet may be sent, and the
//!    [`taggers`] writes into its header what switches shall know.
//! 2. The [`engine`] hands it to the host's NIC, a [`port`](engine::port) like
//!    any other. A port queues it by its [`disciplines`], drops or marks it,
//!    transmits it, and puts it on the wire.
//! 3. At each switch, [`routing`](network::routing) names the next port on a shortest path of the
//!    [`network`].
//! 4. The receiving host acknowledges it; the ACK travels back as a packet of
//!    its own and tells the transport what it may do next.
//!
//! A [`scheme`] is a choice for each of these places, and every choice is a
//! file of its own behind a one-line registry. When a flow is done its
//! [`records`] and [`ideal`](network::ideal) completion time make the [`summary`];
//! [`recorders`] see inside while it runs, as a [`probe`](engine::probe) of the engine.
//! [`model`] runs the scenario without packets, and [`elsewhere`] reads flows that another simulator
//! or a testbed has made: they end in the same [`collect`]ion. Before that, [`offered`] computes the load of the
//! links, and [`warnings`] names parts that do not meet.
//!
//! Modules name each other in one direction; CONTRIBUTING.md has the order.

pub mod collect;
mod completions;
mod cpu;
pub mod disciplines;
pub mod elsewhere;
pub mod engine;
mod fluid;
pub mod index;
pub mod measure;
pub mod model;
pub mod network;
pub mod offered;
pub mod outcome;
pub mod packet;
pub mod prepare;
pub mod prepared;
pub mod recorders;
pub mod records;
pub mod run;
pub mod scenario;
pub mod scheme;
pub mod settings;
pub mod summary;
pub mod taggers;
pub mod telemetry;
pub mod transports;
pub mod warnings;
