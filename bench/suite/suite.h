// Every kernel of the suite takes the same parameters: two inputs, an output, two numbers. Its reference does the same work as a C programmer would write it.
#pragma once
#ifdef __CUDACC__
#define KERNEL(name) extern "C" __global__ void name
#else
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#endif
#define REFERENCE(name) extern "C" void name##_reference
