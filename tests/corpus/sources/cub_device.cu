#include <cub/cub.cuh>
void instantiate(void *t, size_t n, int *a, int *b, float *f, unsigned *k) {
    cub::DeviceReduce::Sum(t, n, a, b, 100);
    cub::DeviceScan::ExclusiveSum(t, n, f, f, 100);
    cub::DeviceHistogram::HistogramEven(t, n, f, b, 16, 0.0f, 1.0f, 100);
}
