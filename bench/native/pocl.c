// Runs OpenCL kernels on the first CPU device: `source BYTES`, then the text; `run NAME X Y Z CX CY CZ REPEAT` with the size of
// the grid in threads and of a group. Buffers are arguments first, then scalars.
#define CL_TARGET_OPENCL_VERSION 120
#include "protocol.h"
#include <CL/cl.h>

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static cl_program program;
static cl_mem memory[BUFFERS];

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "pocl: %s failed: %d\n", what, status);
        exit(5);
    }
}

static void start(void) {
    cl_platform_id platforms[8];
    cl_uint n = 0;
    cl_int status = CL_DEVICE_NOT_FOUND;
    check(clGetPlatformIDs(8, platforms, &n), "clGetPlatformIDs");
    for (cl_uint i = 0; i < n && status != CL_SUCCESS; i++)
        status = clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL);
    check(status, "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
}

static void build(size_t bytes) {
    char *text = malloc(bytes);
    const char *texts[] = {text};
    cl_int status;
    receive(text, bytes);
    if (program) clReleaseProgram(program);
    program = clCreateProgramWithSource(context, 1, texts, &bytes, &status);
    check(status, "clCreateProgramWithSource");
    free(text);
    status = clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (status != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    reply(status == CL_SUCCESS ? "ok" : "none");
}

// The device is the host: buffers stay where they are.
static void forget(void) {
    for (int i = 0; i < BUFFERS; i++) {
        if (memory[i]) clReleaseMemObject(memory[i]);
        memory[i] = NULL;
    }
}

static void run(const char *name, const size_t *grid, const size_t *group, int repeat) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    if (status != CL_SUCCESS) {
        reply("none");
        return;
    }
    for (int i = 0; i < n_buffers; i++) {
        if (!memory[i]) {
            memory[i] =
                clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizes[i], buffers[i], &status);
            check(status, "clCreateBuffer");
        }
        check(clSetKernelArg(kernel, (cl_uint)i, sizeof memory[i], &memory[i]), "clSetKernelArg");
    }
    for (int i = 0; i < n_scalars; i++)
        check(clSetKernelArg(kernel, (cl_uint)(n_buffers + i), 4, &scalars[i]), "clSetKernelArg");
    uint64_t began = now();
    while (repeat--) {
        check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, grid, group, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        check(clFinish(queue), "clFinish");
    }
    printf("%llu\n", (unsigned long long)(now() - began));
    fflush(stdout);
    clReleaseKernel(kernel);
}

int main(void) {
    char line[256], name[64];
    size_t g[3], l[3], bytes;
    int repeat;
    start();
    while (fgets(line, sizeof line, stdin)) {
        // New contents or none: the buffer made of the old ones has to go.
        if (strncmp(line, "buffer", 6) == 0 || strncmp(line, "clear", 5) == 0) forget();
        if (common(line)) continue;
        if (sscanf(line, "source %zu", &bytes) == 1) {
            build(bytes);
        } else if (sscanf(line, "run %63s %zu %zu %zu %zu %zu %zu %d", name, &g[0], &g[1], &g[2], &l[0], &l[1], &l[2],
                          &repeat) == 8) {
            run(name, g, l, repeat);
        } else {
            return 1;
        }
    }
    return 0;
}
