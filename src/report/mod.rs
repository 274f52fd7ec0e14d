//! Telling a run: summaries, tables, files.
