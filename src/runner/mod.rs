//! The whole plan: order, concurrency, cancellation, one stream of progress.
