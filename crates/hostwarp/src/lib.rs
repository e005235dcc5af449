//! Run NVIDIA PTX on any CPU with the bits a GPU would give.
