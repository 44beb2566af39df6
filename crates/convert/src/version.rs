//! Which release of an agent it is.

/// The first two numbers of a version, if it has such.
pub(crate) fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order() {
        assert!(release("0.98.0") < release("0.130.0-alpha.2"));
        assert_eq!(release("1.18"), Some((1, 18)));
        for none in ["", "2", "latest", "v1.2"] {
            assert_eq!(release(none), None, "{none}");
        }
    }
}
