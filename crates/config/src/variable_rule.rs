//! Which variables a rule of the operator's environment names.

/// Whether `rule` names this variable: its whole name, or its start where the rule ends in `*`.
#[must_use]
pub fn names_variable(rule: &str, variable: &str) -> bool {
    rule.strip_suffix('*')
        .map_or(rule == variable, |start| variable.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_one_variable_or_all_that_begin_alike() {
        for (rule, variable, named) in [
            ("HOME", "HOME", true),
            ("HOME", "HOMES", false),
            ("LC_*", "LC_TIME", true),
            ("LC_*", "LC", false),
            ("*", "ANY", true),
        ] {
            assert_eq!(names_variable(rule, variable), named, "{rule} {variable}");
        }
    }
}
