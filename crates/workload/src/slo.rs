//! SLOs: logical expressions over SLIs (swp, section 3.2 and figure 4).
//!
//! ```text
//! slo     = all ("or" all)*
//! all     = one ("and" one)*
//! one     = "(" slo ")" | SLI ("<" | "<=" | ">" | ">=") NUMBER [unit]
//! ```
//!
//! Values are in base units: slowdowns plain, times in seconds (`50us`), rates in
//! bits per second (`5Gbps`). The loss (equation 1) of a comparison is how far the
//! value is on the wrong side, as a share of the threshold; of a conjunction the
//! largest, of a disjunction the smallest.

use fctlab_core::spec::hint;
use fctlab_core::{Duration, Rate};

use serde::Serialize;

use crate::sli::{Attr, SliSpec};

/// What an SLI is compared with, in base units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// An upper bound.
    Below(f64),
    /// A lower bound.
    Above(f64),
}

impl Target {
    /// The bound.
    pub fn threshold(self) -> f64 {
        match self {
            Target::Below(threshold) | Target::Above(threshold) => threshold,
        }
    }
}

/// A logical expression over the SLIs of a class.
#[derive(Clone, Debug, PartialEq)]
pub enum Slo {
    /// The SLI of this number is below (or above) the threshold.
    Compare {
        /// Its place in the class's list.
        sli: usize,
        /// Whether the threshold is an upper bound.
        upper: bool,
        /// In base units.
        threshold: f64,
    },
    /// All hold.
    All(Vec<Slo>),
    /// At least one holds.
    Any(Vec<Slo>),
}

impl Slo {
    /// Reads an expression over `slis`.
    ///
    /// # Errors
    /// What is wrong with it and what is allowed.
    pub fn parse(text: &str, slis: &[SliSpec]) -> Result<Slo, String> {
        let mut parser = Parser {
            tokens: tokens(text)?,
            at: 0,
            depth: 0,
            slis,
        };
        let slo = parser.any()?;
        match parser.peek() {
            None => Ok(slo),
            Some(other) => Err(format!(
                "{other:?} is not expected; write `and` or `or` before it"
            )),
        }
    }

    /// Equation 1, for the values of the class's SLIs. One without flows has an infinite value: nothing
    /// is met then, whichever way it is compared.
    pub fn loss(&self, values: &[f64]) -> f64 {
        match self {
            Slo::Compare {
                sli,
                upper,
                threshold,
            } => {
                let loss = (values[*sli] - threshold) / threshold;
                if *upper || loss.is_infinite() {
                    loss
                } else {
                    -loss
                }
            }
            Slo::All(parts) => parts
                .iter()
                .map(|p| p.loss(values))
                .fold(f64::NEG_INFINITY, f64::max),
            Slo::Any(parts) => parts
                .iter()
                .map(|p| p.loss(values))
                .fold(f64::INFINITY, f64::min),
        }
    }

    /// Whether it holds for all values in the intervals, for none, or for some.
    pub fn decide(&self, intervals: &[(f64, f64)]) -> Option<bool> {
        match self {
            Slo::Compare {
                sli,
                upper,
                threshold,
            } => {
                let (low, high) = intervals[*sli];
                let (low, high) = (low - threshold, high - threshold);
                let (best, worst) = if *upper { (low, high) } else { (-high, -low) };
                match (best < 0.0, worst < 0.0) {
                    (_, true) => Some(true),
                    (false, _) => Some(false),
                    _ => None,
                }
            }
            Slo::All(parts) => {
                let decided: Vec<_> = parts.iter().map(|p| p.decide(intervals)).collect();
                if decided.contains(&Some(false)) {
                    Some(false)
                } else {
                    decided.iter().all(|d| *d == Some(true)).then_some(true)
                }
            }
            Slo::Any(parts) => {
                let decided: Vec<_> = parts.iter().map(|p| p.decide(intervals)).collect();
                if decided.contains(&Some(true)) {
                    Some(true)
                } else {
                    decided.iter().all(|d| *d == Some(false)).then_some(false)
                }
            }
        }
    }

    /// The SLIs that it names, each with what it is compared with.
    pub fn targets(&self) -> Vec<(usize, Target)> {
        match self {
            Slo::Compare {
                sli,
                upper,
                threshold,
            } => {
                if *upper {
                    vec![(*sli, Target::Below(*threshold))]
                } else {
                    vec![(*sli, Target::Above(*threshold))]
                }
            }
            Slo::All(parts) | Slo::Any(parts) => parts.iter().flat_map(Slo::targets).collect(),
        }
    }

    /// The comparison that decides about the loss.
    pub fn decisive(&self, values: &[f64]) -> (usize, Target) {
        match self {
            Slo::Compare { .. } => self.targets()[0],
            Slo::All(parts) | Slo::Any(parts) => {
                let loss = self.loss(values);
                let part = parts.iter().find(|p| p.loss(values) == loss);
                part.unwrap_or(&parts[0]).decisive(values)
            }
        }
    }
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        let mut token = String::new();
        let mut take = |allowed: &dyn Fn(char) -> bool, token: &mut String| {
            while let Some(&c) = chars.peek()
                && allowed(c)
            {
                token.push(c);
                chars.next();
            }
        };
        match c {
            c if c.is_whitespace() => {
                chars.next();
                continue;
            }
            '(' | ')' => {
                token.push(c);
                chars.next();
            }
            '<' | '>' => take(&|c| matches!(c, '<' | '>' | '='), &mut token),
            c if c.is_alphanumeric() || matches!(c, '_' | '.') => take(
                &|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'),
                &mut token,
            ),
            c => {
                return Err(format!(
                    "{c:?} is not expected; write comparisons such as `tail < 3.0`, with and, or, ( )"
                ));
            }
        }
        tokens.push(token);
    }
    Ok(tokens)
}

/// Parentheses inside each other.
const DEEPEST: usize = 64;

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    /// Parentheses that are open.
    depth: usize,
    slis: &'a [SliSpec],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn next(&mut self, what: &str) -> Result<String, String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token.ok_or_else(|| format!("ends where {what} is expected"))
    }

    fn any(&mut self) -> Result<Slo, String> {
        self.joined("or", Self::all, Slo::Any)
    }

    fn all(&mut self) -> Result<Slo, String> {
        self.joined("and", Self::one, Slo::All)
    }

    /// One part or several with `word` between.
    fn joined(
        &mut self,
        word: &str,
        part: impl Fn(&mut Self) -> Result<Slo, String>,
        several: impl Fn(Vec<Slo>) -> Slo,
    ) -> Result<Slo, String> {
        let first = part(self)?;
        if self.peek() != Some(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.peek() == Some(word) {
            self.at += 1;
            parts.push(part(self)?);
        }
        Ok(several(parts))
    }

    fn one(&mut self) -> Result<Slo, String> {
        let name = self.next("an SLI")?;
        if name == "(" {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(format!(
                    "has more than {DEEPEST} parentheses inside each other"
                ));
            }
            let inner = self.any()?;
            self.depth -= 1;
            return match self.next("`)`")?.as_str() {
                ")" => Ok(inner),
                other => Err(format!("{other:?} is not expected; write `)`")),
            };
        }
        let names: Vec<&str> = self.slis.iter().map(|s| s.name.as_str()).collect();
        let Some(sli) = names.iter().position(|n| *n == name) else {
            let hint = hint(&name, &names);
            return Err(format!(
                "{name:?} is not an SLI of the class; {hint}known: {}",
                names.join(", ")
            ));
        };
        let upper = match self.next("< or >")?.as_str() {
            "<" | "<=" => true,
            ">" | ">=" => false,
            other => return Err(format!("{other:?} is not <, <=, > or >=")),
        };
        let mut text = self.next("a number")?;
        // A unit may stand apart from its number.
        let attr = self.slis[sli].attr;
        if attr != Attr::Slowdown
            && text.ends_with(|c: char| c.is_ascii_digit())
            && let Some(unit) = self.peek()
            && unit.starts_with(|c: char| c.is_alphabetic())
            && !matches!(unit, "and" | "or")
        {
            text.push_str(unit);
            self.at += 1;
        }
        let threshold = match attr {
            Attr::Slowdown => text.parse().ok(),
            Attr::Fct => text.parse::<Duration>().ok().map(Duration::as_secs_f64),
            Attr::Throughput => text.parse::<Rate>().ok().map(|r| r.bps() as f64),
        };
        match threshold.filter(|t: &f64| *t > 0.0 && t.is_finite()) {
            // Who is alone on the link has 1.
            Some(threshold) if attr == Attr::Slowdown && threshold < 1.0 => Err(format!(
                "{text} is below 1, the least slowdown that {name} can have"
            )),
            Some(threshold) => Ok(Slo::Compare {
                sli,
                upper,
                threshold,
            }),
            None => Err(format!(
                "{text:?} is not {}, as {name} is compared with",
                attr.threshold()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sli::Metric;
    use fctlab_core::Bytes;

    fn slis() -> Vec<SliSpec> {
        let sli = |name: &str, attr| SliSpec {
            name: name.into(),
            metric: Metric::Percentile(0.99),
            attr,
            from: Bytes::new(0),
            below: None,
        };
        vec![
            sli("small", Attr::Slowdown),
            sli("large", Attr::Slowdown),
            sli("time", Attr::Fct),
            sli("rate", Attr::Throughput),
        ]
    }

    fn loss(text: &str, values: [f64; 4]) -> f64 {
        Slo::parse(text, &slis()).unwrap().loss(&values)
    }

    #[test]
    fn losses_by_hand() {
        let values = [2.0, 7.5, 40e-6, 4e9];
        assert_eq!(loss("small < 4.0", values), -0.5);
        assert_eq!(loss("small < 4 and large <= 5", values), 0.5);
        assert_eq!(loss("small < 4 or large < 5", values), -0.5);
        assert!((loss("time < 50us", values) + 0.2).abs() < 1e-12);
        assert!((loss("time < 50 us", values) + 0.2).abs() < 1e-12);
        let unknown = [f64::INFINITY; 4];
        assert_eq!(loss("small < 4 and rate > 2Gbps", unknown), f64::INFINITY);
        assert_eq!(loss("rate > 2Gbps", unknown), f64::INFINITY);
        // Less than the lower bound is a loss.
        assert_eq!(loss("rate > 5Gbps", values), 0.2);
        assert_eq!(
            loss("small < 4 and (large < 5 or rate > 2Gbps)", values),
            -0.5
        );
        assert_eq!(
            loss("large < 5 and small < 4 or rate > 2Gbps", values),
            -1.0
        );
    }

    #[test]
    fn three_valued_decisions() {
        let decide = |text: &str, small, large| {
            let intervals = [small, large, (0.0, 0.0), (0.0, 0.0)];
            Slo::parse(text, &slis()).unwrap().decide(&intervals)
        };
        assert_eq!(decide("small < 3", (1.0, 2.9), (0.0, 0.0)), Some(true));
        assert_eq!(decide("small < 3", (2.0, 3.1), (0.0, 0.0)), None);
        assert_eq!(decide("small < 3", (3.0, 3.1), (0.0, 0.0)), Some(false));
        assert_eq!(
            decide("small < 3 and large < 6", (2.0, 3.1), (7.0, 8.0)),
            Some(false)
        );
        assert_eq!(
            decide("small < 3 or large < 6", (2.0, 3.1), (4.0, 5.0)),
            Some(true)
        );
        assert_eq!(
            decide("small < 3 and large < 6", (2.0, 3.1), (4.0, 5.0)),
            None
        );
    }

    #[test]
    fn mistakes() {
        let error = |text: &str| Slo::parse(text, &slis()).unwrap_err();
        assert_eq!(
            error("smal < 3"),
            "\"smal\" is not an SLI of the class; did you mean \"small\"? known: small, large, time, rate"
        );
        assert_eq!(error("small < "), "ends where a number is expected");
        let nested = |n: usize| format!("{}small < 3{}", "(".repeat(n), ")".repeat(n));
        assert!(Slo::parse(&nested(DEEPEST), &slis()).is_ok());
        assert_eq!(
            error(&nested(30_000)),
            "has more than 64 parentheses inside each other"
        );
        // Side by side they are none inside each other.
        assert!(Slo::parse(&["(small < 3)"; 100].join(" and "), &slis()).is_ok());
        assert_eq!(
            error("small = 3"),
            "'=' is not expected; write comparisons such as `tail < 3.0`, with and, or, ( )"
        );
        assert_eq!(
            error("small < 3us"),
            "\"3us\" is not a number above 0, as small is compared with"
        );
        assert_eq!(
            error("small < 0.5"),
            "0.5 is below 1, the least slowdown that small can have"
        );
        assert_eq!(
            error("time < 3"),
            "\"3\" is not a time such as 50us, as time is compared with"
        );
        assert_eq!(
            error("small < 3 large < 5"),
            "\"large\" is not expected; write `and` or `or` before it"
        );
        assert_eq!(error("(small < 3"), "ends where `)` is expected");
        assert_eq!(error(""), "ends where an SLI is expected");
    }
}
