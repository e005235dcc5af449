//! Device memory: address map, allocations, checks, faults.
