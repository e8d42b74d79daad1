//! What is asked of a class, in a specification of one link and in a scenario alike: its SLIs, its SLO, and the
//! code points that switches know it by.

use fctlab_core::SpecError;

use crate::sli::SliSpec;
use crate::slo::Slo;

/// Checks the SLIs of a class and reads its SLO, if it has one.
///
/// # Errors
/// The first mistake, with its path in the class.
pub fn read(slis: &[SliSpec], slo: Option<&str>) -> Result<Option<Slo>, SpecError> {
    for (i, sli) in slis.iter().enumerate() {
        sli.check().map_err(|e| e.under(&format!("slis[{i}]")))?;
        if slis[..i].iter().any(|s| s.name == sli.name) {
            let message = format!("{:?} is the name of two SLIs", sli.name);
            return Err(SpecError::new(format!("slis[{i}].name"), message));
        }
    }
    let slo = slo.map(|text| Slo::parse(text, slis));
    slo.transpose().map_err(|e| SpecError::new("slo", e))
}

/// Checks the code points (DSCP) of a class, `others` being those of classes before it.
///
/// # Errors
/// One that there is not, or that another class has.
pub fn check_dscp<'a>(
    own: &[u8],
    mut others: impl Iterator<Item = &'a Vec<u8>>,
) -> Result<(), SpecError> {
    let wrong = |message: String| Err(SpecError::new("dscp", message));
    if let Some(code) = own.iter().find(|code| **code > 63) {
        return wrong(format!("{code} is not in [0, 63]"));
    }
    match others.find_map(|other| own.iter().find(|code| other.contains(code))) {
        Some(code) => wrong(format!("{code} is that of two classes")),
        None => Ok(()),
    }
}
