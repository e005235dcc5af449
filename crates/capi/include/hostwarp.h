/* Hostwarp for C: run NVIDIA PTX on any CPU with the bits a GPU would give.
 *
 *   cc program.c -I. -L. -lhostwarp
 *
 * Functions answer a status, 0 if all is well; hostwarp_error() then has the whole text of what went wrong, with file, line
 * and reason. Handles are freed by the functions that end in _free, which take NULL too; what they stand for lives as long as anything
 * made from it. All functions may be called from many threads at once, as long as none of them frees what another uses.
 * Kernels reach device memory alone, except those run by ptx_run.
 */
#ifndef HOSTWARP_H
#define HOSTWARP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hostwarp_device hostwarp_device;
typedef struct hostwarp_module hostwarp_module;
typedef struct hostwarp_kernel hostwarp_kernel;
typedef struct hostwarp_buffer hostwarp_buffer;

/* The exit codes of the command hostwarp. */
typedef enum hostwarp_status {
    HOSTWARP_OK = 0,
    HOSTWARP_INPUT = 1,       /* the PTX is wrong */
    HOSTWARP_LAUNCH = 3,      /* the launch, or this call, is wrong: arguments, sizes, memory */
    HOSTWARP_FAULT = 4,       /* the kernel faulted or reached a limit */
    HOSTWARP_UNSUPPORTED = 5, /* PTX that Hostwarp does not do yet */
    HOSTWARP_BUG = 70         /* a defect of Hostwarp */
} hostwarp_status;

/* Whose bits, where the manual leaves them open. */
enum { HOSTWARP_ISA = 0, HOSTWARP_SM_90 = 90 };

/* Which engine. All give the same bits. */
enum { HOSTWARP_AUTO = 0, HOSTWARP_INTERP = 1, HOSTWARP_JIT = 2 };

/* Fields may be added at the end of structures; set size to sizeof and leave what you do not know 0. */
typedef struct hostwarp_device_options {
    size_t size;
    uint64_t memory;   /* bytes of device memory; 0: as the library chooses */
    uint32_t threads;  /* threads that run CTAs; 0: as many as cores */
    uint32_t reserved; /* 0 */
} hostwarp_device_options;

typedef struct hostwarp_launch_options {
    size_t size;
    uint32_t grid[3];     /* CTAs; 0 counts as 1 */
    uint32_t block[3];    /* threads of a CTA; 0 counts as 1, all 0: what .reqntid says */
    uint32_t shared;      /* bytes of dynamic shared memory */
    uint32_t engine;      /* HOSTWARP_AUTO ... */
    uint32_t threads;     /* 0: the device's */
    uint32_t cooperative; /* not 0: all CTAs at once, so that they can wait for each other */
    uint64_t fuel;        /* instructions, counted once per warp; 0: no limit */
    uint64_t timeout_ms;  /* 0: no limit */
} hostwarp_launch_options;

/* 1. Functions and fields are only ever added. */
uint32_t hostwarp_api_version(void);

/* The text of the last call of this thread that went wrong, until the next one does. Never NULL. */
const char *hostwarp_error(void);

/* Checks PTX. name is what messages call it. With HOSTWARP_OK hostwarp_error() has the warnings, or is empty. */
hostwarp_status hostwarp_check(const char *name, const char *ptx, size_t length);

/* options may be NULL. */
hostwarp_status hostwarp_device_new(const hostwarp_device_options *options, hostwarp_device **out);
void hostwarp_device_free(hostwarp_device *device);

/* What kernels have printed since this was last asked, of at most room - 1 bytes and a NUL; answers how many there were. */
size_t hostwarp_device_printed(hostwarp_device *device, char *to, size_t room);

hostwarp_status hostwarp_module_load(hostwarp_device *device, const char *name, const char *ptx, size_t length, uint32_t profile,
                                     hostwarp_module **out);
void hostwarp_module_free(hostwarp_module *module);
size_t hostwarp_module_kernel_count(const hostwarp_module *module);
/* NULL behind the last one. Lives as long as the module. */
const char *hostwarp_module_kernel_name(const hostwarp_module *module, size_t index);

hostwarp_status hostwarp_kernel_get(const hostwarp_module *module, const char *name, hostwarp_kernel **out);
void hostwarp_kernel_free(hostwarp_kernel *kernel);
size_t hostwarp_kernel_param_count(const hostwarp_kernel *kernel);
size_t hostwarp_kernel_param_size(const hostwarp_kernel *kernel, size_t index);

/* size zeros in device memory. name, which messages about bad addresses use, may be NULL. */
hostwarp_status hostwarp_buffer_new(hostwarp_device *device, size_t size, const char *name, hostwarp_buffer **out);
void hostwarp_buffer_free(hostwarp_buffer *buffer);
/* What a kernel is given: a value of 8 bytes. */
uint64_t hostwarp_buffer_address(const hostwarp_buffer *buffer);
hostwarp_status hostwarp_buffer_write(hostwarp_buffer *buffer, size_t at, const void *data, size_t bytes);
hostwarp_status hostwarp_buffer_read(const hostwarp_buffer *buffer, size_t at, void *data, size_t bytes);

/* Runs the kernel and waits for it. args[i] points to the value of parameter i, of that parameter's size. */
hostwarp_status hostwarp_launch(const hostwarp_kernel *kernel, const hostwarp_launch_options *options, const void *const *args,
                                size_t count);

/* What programs written for gpuocelot call (the library is installed as libgpuocelot.so too). Runs the first kernel of the text; args[i] is the
 * VALUE of parameter i, widened to 64 bits; pointers are pointers to this process's memory, which the kernel reads and writes in place,
 * unchecked but for whether anything is there. One call at a time. Linux only. */
int ptx_run(const char *source, int n_args, void **args, int block_x, int block_y, int block_z, int grid_x, int grid_y, int grid_z,
            int shared_bytes);

#ifdef __cplusplus
}
#endif
#endif
