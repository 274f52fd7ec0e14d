//! The matrix and its order.
