//! What both engines must agree on about a kernel.
