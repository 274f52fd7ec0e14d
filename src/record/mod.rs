//! What is kept: the run directory, its journal and every file name below it.
