//! Runs a scenario without Python, for profilers:
//! `cargo run --release -p fctlab-fabric --example simulate -- SCENARIO.toml [path=value]...`;
//! `threads=N` runs it on so many.

use fctlab_fabric::prepare::prepare;
use fctlab_fabric::run::{RunOptions, run};
use fctlab_fabric::scenario::{Format, parse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("which scenario?")?;
    let sets = args.filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())));
    let (threads, sets): (Vec<_>, Vec<_>) = sets.partition(|set| set.0 == "threads");
    let threads = threads.first().map_or(Ok(1), |set| set.1.parse())?;
    let value = parse(&std::fs::read_to_string(&file)?, Format::Toml)?;
    let scenario = prepare(value, &sets, ".".as_ref())?;
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let outcome = run(&scenario, options)?;
    println!("{:?}", outcome.counters);
    println!("{:?}", outcome.perf);
    for row in outcome.summary {
        println!("{row:?}");
    }
    let hops = outcome.counters.packet_hops as f64;
    println!(
        "{:.2} M packet-hops per CPU second",
        hops / outcome.perf.cpu_s / 1e6
    );
    Ok(())
}
