//! Tests of the built program and of the house, one file per theme.

mod default_suite;
mod published_run;
mod tidy;
