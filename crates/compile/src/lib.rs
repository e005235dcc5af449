//! A PTX module to core IR: names, scopes, types, control flow, diagnostics.
