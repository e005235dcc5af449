// A program of csmith's as a kernel, or on the host once for each lane.
#define main program
#include PROGRAM
#undef main
#undef printf

#ifdef __NVPTX__
__attribute__((nvptx_kernel)) void run(uint64_t *out) {
    note((uint64_t)program());
    out[lane()] = sums[lane()];
}
#else
#include <stdio.h>
unsigned current_lane;
int main(void) {
    for (; current_lane < LANES; current_lane++) {
        note((uint64_t)program());
        fwrite(&sums[current_lane], 8, 1, stdout);
    }
}
#endif
