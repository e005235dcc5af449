// What csmith's programs include, for a GPU's threads and for the host: its own arithmetic, and every value it computes goes into a sum.
//
// Sums do not depend on the order in which operands are evaluated, which C leaves open. Lanes differ because what multiplications, divisions and
// shifts give is changed by the lane's number; additions and subtractions stay as they are, since they move the counters of loops and indices.
#pragma once
#include <float.h>
#include <limits.h>
#include <stdint.h>

#define STATIC static
#define UNDEFINED(value) (value)
#define LOG_INDEX
#define LOG_EXEC
#define INT_BIT (sizeof(int) * CHAR_BIT)
#define _CSMITH_BITFIELD(x) ((x) > INT_BIT ? (x) % INT_BIT : (x))

#ifdef __NVPTX__
#define lane() (unsigned)__nvvm_read_ptx_sreg_tid_x()
#else
extern unsigned current_lane;
#define lane() current_lane
#endif

uint64_t sums[LANES];

static inline void note(uint64_t value) {
    value ^= value >> 31;
    value *= 0x9e3779b97f4a7c15u;
    sums[lane()] += value ^ value >> 29;
}

#define fabs __builtin_fabs
#define fabsf __builtin_fabsf
#define FUNC_NAME(x) (safe_##x)
#include <safe_math.h>
#undef FUNC_NAME

#define noted(type, value) ({ type _noted = (value); note((uint64_t)_noted); _noted; })
#define changed(type, value) ({ type _changed = (value); note((uint64_t)_changed); LANES > 1 ? (type)(_changed ^ (type)(lane() & 7)) : _changed; })
#include "changed.h"

#define platform_main_begin()
#define platform_main_end(value, print)
#define crc32_gentab()
#define crc32_context 0u
#define printf(...)
#define transparent_crc(value, name, print) note((uint64_t)(value))
#define transparent_crc_bytes(at, size, name, print) \
    do { for (int _i = 0; _i < (int)(size); _i++) note(((unsigned char *)(at))[_i]); } while (0)
