//! The tree that a trial works in, and the only room that knows git.
