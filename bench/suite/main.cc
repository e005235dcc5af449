// Runs the reference of one kernel, compiled with -DNAME=… and its file: `native A B OUT KINDS N M SECONDS`, the three in elements.
// Prints the least time in nanoseconds and a hash of the output.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOIN(a, b) a##b
#define REFERENCE_OF(name) JOIN(name, _reference)
extern "C" void REFERENCE_OF(NAME)(const void *, const void *, void *, int, int);

static size_t size(char kind) { return kind == 'b' ? 1 : kind == 'h' ? 2 : kind == 'd' || kind == 'l' ? 8 : 4; }
static void *space(size_t bytes) { return aligned_alloc(4096, (bytes + 4096) / 4096 * 4096); }

// Floats from -1.5 to 1.5, or any words.
static void *fill(size_t elements, char kind, uint64_t seed) {
    size_t bytes = elements * size(kind), piece = kind == 'd' ? 8 : 4;
    char *out = (char *)space(bytes + 8);
    for (size_t i = 0; i + piece <= bytes; i += piece) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t word = (uint32_t)(seed >> 32);
        float f = (float)(word >> 8) * (3.0f / 16777216.0f) - 1.5f;
        double d = f;
        memcpy(out + i, kind == 'd' ? (void *)&d : kind == 'f' ? (void *)&f : (void *)&word, piece);
    }
    return out;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 8) return 2;
    const char *kinds = argv[4];
    void *a = fill(strtoull(argv[1], 0, 10), kinds[0], 1), *b = fill(strtoull(argv[2], 0, 10), kinds[1], 2);
    size_t bytes = strtoull(argv[3], 0, 10) * size(kinds[2]);
    unsigned char *out = (unsigned char *)space(bytes);
    int n = atoi(argv[5]), m = atoi(argv[6]);
    double least = 1e30, began = now();
    do {
        memset(out, 0, bytes);
        double start = now();
        REFERENCE_OF(NAME)(a, b, out, n, m);
        double took = now() - start;
        if (took < least) least = took;
    } while (now() - began < atof(argv[7]) * 1e9);
    // PTX has one NaN of f32, C's are as the CPU has them.
    for (size_t i = 0; kinds[2] == 'f' && i + 4 <= bytes; i += 4) {
        float f;
        memcpy(&f, out + i, 4);
        if (f != f) memcpy(out + i, "\xff\xff\xff\x7f", 4);
    }
    for (size_t i = 0; kinds[2] == 'd' && i + 8 <= bytes; i += 8) {
        double d;
        memcpy(&d, out + i, 8);
        if (d != d) memset(out + i, 0xff, 8);
    }
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ out[i]) * 0x100000001b3ull;
    printf("%.0f %llu\n", least, (unsigned long long)hash);
    return 0;
}
