// What the bench asks a contestant over a pipe, one line at a time:
//   buffer I BYTES, then the bytes    -> ok
//   scalar I HEX                      -> ok
//   read I                            -> the bytes of buffer I
//   clear                             -> ok
//   run ...                           -> nanoseconds, or `none` where there is no such kernel
#pragma once
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BUFFERS = 8, SCALARS = 8 };

static void *buffers[BUFFERS];
static size_t sizes[BUFFERS];
static uint32_t scalars[SCALARS];
static int n_buffers, n_scalars;

static inline uint64_t now(void) {
    struct timespec t;
#ifdef CPU_TIME
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void reply(const char *text) {
    puts(text);
    fflush(stdout);
}

static inline void receive(void *to, size_t bytes) {
    if (fread(to, 1, bytes, stdin) != bytes) exit(2);
}

// On large pages, as Hostwarp's device memory is.
static inline void *allocate(size_t bytes) {
    size_t large = 2u << 20, size = (bytes + large - 1) / large * large;
    void *p = aligned_alloc(large, size);
    if (!p) exit(3);
    madvise(p, size, MADV_HUGEPAGE);
    return p;
}

// Answers what is common to all contestants; false for other commands.
static int common(const char *line) {
    int i;
    size_t bytes;
    uint32_t bits;
    if (sscanf(line, "buffer %d %zu", &i, &bytes) == 2 && i >= 0 && i < BUFFERS) {
        if (sizes[i] != bytes || !buffers[i]) {
            free(buffers[i]);
            buffers[i] = allocate(bytes);
            sizes[i] = bytes;
        }
        receive(buffers[i], bytes);
        if (i >= n_buffers) n_buffers = i + 1;
        reply("ok");
    } else if (sscanf(line, "scalar %d %x", &i, &bits) == 2 && i >= 0 && i < SCALARS) {
        scalars[i] = bits;
        if (i >= n_scalars) n_scalars = i + 1;
        reply("ok");
    } else if (sscanf(line, "read %d", &i) == 1 && i >= 0 && i < n_buffers) {
        fwrite(buffers[i], 1, sizes[i], stdout);
        fflush(stdout);
    } else if (strncmp(line, "clear", 5) == 0) {
        for (i = 0; i < n_buffers; i++) {
            free(buffers[i]);
            buffers[i] = NULL;
            sizes[i] = 0;
        }
        n_buffers = n_scalars = 0;
        reply("ok");
    } else {
        return 0;
    }
    return 1;
}
