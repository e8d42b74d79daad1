//! What tests beside the crate share.

/// Whether tests look at all they can, for minutes more: `FCTLAB_TESTS=all`.
pub(crate) fn everything() -> bool {
    std::env::var("FCTLAB_TESTS").is_ok_and(|tests| tests == "all")
}
