//! `fctlab-host`: the host tagger (`tagger.bpf.c`) put at the egress of a device, and DCTCP
//! (`dctcp.bpf.c`) for kernels that have none.
//!
//! It stays until Ctrl-C or SIGTERM and takes everything away then. What a killed tagger left is
//! found by its name in `/sys/fs/bpf/fctlab` and removed by the next.

#![deny(missing_docs)]

mod attached;
mod congestion;
mod records;
mod settings;
mod stop;
mod verifier;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::attached::By;
use crate::settings::Settings;

/// Tags packets of a host by what their flows have sent.
#[derive(Parser)]
#[command(version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tag what leaves a device, until Ctrl-C.
    Attach {
        #[command(flatten)]
        bands: Bands,
        /// What is compared with thresholds.
        #[arg(long, value_enum, default_value = "sent")]
        by: By,
        /// Of a kept-open connection: so long without a packet, it begins anew; 0 for never.
        #[arg(long, value_name = "US", default_value_t = 0)]
        idle_us: u32,
        /// Write a row for each flow that ends into this CSV file; fctlab fit reads it.
        #[arg(long, value_name = "FILE")]
        records: Option<PathBuf>,
        /// Processes whose flows are written.
        #[arg(long, value_name = "DIR", default_value = "/sys/fs/cgroup")]
        cgroup: PathBuf,
        /// Count what the tagger costs, and tell at the end.
        #[arg(long)]
        cost: bool,
    },
    /// Change the thresholds of a tagger that runs, while traffic flows.
    SetThresholds {
        #[command(flatten)]
        bands: Bands,
    },
    /// Print the thresholds of a tagger that runs.
    Show {
        /// The device.
        #[arg(long)]
        device: String,
    },
    /// Give the kernel a DCTCP, until Ctrl-C; prints the name that it has there.
    Dctcp,
}

#[derive(Args)]
struct Bands {
    /// The device, such as eth0.
    #[arg(long)]
    device: String,
    /// Largest bytes sent of each band but the last.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    thresholds: Vec<u64>,
    /// Code points of the bands, one more than thresholds.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    dscp: Vec<u8>,
    /// skb->priority of the bands [default: 0, 1, ...].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    priorities: Vec<u32>,
}

impl Bands {
    fn settings(self, idle_us: u32) -> Result<(String, Settings)> {
        let numbers = 0..self.dscp.len() as u32;
        let settings = Settings {
            thresholds: self.thresholds,
            codes: self.dscp,
            priorities: if self.priorities.is_empty() {
                numbers.collect()
            } else {
                self.priorities
            },
            idle_us,
        };
        settings.check()?;
        Ok((self.device, settings))
    }
}

fn main() -> ExitCode {
    match obey(Program::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn obey(command: Command) -> Result<()> {
    match command {
        Command::Attach {
            bands,
            by,
            idle_us,
            records,
            cgroup,
            cost,
        } => {
            let (device, settings) = bands.settings(idle_us)?;
            attached::run(&device, by, &settings, records.as_deref(), &cgroup, cost)
        }
        Command::SetThresholds { bands } => {
            let (device, settings) = bands.settings(0)?;
            attached::change(&device, settings)
        }
        Command::Show { device } => {
            println!("{:?}", attached::now(&device)?);
            Ok(())
        }
        Command::Dctcp => congestion::run(),
    }
}
