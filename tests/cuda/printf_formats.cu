// out: -42 +42 00042 ff FF 0x2a 52 %
// out:  3.142|3.142   |+3.1416e+00|0.1|1e+10
// out: c str  pad|left  |ab
// out: -9000000000 18446744073709551615 ffffffffff
// out: 7 8 9
// out: 1.500000 2 -3
// out: (null?) 0
// out: *   5*
// out: count 20
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

__global__ void k(const char* none) {
    printf("%d %+d %05d %x %X %#x %o %%\n", -42, 42, 42, 255, 255, 42, 42);
    printf("%6.3f|%-8.3f|%+.4e|%g|%g\n", 3.14159, 3.14159, 3.14159, 0.1, 1e10);
    printf("%c %s %4s|%-6s|%.2s\n", 'c', "str", "pad", "left", "abc");
    printf("%lld %llu %llx\n", -9000000000ll, 18446744073709551615ull, 0xffffffffffull);
    printf("%hhd %hd %ld\n", (char)7, (short)8, 9l);
    float f = 1.5f; double d = 2; printf("%f %.0f %i\n", f, d, -3);
    printf("%s %d\n", "(null?)", 0);
    printf("*%*d*\n", 4, 5);
    int n = printf("count %d\n", 20); if (n < 0) printf("negative\n");
}
int main() { k<<<1, 1>>>(nullptr); CHECK(cudaDeviceSynchronize()); }
