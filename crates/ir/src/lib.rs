//! The core IR: types, ops, builder, verifier, text form. Knows no PTX.
