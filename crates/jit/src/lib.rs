//! The fast engine: LLVM, vectorised across lanes.
