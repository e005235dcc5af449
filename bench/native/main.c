// Runs native kernels on threads: `run NAME UNITS GRAIN THREADS REPEAT`. Threads take GRAIN units at a time, so that uneven
// work is shared out as evenly as Hostwarp does it.
#include "protocol.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

typedef void Kernel(void *const *, const uint32_t *, size_t, size_t);

static Kernel *kernel;
static size_t units, grain;
static atomic_size_t next;

static void *work(void *unused) {
    for (;;) {
        size_t from = atomic_fetch_add(&next, grain);
        if (from >= units) return unused;
        kernel(buffers, scalars, from, from + grain < units ? from + grain : units);
    }
}

static void run(int threads) {
    pthread_t others[64];
    atomic_store(&next, 0);
    for (int i = 0; i < threads - 1; i++)
        if (pthread_create(&others[i], NULL, work, NULL)) exit(4);
    work(NULL);
    for (int i = 0; i < threads - 1; i++) pthread_join(others[i], NULL);
}

int main(void) {
    char line[256], name[64];
    int threads, repeat;
    while (fgets(line, sizeof line, stdin)) {
        if (common(line)) continue;
        if (sscanf(line, "run %63s %zu %zu %d %d", name, &units, &grain, &threads, &repeat) != 5 || threads > 64) return 1;
        *(void **)&kernel = dlsym(RTLD_DEFAULT, name);
        if (!kernel) {
            reply("none");
            continue;
        }
        uint64_t began = now();
        while (repeat--) run(threads);
        printf("%llu\n", (unsigned long long)(now() - began));
        fflush(stdout);
    }
    return 0;
}
