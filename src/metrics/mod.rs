//! What a trial amounts to: facts to numbers, the same at the end of a trial and at a rebuild.
