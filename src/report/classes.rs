//! Classes of tool errors, until `metrics` has them.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    Discovery,
    SiblingCascade,
    ReportedFailure,
    Real,
}

impl ErrorClass {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Discovery => "discovery",
            Self::SiblingCascade => "sibling_cascade",
            Self::ReportedFailure => "reported_failure",
            Self::Real => "real",
        }
    }
}

pub(crate) fn is_mcp_error_discovery(text: &str) -> bool {
    text.contains("Missing required session defaults")
}

pub(crate) fn classify(mcp: bool, text: &str) -> ErrorClass {
    if mcp && is_mcp_error_discovery(text) {
        ErrorClass::Discovery
    } else if text.contains("Sibling tool call errored") {
        ErrorClass::SiblingCascade
    } else {
        ErrorClass::Real
    }
}
