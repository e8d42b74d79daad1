//! Flow-size distributions: `workload = "websearch"`.
//!
//! Adding a table is one file `data/NAME.csv` and one line below; adding
//! another kind of distribution is one file here and two lines below.

pub mod distribution;
pub mod mixture;
mod table;

use std::path::Path;

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Deserializer, Serialize};

pub use distribution::{Interpolation, MAX_SIZE, Point, SizeDistribution};
pub use mixture::Mixture;

/// Declares the registry; a table's specification follows from its name.
macro_rules! sizes {
    (
        tables { $($table:tt => $Table:ident),+ $(,)? }
        parts { $($name:tt => $Part:ident($module:ident)),+ $(,)? }
    ) => {
        /// The tables that come with fctlab, one specification each.
        pub mod tables {
            use super::*;
            $(
                #[doc = concat!("The table `data/", $table, ".csv`.")]
                #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
                #[serde(default, deny_unknown_fields)]
                #[schemars(description = table::description(Self::CSV))]
                pub struct $Table {
                    /// What lies between the table's points. Default: `linear`.
                    pub interpolation: Interpolation,
                }
                impl $Table {
                    const CSV: &'static str = include_str!(concat!("../../data/", $table, ".csv"));
                    pub(super) fn build(&self) -> Result<SizeDistribution, SpecError> {
                        table::read(Self::CSV.as_bytes(), self.interpolation)
                            .map_err(|message| SpecError::new("", message))
                    }
                }
            )+
        }

        fctlab_core::parts! {
            /// The distribution of flow sizes.
            pub enum SizesSpec, "workload" {
                $($table => $Table(tables::$Table),)+
                $($name => $Part($module::Spec)),+
            }
        }

        impl SizesSpec {
            /// The distribution itself.
            ///
            /// # Errors
            /// When the numbers, or the file that they come from, are not a distribution.
            pub fn build(&self) -> Result<SizeDistribution, SpecError> {
                match self {
                    $(SizesSpec::$Table(spec) => spec.build(),)+
                    $(SizesSpec::$Part(spec) => spec.build()),+
                }
            }
        }
    };
}

pub mod bimodal;
pub mod cdf;
pub mod fixed;
pub mod uniform;

sizes! {
    tables {
        "websearch" => Websearch,
        "datamining" => Datamining,
        "cache" => Cache,
        "hadoop" => Hadoop,
        "imc10" => Imc10,
        "websearch_bytes" => WebsearchBytes,
        "facebook_hadoop_bytes" => FacebookHadoopBytes,
        "alibaba_storage" => AlibabaStorage,
        "google_rpc" => GoogleRpc,
    }
    parts {
        "fixed" => Fixed(fixed),
        "uniform" => Uniform(uniform),
        "bimodal" => Bimodal(bimodal),
        "cdf" => Cdf(cdf),
    }
}

impl SizesSpec {
    /// Whether its name says all of it: a table, read as it is published.
    pub fn is_by_name(&self) -> bool {
        let plain = fctlab_core::spec::read::<SizesSpec>(self.kind().into());
        plain.is_ok_and(|plain| plain == *self)
    }

    /// Makes file names absolute; relative ones are taken from `base_dir`.
    pub fn resolve(&mut self, base_dir: &Path) {
        if let SizesSpec::Cdf(spec) = self {
            spec.file = crate::absolute(base_dir, &spec.file);
        }
    }
}

/// A flow size, for `#[serde(deserialize_with)]`: from 1 byte to [`MAX_SIZE`].
pub(crate) fn flow_size<'de, D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
    let size = Bytes::deserialize(d)?;
    allowed(size)
        .then_some(size)
        .ok_or_else(|| serde::de::Error::custom(not_a_flow_size(size)))
}

/// Whether a flow may have `size` bytes.
pub(crate) fn allowed(size: Bytes) -> bool {
    (Bytes::new(1)..=MAX_SIZE).contains(&size)
}

/// What is wrong with a flow size that is not [`allowed`].
pub(crate) fn not_a_flow_size(size: Bytes) -> String {
    format!("{size} is not in [1B, {MAX_SIZE}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn means_of_the_tables() {
        // Published means without rounding to whole bytes; hence within a byte.
        for (kind, mean) in [
            ("websearch", 1_665_831.0),
            ("datamining", 7_470_236.0),
            ("cache", 910_690.0),
            ("hadoop", 4_135_297.0),
            ("imc10", 195_357.0),
            ("websearch_bytes", 1_711_250.0),
            ("facebook_hadoop_bytes", 120_421.0),
            ("alibaba_storage", 40_870.0),
            ("google_rpc", 2_892.0),
        ] {
            let spec: SizesSpec = fctlab_core::spec::read(json!(kind)).unwrap();
            let found = spec.build().unwrap().mean();
            assert!((found - mean).abs() <= 1.0, "{kind}: {found}");
        }
        // By hand: 0.15 x 10000 + 0.05 x 20000 + ... + 0.03 x 30000000.
        let step: SizesSpec =
            fctlab_core::spec::read(json!({"kind": "websearch_bytes", "interpolation": "step"}))
                .unwrap();
        assert!((step.build().unwrap().mean() - 2_434_900.0).abs() < 1e-6);
    }

    #[test]
    fn the_catalog_describes_every_part_by_its_source() {
        for part in SizesSpec::catalog() {
            assert!(
                part.description.len() > 10 && !part.description.contains('#'),
                "{part:?}"
            );
        }
        let hadoop = SizesSpec::catalog()
            .into_iter()
            .find(|p| p.name == "hadoop");
        assert_eq!(
            hadoop.unwrap().description,
            "Facebook Hadoop, in 1460-byte packets."
        );
    }

    #[test]
    fn specifications_read_back() {
        for spec in [
            json!("websearch"),
            json!({"kind": "cache", "interpolation": "step"}),
            json!({"kind": "fixed", "size": "2MB"}),
            json!({"kind": "uniform", "sizes": ["1KB", "3MB"]}),
            json!({"kind": "bimodal", "small": "2KB", "large": "2MB"}),
            json!({"kind": "cdf", "file": "sizes.csv"}),
        ] {
            let mut read: SizesSpec = fctlab_core::spec::read(spec).unwrap();
            read.resolve(Path::new("/data"));
            let written = serde_json::to_value(&read).unwrap();
            assert_eq!(
                fctlab_core::spec::read::<SizesSpec>(written.clone()).unwrap(),
                read,
                "{written}"
            );
        }
    }

    #[test]
    fn mistakes_in_a_specification() {
        let error = |spec| {
            fctlab_core::spec::read::<SizesSpec>(spec)
                .unwrap_err()
                .to_string()
        };
        assert!(
            error(json!("websaerch"))
                .starts_with("\"websaerch\" is not a workload; did you mean \"websearch\"?")
        );
        assert_eq!(
            error(json!({"kind": "fixed", "size": "0B"})),
            "size: 0B is not in [1B, 1000GB]"
        );
        assert_eq!(
            error(json!({"kind": "bimodal", "small": "1B", "large": "2B", "small_share": 1})),
            "small_share: 1 is not in (0, 1)"
        );
        assert_eq!(
            error(json!({"kind": "imc10", "interpolate": "step"})),
            "interpolate: unknown key; did you mean \"interpolation\"? known here: interpolation"
        );
    }
}
