//! The PTX instruction set: forms as the manual writes them, and their meaning in core ops.
