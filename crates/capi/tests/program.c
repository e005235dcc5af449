/* Compiled and run by c.rs: exits 0 if everything in hostwarp.h does what it says. */
#include "hostwarp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "line %d: %s\n%s\n", __LINE__, #condition, hostwarp_error());       \
            return 1;                                                                           \
        }                                                                                       \
    } while (0)

static const char *PTX =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry scale(.param .u64 data, .param .f32 by, .param .u32 n) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<4>; .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [data]; ld.param.f32 %f1, [by]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "  mad.lo.u32 %r2, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %p, %r2, %r1; @%p ret;\n"
    "  cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  ld.global.f32 %f2, [%rd3]; mul.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3;\n"
    "  ret;\n}\n";

static int api(uint32_t engine) {
    enum { N = 1000 };
    hostwarp_device *device;
    hostwarp_module *module, *none = NULL;
    hostwarp_kernel *kernel;
    hostwarp_buffer *buffer;
    hostwarp_device_options settings = {.size = sizeof settings, .memory = 64 << 20, .threads = 2};
    CHECK(hostwarp_api_version() == 1);
    CHECK(hostwarp_check("scale.ptx", PTX, strlen(PTX)) == HOSTWARP_OK);
    CHECK(hostwarp_device_new(&settings, &device) == HOSTWARP_OK);
    CHECK(hostwarp_module_load(device, "bad.ptx", "nonsense", 8, HOSTWARP_ISA, &none) == HOSTWARP_INPUT && !none);
    CHECK(strstr(hostwarp_error(), "bad.ptx:1"));
    CHECK(hostwarp_module_load(device, "scale.ptx", PTX, strlen(PTX), HOSTWARP_ISA, &module) == HOSTWARP_OK);
    CHECK(hostwarp_module_kernel_count(module) == 1 && !strcmp(hostwarp_module_kernel_name(module, 0), "scale"));
    CHECK(!hostwarp_module_kernel_name(module, 1));
    CHECK(hostwarp_kernel_get(module, "scall", &kernel) == HOSTWARP_LAUNCH && strstr(hostwarp_error(), "`scale`"));
    CHECK(hostwarp_kernel_get(module, "scale", &kernel) == HOSTWARP_OK);
    CHECK(hostwarp_kernel_param_count(kernel) == 3 && hostwarp_kernel_param_size(kernel, 1) == 4);
    CHECK(hostwarp_buffer_new(device, N * sizeof(float), "data", &buffer) == HOSTWARP_OK);
    float values[N], by = 3;
    for (int i = 0; i < N; i++) values[i] = i;
    CHECK(hostwarp_buffer_write(buffer, 0, values, sizeof values) == HOSTWARP_OK);
    CHECK(hostwarp_buffer_read(buffer, 4, values, sizeof values) == HOSTWARP_LAUNCH);
    uint64_t address = hostwarp_buffer_address(buffer);
    uint32_t n = N;
    const void *args[] = {&address, &by, &n};
    hostwarp_launch_options launch = {.size = sizeof launch, .grid = {8}, .block = {128}, .engine = engine};
    hostwarp_status ran = hostwarp_launch(kernel, &launch, args, 3);
    if (engine == HOSTWARP_JIT && ran == HOSTWARP_UNSUPPORTED) return 0; /* no libLLVM here */
    CHECK(ran == HOSTWARP_OK);
    CHECK(hostwarp_buffer_read(buffer, 0, values, sizeof values) == HOSTWARP_OK);
    for (int i = 0; i < N; i++) CHECK(values[i] == 3.0f * i);
    CHECK(hostwarp_launch(kernel, &launch, args, 2) == HOSTWARP_LAUNCH && strstr(hostwarp_error(), "3 parameters"));
    CHECK(hostwarp_launch(NULL, &launch, args, 3) == HOSTWARP_LAUNCH && strstr(hostwarp_error(), "NULL"));
    n = N + 24; /* past the end */
    CHECK(hostwarp_launch(kernel, &launch, args, 3) == HOSTWARP_FAULT && strstr(hostwarp_error(), "`data`"));
    address = (uint64_t)(uintptr_t)values, n = 1; /* the host's memory is out of reach here */
    CHECK(hostwarp_launch(kernel, &launch, args, 3) == HOSTWARP_FAULT);
    launch.size = 0;
    CHECK(hostwarp_launch(kernel, &launch, args, 3) == HOSTWARP_LAUNCH && strstr(hostwarp_error(), "sizeof"));
    hostwarp_buffer_free(buffer);
    hostwarp_kernel_free(kernel);
    hostwarp_module_free(module);
    hostwarp_device_free(device);
    return 0;
}

/* Loads one address from memory and stores through it: pointers need not be arguments. */
static const char *INDIRECT =
    ".version 7.0\n.target sm_35\n.address_size 64\n"
    ".global .u32 counter;\n"
    ".visible .entry through(.param .u64 at, .param .u32 value) {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [value];\n"
    "  ld.u64 %rd2, [%rd1]; atom.global.add.u32 %r2, [counter], 1; add.u32 %r1, %r1, %r2; st.u32 [%rd2], %r1;\n"
    "  ret;\n}\n";

static int raw(void) {
    for (int round = 0; round < 3; round++) {
        /* From the heap and mapped by itself; on the stack; large enough for compiled code to take over. */
        int sizes[] = {10, 1000, 300000, 5000000};
        for (int s = 0; s < 4; s++) {
            int n = sizes[s];
            float *x = malloc(n * sizeof *x), by = 2;
            for (int i = 0; i < n; i++) x[i] = i;
            uint64_t bits = 0;
            memcpy(&bits, &by, 4);
            void *args[] = {x, (void *)(uintptr_t)bits, (void *)(uintptr_t)n};
            CHECK(ptx_run(PTX, 3, args, 256, 1, 1, (n + 255) / 256, 1, 1, 0) == 0);
            for (int i = 0; i < n; i++) CHECK(x[i] == 2.0f * i);
            free(x);
        }
        static uint32_t global;
        uint32_t local = 0, *where = round == 1 ? &global : &local;
        void *args[] = {&where, (void *)(uintptr_t)40};
        CHECK(ptx_run(INDIRECT, 2, args, 1, 1, 1, 1, 1, 1, 0) == 0);
        CHECK(*where == 40u + round);
    }
    /* Nothing there, read-only, null: errors, no crash. */
    uint64_t bits = 0;
    void *nowhere[] = {(void *)0x123456789000, (void *)"constant", NULL};
    for (int i = 0; i < 3; i++) {
        void *args[] = {(void *)((uintptr_t)nowhere[i] & ~(uintptr_t)3), (void *)(uintptr_t)bits, (void *)1};
        CHECK(ptx_run(PTX, 3, args, 1, 1, 1, 1, 1, 1, 0) == HOSTWARP_FAULT);
    }
    CHECK(ptx_run(PTX, 2, nowhere, 1, 1, 1, 1, 1, 1, 0) == HOSTWARP_LAUNCH);
    CHECK(ptx_run("nonsense", 0, NULL, 1, 1, 1, 1, 1, 1, 0) == HOSTWARP_INPUT);
    return 0;
}

int main(void) { return api(HOSTWARP_INTERP) || api(HOSTWARP_JIT) || raw(); }
