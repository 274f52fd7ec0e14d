//! What a session tells of each model.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::wire::model_name;
use proctor_model::{ModelTokens, Usage};

/// Models that are told apart. Further ones count as the last of them; no honest session has so many.
pub(super) const MODELS_CAP: usize = 64;

/// The tokens of a model, which is added where it is not known.
pub(super) fn model_of<'a>(known: &'a mut Vec<ModelTokens>, model: &str) -> &'a mut ModelTokens {
    let place = place_of(known, model);
    &mut known[place]
}

/// Where the tokens of a model are counted; it is added where it is not known.
pub(super) fn place_of(known: &mut Vec<ModelTokens>, model: &str) -> usize {
    let place = known.iter().position(|one| one.model == model);
    place.unwrap_or_else(|| {
        if known.len() < MODELS_CAP {
            known.push(ModelTokens {
                model: model.to_owned(),
                ..ModelTokens::default()
            });
        }
        known.len() - 1
    })
}

/// What is told for each model; a doubled model, or more than one session can have, spoils it.
#[derive(Debug)]
pub(super) struct ByModel<T>(pub(super) Vec<(String, T)>);

impl<T> ByModel<T> {
    /// Models of one session at most; one with more is no honest one.
    const CAP: usize = 256;

    /// All models together; `None` where the tokens of one are unreadable.
    pub(super) fn total(&self, usage: impl Fn(&T) -> Option<Usage>) -> Option<Usage> {
        let mut models = self.0.iter();
        models.try_fold(Usage::default(), |total, (_, told)| {
            Some(total.plus(usage(told)?))
        })
    }

    /// The tokens of each model; empty where those of one are unreadable.
    pub(super) fn usage_by_model(&self, usage: impl Fn(&T) -> Option<Usage>) -> Vec<ModelTokens> {
        let models = self.0.iter().map(|(model, told)| {
            Some(ModelTokens {
                model: model_name(model),
                usage: usage(told)?,
                ..ModelTokens::default()
            })
        });
        models.collect::<Option<_>>().unwrap_or_default()
    }
}

impl<T> Default for ByModel<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByModel<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByModelVisitor(PhantomData))
    }
}

struct ByModelVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ByModelVisitor<T> {
    type Value = ByModel<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("usage by model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByModel<T>, A::Error> {
        let mut models: Vec<(String, T)> = Vec::new();
        while let Some((model, told)) = map.next_entry::<String, T>()? {
            if models.iter().any(|(known, _)| *known == model) {
                return Err(A::Error::custom("a model stands there twice"));
            }
            if models.len() == ByModel::<T>::CAP {
                return Err(A::Error::custom("more models than one session can have"));
            }
            models.push((model, told));
        }
        Ok(ByModel(models))
    }
}
