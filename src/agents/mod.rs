//! Agents: how each is started, and what each says.
