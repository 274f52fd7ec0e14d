//! A JSON Schema that an answer must hold to.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::json;

/// A schema of JSON Schema, draft 2020-12 unless it names another. `format` is a remark alone, and nothing is fetched.
#[derive(Clone)]
pub struct AnswerSchema {
    written: Value,
    validator: Arc<jsonschema::Validator>,
}

impl AnswerSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn new(written: Value) -> Result<Self, String> {
        let options = jsonschema::options().offline();
        let built = options.should_validate_formats(false).build(&written);
        let validator = built.map_err(|error| {
            let place = error.instance_path().to_string();
            let at = if place.is_empty() {
                String::new()
            } else {
                format!(" at {place}")
            };
            format!("{error}{at}")
        })?;
        Ok(Self {
            written,
            validator: Arc::new(validator),
        })
    }

    /// Whether the whole of `answer` is JSON that holds to the schema.
    ///
    /// # Errors
    /// Why it does not.
    pub fn holds(&self, answer: &str) -> Result<(), String> {
        let value = json::read(answer).map_err(|why| format!("is no JSON: {why}"))?;
        self.validator.validate(&value).map_err(|error| {
            let place = error.instance_path().to_string();
            match place.as_str() {
                "" => error.to_string(),
                place => format!("{place}: {error}"),
            }
        })
    }
}

impl fmt::Debug for AnswerSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("AnswerSchema")
            .field(&self.written)
            .finish()
    }
}

impl PartialEq for AnswerSchema {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}
