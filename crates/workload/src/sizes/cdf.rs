//! The user's own cumulative distribution, from a CSV or text file.

use std::fs::File;
use std::path::PathBuf;

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::distribution::{Interpolation, SizeDistribution};
use super::table;

/// A cumulative distribution from a CSV file with the columns `size_bytes,cumulative_probability`,
/// or from lines `SIZE PROBABILITY` (or percent) without a header, as Homa and HPCC have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The file; a relative name is taken from the scenario's folder.
    pub file: PathBuf,
    /// What lies between the file's points. Default: `linear`.
    #[serde(default)]
    pub interpolation: Interpolation,
}

impl Spec {
    pub(super) fn build(&self) -> Result<SizeDistribution, SpecError> {
        let name = self.file.display();
        let at = |message: String| SpecError::new("file", message);
        let file =
            File::open(&self.file).map_err(|e| at(format!("{name}: cannot be read: {e}")))?;
        table::read(file, self.interpolation).map_err(|message| at(format!("{name}: {message}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<SizeDistribution, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sizes.csv");
        std::fs::write(&file, text).unwrap();
        let spec = Spec {
            file: file.clone(),
            interpolation: Interpolation::Linear,
        };
        spec.build().map_err(|error| {
            assert_eq!(error.path, "file");
            error
                .message
                .strip_prefix(&format!("{}: ", file.display()))
                .unwrap()
                .to_owned()
        })
    }

    #[test]
    fn comments_and_spaces_are_ignored() {
        let sizes =
            build("# mine\nsize_bytes, cumulative_probability\n1000, 0.5\n# more\n2000, 1\n")
                .unwrap();
        assert_eq!(sizes.mean(), 1250.0);
    }

    #[test]
    fn lines_without_a_header_are_shares_or_percent() {
        let wanted = build("size_bytes,cumulative_probability\n1000,0.15\n2000,1\n").unwrap();
        for text in [
            "1000 0.15\n2000 1\n",
            "# HPCC\n1000 15\r\n\n2000\t100\r\n",
            "1425.5\n1000    0.150000\n2000    1.000000",
        ] {
            assert_eq!(build(text).unwrap(), wanted, "{text:?}");
        }
        for (text, error) in [
            ("440.8\n", "has no points; at least one is needed"),
            (
                "1 0.5\n2\n",
                "line 2: \"2\" is not a size and a cumulative probability",
            ),
            (
                "1 0.5\n2 1 3\n",
                "line 2: \"2 1 3\" is not a size and a cumulative probability",
            ),
            (
                "1 50\n2 90\n",
                "line 1: cumulative_probability 50 is not in [0, 1]",
            ),
            (
                "1 0.5\n\n2 0.4\n",
                "line 3: cumulative_probability 0.4 is below the 0.5 before it; probabilities must not decrease",
            ),
        ] {
            assert_eq!(build(text).unwrap_err(), error);
        }
    }

    #[test]
    fn mistakes_name_line_value_and_what_is_allowed() {
        const HEADER: &str = "size_bytes,cumulative_probability";
        for (text, error) in [
            (
                "",
                "is empty; its first line must be size_bytes,cumulative_probability",
            ),
            (HEADER, "has no points; at least one is needed"),
            (
                "size,cdf\n1,1\n",
                "line 1: the columns are \"size,cdf\"; they must be size_bytes,cumulative_probability",
            ),
            (
                "H\n1,0.5,7\n",
                "line 2: has 3 columns; they must be size_bytes,cumulative_probability",
            ),
            (
                "H\n1\n",
                "line 2: has 1 columns; they must be size_bytes,cumulative_probability",
            ),
            (
                "H\n# x\n1k,1\n",
                "line 3: size_bytes \"1k\" is not a number",
            ),
            (
                "# x\r\nH\r\n\r\n1k,1\r\n",
                "line 4: size_bytes \"1k\" is not a number",
            ),
            (
                "H\n1,\n",
                "line 2: cumulative_probability \"\" is not a number",
            ),
            (
                "H\nNaN,1\n",
                "line 2: size_bytes NaN is not in [0, 1000000000000]",
            ),
            (
                "H\n-3,1\n",
                "line 2: size_bytes -3 is not in [0, 1000000000000]",
            ),
            (
                "H\n1,100\n",
                "line 2: cumulative_probability 100 is not in [0, 1]",
            ),
            (
                "H\n2,0\n1,1\n",
                "line 3: size_bytes 1 is below the 2 before it; sizes must not decrease",
            ),
            (
                "H\n1,0.5\n2,0.4\n",
                "line 3: cumulative_probability 0.4 is below the 0.5 before it; probabilities must not decrease",
            ),
            (
                "H\n1,0.5\n2,0.9\n",
                "line 3: the last cumulative_probability is 0.9; it must be 1",
            ),
        ] {
            assert_eq!(build(&text.replace('H', HEADER)).unwrap_err(), error);
        }
    }

    #[test]
    fn an_unreadable_file() {
        let spec = Spec {
            file: "/no/such/file.csv".into(),
            interpolation: Interpolation::Linear,
        };
        assert_eq!(
            spec.build().unwrap_err().to_string(),
            "file: /no/such/file.csv: cannot be read: No such file or directory (os error 2)"
        );
    }
}
