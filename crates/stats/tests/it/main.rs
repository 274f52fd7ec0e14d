//! Figures of other programs, edges, laws, plans, and the quick form of the simulations.

mod coverage;
mod edges;
mod figures;
mod laws;
mod plans;
