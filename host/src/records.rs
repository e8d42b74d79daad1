//! Records of flows that ended, as a CSV file that `fctlab fit` reads.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

const AF_INET6: u32 = 10;

/// A file of records.
pub struct Records {
    file: BufWriter<File>,
    /// Since 1970, of the kernel's clock's zero.
    zero_ns: u128,
}

impl Records {
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path) -> Result<Records> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let mut file = BufWriter::new(file);
        writeln!(
            file,
            "start_s,end_s,src,src_port,dst,dst_port,size_bytes,retransmissions"
        )?;
        file.flush()?;
        let up: f64 = std::fs::read_to_string("/proc/uptime")?
            .split(' ')
            .next()
            .and_then(|text| text.parse().ok())
            .context("/proc/uptime")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        Ok(Records {
            file,
            zero_ns: now - (up * 1e9) as u128,
        })
    }

    /// Writes a record (`struct flow` of `tagger.bpf.c`).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        let long = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().expect("eight"));
        let word = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().expect("four"));
        let family = word(28);
        let (src, dst) = (
            address(family, &record[32..48]),
            address(family, &record[48..64]),
        );
        let (start, end) = (
            self.zero_ns + u128::from(long(0)),
            self.zero_ns + u128::from(long(8)),
        );
        // SYN and FIN count as a byte each.
        let size = long(16).saturating_sub(2);
        writeln!(
            self.file,
            "{},{},{src},{},{dst},{},{size},{}",
            seconds(start),
            seconds(end),
            word(64),
            word(68),
            word(24)
        )?;
        Ok(())
    }

    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.file.flush()?)
    }
}

/// To the nanosecond.
fn seconds(ns: u128) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn address(family: u32, bytes: &[u8]) -> IpAddr {
    if family == AF_INET6 {
        let all: [u8; 16] = bytes.try_into().expect("sixteen");
        IpAddr::V6(Ipv6Addr::from(all))
    } else {
        let last: [u8; 4] = bytes[12..].try_into().expect("four");
        IpAddr::V4(Ipv4Addr::from(last))
    }
}
