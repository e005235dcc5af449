//! Run NVIDIA PTX on any CPU with the bits a GPU would give.

pub use hostwarp_compile as compile;
pub use hostwarp_ir as ir;
pub use hostwarp_isa as isa;
pub use hostwarp_syntax as syntax;
