//! The law of a congestion control: how flows react to what they hear.
//!
//! A law is one file: its keys with their units and checks (`LawPart`), and what its flows do. The paper's
//! flows follow one rate ([`rate`]); those of the others have windows (`window`), each of which
//! reacts to its own ACKs (`Reacts`). Adding a law is one file and two lines below.
//!
//! All laws' keys stand side by side in one table. A key that a law does not know has to be what it is where
//! it says nothing: the [`Default`] of the laws that do.

use std::borrow::Cow;
use std::convert::Infallible;

use fctlab_core::parts::{description_of, schema_of};
use fctlab_core::spec::{hint, read};
use fctlab_core::{SpecError, WindowCounts};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use self::clocked::Clocked;
use crate::heard::{Bound, Heard, Line, Sent};

/// Whose state switches report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The class's own (equation 11).
    #[default]
    Class,
    /// The whole port's, as HPCC's telemetry does: flows hear nothing of weights.
    Port,
}

/// What a law says of itself, in its file: its keys, each with its neutral value for a default.
pub(crate) trait LawPart: Default + Serialize + DeserializeOwned + JsonSchema {
    /// What a flow's window has of it.
    type Flow: Reacts;
    /// Whether switches mark what leaves while more waits than the threshold.
    const MARKS: bool = false;
    /// A key that has to be above zero and is not.
    fn lacks(&self) -> Option<&'static str> {
        None
    }
    /// Whose queue, capacity and flows a flow hears of.
    fn scope(&self) -> Scope {
        Scope::Class
    }
    /// Which bytes of a packet a window counts.
    fn counts(&self) -> WindowCounts {
        WindowCounts::Wire
    }
    /// Of a flow that sends `share` of the line rate at first; nothing where flows have no windows.
    fn flow(&self, share: f64, line: &Line) -> Option<Self::Flow>;
}

/// How one flow's window reacts to ACKs.
pub(crate) trait Reacts {
    /// The share of the step after which the window is another one.
    fn on_acks(&mut self, heard: &Heard) -> f64;
    /// The step is over.
    fn sent(&mut self, sent: &Sent);
    /// The window as a share of a BDP, and so the rate as a share of the link's.
    fn share(&self) -> f64;
    /// What it allows where it has such a `share`, once so much is acked.
    #[inline(always)]
    fn bound(&self, share: f64, acked: f64, line: &Line) -> Bound {
        Bound::paced(share, acked, line)
    }
}

/// No flow has a window.
impl Reacts for Infallible {
    fn on_acks(&mut self, _: &Heard) -> f64 {
        match *self {}
    }
    fn sent(&mut self, _: &Sent) {
        match *self {}
    }
    fn share(&self) -> f64 {
        match *self {}
    }
}

/// Declares the closed set of windows, so that no flow pays for a virtual call.
macro_rules! reactions {
    ($( $variant:ident($flow:ty) ),+ $(,)?) => {
        /// How one flow's window reacts to ACKs.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Reaction {
            $( $variant($flow) ),+
        }

        // Inlined with what they call: out of line they cost a run 5% of its instructions.
        impl Reacts for Reaction {
            #[inline(always)]
            fn on_acks(&mut self, heard: &Heard) -> f64 {
                match self { $( Reaction::$variant(flow) => flow.on_acks(heard) ),+ }
            }
            #[inline(always)]
            fn sent(&mut self, sent: &Sent) {
                match self { $( Reaction::$variant(flow) => flow.sent(sent) ),+ }
            }
            #[inline(always)]
            fn share(&self) -> f64 {
                match self { $( Reaction::$variant(flow) => flow.share() ),+ }
            }
            #[inline(always)]
            fn bound(&self, share: f64, acked: f64, line: &Line) -> Bound {
                match self { $( Reaction::$variant(flow) => flow.bound(share, acked, line) ),+ }
            }
        }
    };
}

/// Declares the closed set of laws, one line each. Beside their windows stand those that are no law of one bottleneck.
macro_rules! laws {
    ($( $name:literal => $variant:ident($file:ident) ),+ ; beside: $( $other:ident($flow:ty) ),+ $(,)?) => {
        /// How flows react to what they hear.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Law {
            $( $variant($file::Spec) ),+
        }

        reactions! {
            $( $variant(<$file::Spec as LawPart>::Flow), )+
            $( $other($flow) ),+
        }

        impl Law {
            /// The names that `law` takes.
            pub const NAMES: &[&str] = &[$($name),+];

            /// As it is written.
            pub fn name(&self) -> &'static str {
                match self { $( Law::$variant(_) => $name ),+ }
            }

            /// Its own keys.
            fn keys(&self) -> Map<String, Value> {
                match self { $( Law::$variant(spec) => table(spec) ),+ }
            }

            /// The keys of all laws, as they are where they say nothing.
            pub(crate) fn neutral() -> Map<String, Value> {
                let mut all = Map::new();
                $( all.extend(table(&$file::Spec::default())); )+
                all
            }

            /// The law called `name`, with its keys out of those `given`.
            fn read(name: &str, given: &Map<String, Value>) -> Result<Law, SpecError> {
                let (mut found, mut said) = (None, Vec::new());
                $(
                    let spec: $file::Spec = part(given)?;
                    said.extend(says(&spec));
                    if name == $name {
                        found = Some((spec.lacks(), Law::$variant(spec)));
                    }
                )+
                let Some((lacks, law)) = found else {
                    unreachable!("only known names are read");
                };
                let own = law.keys();
                if let Some(key) = said.into_iter().find(|key| !own.contains_key(key)) {
                    let message = format!("has no meaning under law = \"{name}\"");
                    return Err(SpecError::new(key, message));
                }
                if let Some(key) = lacks {
                    let message = format!("has to be above zero under law = \"{name}\"");
                    return Err(SpecError::new(key, message));
                }
                Ok(law)
            }

            /// The properties of a table that has all laws' keys, `law` first.
            pub(crate) fn properties(generator: &mut SchemaGenerator) -> Map<String, Value> {
                let mut law = generator.subschema_for::<Law>().to_value();
                law["description"] = json!("How flows react. Only `rate` is in the paper.");
                let mut all = Map::from_iter([("law".to_owned(), law)]);
                $( add_properties(&mut all, schema_of::<$file::Spec>(generator)); )+
                all
            }

            /// Whether switches mark what leaves while more waits than the threshold.
            pub(crate) fn marks(&self) -> bool {
                match self { $( Law::$variant(_) => <$file::Spec as LawPart>::MARKS ),+ }
            }

            /// Whose queue, capacity and flows a flow hears of.
            pub fn scope(&self) -> Scope {
                match self { $( Law::$variant(spec) => spec.scope() ),+ }
            }

            /// Which bytes of a packet a window counts.
            pub fn counts(&self) -> WindowCounts {
                match self { $( Law::$variant(spec) => spec.counts() ),+ }
            }

            /// The window of a flow that sends `share` of the line rate at first; nothing where flows have none.
            pub(crate) fn flow(&self, share: f64, line: &Line) -> Option<Reaction> {
                match self { $( Law::$variant(spec) => spec.flow(share, line).map(Reaction::$variant) ),+ }
            }
        }

        /// Of its name: its keys stand beside it.
        impl JsonSchema for Law {
            fn schema_name() -> Cow<'static, str> {
                "Law".into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
                let names = [$( json!({
                    "type": "string",
                    "const": $name,
                    "description": description_of::<$file::Spec>(),
                }) ),+];
                schemars::json_schema!({
                    "oneOf": names,
                    "description": "How flows react to what they hear.",
                })
            }
        }
    };
}

pub mod clocked;
pub mod dctcp;
pub mod hpcc;
pub mod rate;

laws! {
    "rate" => Rate(rate),
    "dctcp" => Dctcp(dctcp),
    "hpcc" => Hpcc(hpcc);
    beside: Clocked(Clocked),
}

impl Law {
    /// Takes `law` and the keys of all laws out of `table`, where those that are not there say nothing.
    ///
    /// # Errors
    /// The first mistake, with its path.
    pub(crate) fn take(table: &mut Map<String, Value>) -> Result<Law, SpecError> {
        let mut given = Law::neutral();
        for (key, value) in &mut given {
            if let Some(written) = table.shift_remove(key) {
                *value = written;
            }
        }
        match table.shift_remove("law") {
            Some(Value::String(name)) if Law::NAMES.contains(&name.as_str()) => {
                Law::read(&name, &given)
            }
            other => {
                let written = other.unwrap_or_default();
                let hint = hint(written.as_str().unwrap_or_default(), Law::NAMES);
                let known = Law::NAMES.join(", ");
                let message = format!("{written} is not a law; {hint}known: {known}");
                Err(SpecError::new("law", message))
            }
        }
    }

    /// Beta: how much controlled flows make room for uncontrolled traffic.
    pub fn beta(&self) -> f64 {
        match self {
            Law::Rate(rate) => rate.beta,
            _ => 0.0,
        }
    }
}

/// Its name and the keys of all laws, its own as they are.
impl Serialize for Law {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut all = Map::from_iter([("law".to_owned(), json!(self.name()))]);
        all.extend(Law::neutral());
        all.extend(self.keys());
        all.serialize(s)
    }
}

/// What is written of a struct.
pub(crate) fn table(keys: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(keys) {
        Ok(Value::Object(table)) => table,
        _ => unreachable!("a struct is a table"),
    }
}

/// One law's keys, out of those of all.
fn part<T: LawPart>(given: &Map<String, Value>) -> Result<T, SpecError> {
    let mut own = table(&T::default());
    for (key, value) in &mut own {
        value.clone_from(&given[key]);
    }
    read(Value::Object(own))
}

/// The keys of a law that are not as if it said nothing.
fn says<T: LawPart>(law: &T) -> impl Iterator<Item = String> + use<T> {
    let neutral = table(&T::default());
    let keys = table(law).into_iter();
    keys.filter_map(move |(key, value)| (value != neutral[&key]).then_some(key))
}

/// Adds the properties of one law; what laws say of a key that several know is said one after the other.
fn add_properties(all: &mut Map<String, Value>, mut law: Value) {
    let Some(own) = law["properties"].as_object_mut() else {
        return;
    };
    for (key, property) in std::mem::take(own) {
        let Some(known) = all.get_mut(&key) else {
            all.insert(key, property);
            continue;
        };
        let text = |property: &Value| {
            property["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let (before, more) = (text(known), text(&property));
        if before != more {
            known["description"] = format!("{before} {more}").into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_that_share_a_key_agree_on_when_it_says_nothing() {
        let neutral = Law::neutral();
        for own in [
            table(&rate::Spec::default()),
            table(&dctcp::Spec::default()),
            table(&hpcc::Spec::default()),
        ] {
            for (key, value) in own {
                assert_eq!(value, neutral[&key], "{key}");
            }
        }
    }

    #[test]
    fn what_is_not_there_says_nothing() {
        let mut given = Map::from_iter([("law".to_owned(), json!("rate"))]);
        assert_eq!(Law::take(&mut given), Ok(Law::Rate(rate::Spec::default())));
        assert!(given.is_empty());
    }
}
