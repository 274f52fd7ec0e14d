//! Figures of other programs, edges, laws, and the quick form of the simulations.

mod coverage;
mod edges;
mod figures;
mod laws;
