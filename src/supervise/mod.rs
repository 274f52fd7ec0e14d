//! How a child process ends: the only room that starts one.
