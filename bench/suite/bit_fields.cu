#include "suite.h"
// Packed records: fields of bits, a union of word and bytes, structures by value.
struct Packet { unsigned kind : 3, length : 9, urgent : 1; int delta : 7; unsigned check : 12; };
union Word { unsigned word; unsigned char bytes[4]; Packet packet; };
struct Sums { unsigned total, most; short deltas; bool urgent; };
HD Packet next(Packet p, unsigned x) {
    p.length = p.length + x;
    p.delta = p.kind & 1 ? -(int)p.delta : p.delta + 3;
    p.kind++;
    p.urgent ^= p.length > 100;
    p.check = p.check * 5 + p.length;
    return p;
}
HD Sums add(Sums s, Word w) {
    for (int i = 0; i < 4; i++) s.total += w.bytes[i];
    s.most = s.most > w.packet.length ? s.most : w.packet.length;
    s.deltas += w.packet.delta;
    s.urgent = s.urgent != (bool)w.packet.urgent;
    return s;
}
HD unsigned record(unsigned x, int m) {
    Word w;
    w.word = x;
    Sums s = {0, 0, 0, false};
    for (int k = 0; k < m; k++) { s = add(s, w); w.packet = next(w.packet, x >> (k & 31)); }
    return s.total ^ s.most << 12 ^ (unsigned)(unsigned short)s.deltas << 16 ^ s.urgent;
}
#ifdef __CUDACC__
KERNEL(bit_fields)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    EACH(i, n) out[i] = record(a[i], m);
}
#else
REFERENCE(bit_fields)(const unsigned *a, const unsigned *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = record(a[i], m);
}
#endif
