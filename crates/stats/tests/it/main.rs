//! Figures of other programs, and edges.

mod edges;
mod figures;
