#include "suite.h"
// An interpreter of byte code: a stack, jumps, sixteen instructions. Every thread runs the same program on other data, or another if m says so.
HD unsigned execute(const unsigned char *code, unsigned x, int most) {
    unsigned stack[8] = {0}, y = 1;
    int top = 0, pc = 0;
    for (int step = 0; step < most; step++) {
        unsigned char op = code[pc & 63];
        pc++;
        switch (op & 15) {
        case 0: stack[top++ & 7] = x; break;
        case 1: stack[top++ & 7] = op >> 4; break;
        case 2: top--; y = stack[top & 7]; break;
        case 3: x += y; break;
        case 4: x ^= y << 3; break;
        case 5: y -= x; break;
        case 6: x = x * 31 + 7; break;
        case 7: if (x & 1) pc += op >> 4; break;
        case 8: if ((int)y > (int)x) pc -= op >> 5; break;
        case 9: stack[top & 7] ^= y; break;
        case 10: y = y >> 1 ^ x; break;
        case 11: x = (int)x / ((int)(y & 15) + 1); break;
        case 12: { unsigned t = x; x = y; y = t; break; }
        case 13: x -= stack[(top + 3) & 7]; break;
        case 14: pc = x & 63; break;
        default: if ((op >> 4) == 15 && (x & 255) == 0) return x + step; y++;
        }
        if (top < 0) top = 0;
    }
    return x ^ y;
}
#ifdef __CUDACC__
KERNEL(vm)(const unsigned *a, const unsigned char *b, unsigned *out, int n, int m) {
    EACH(i, n) out[i] = execute(b + (i % m) * 64, a[i], 100);
}
#else
REFERENCE(vm)(const unsigned *a, const unsigned char *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = execute(b + (i % m) * 64, a[i], 100);
}
#endif
