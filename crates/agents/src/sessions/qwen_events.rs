//! What Qwen Code's client writes of its requests into its session file: the only place that tells why it waits, since it tries
//! HTTP 429 and 503 again past any limit and says nothing meanwhile.

use serde::Deserialize;

use crate::fault::{ClientFailure, fault};
use crate::wire::Loose;
use proctor_model::ProviderFault;

/// A line of the client's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientEvents {
    #[serde(rename = "uiEvent")]
    event: Loose<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    #[serde(rename = "event.name")]
    name: Loose<String>,
    error_message: Loose<String>,
    status_code: Loose<u16>,
}

impl ClientEvents {
    /// Puts down how the last request ended.
    pub(super) fn settle(self, last: &mut LastRequest) {
        let Some(event) = self.event.0 else { return };
        match event.name.0.as_deref() {
            Some("qwen-code.api_response") => *last = LastRequest::Answered,
            Some("qwen-code.api_error") => {
                *last = LastRequest::Failed(fault(&ClientFailure {
                    status: event.status_code.0,
                    message: event.error_message.0.as_deref().unwrap_or_default(),
                    ..ClientFailure::default()
                }));
            }
            _ => {}
        }
    }
}

/// How the last request to the model ended.
#[derive(Debug, Default)]
pub(super) enum LastRequest {
    /// Nobody tells.
    #[default]
    Unknown,
    Answered,
    Failed(ProviderFault),
}

impl LastRequest {
    pub(super) fn was_answered(&self) -> bool {
        matches!(self, Self::Answered)
    }

    /// The failure that it was, if it was one.
    pub(super) fn failure(self) -> Option<ProviderFault> {
        match self {
            Self::Failed(fault) => Some(fault),
            Self::Unknown | Self::Answered => None,
        }
    }
}
