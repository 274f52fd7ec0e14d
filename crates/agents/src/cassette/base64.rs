//! Base64 with the standard alphabet and padding (RFC 4648, section 4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// `bytes` as text.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of `text`; `None` if it is no base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
