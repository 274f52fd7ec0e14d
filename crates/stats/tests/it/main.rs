//! Figures of other programs, edges, and the quick form of the simulations.

mod coverage;
mod edges;
mod figures;
