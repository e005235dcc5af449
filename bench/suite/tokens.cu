#include "suite.h"
// A state machine over m letters for each thread: words, numbers, strings with escapes and comments are counted.
enum State { SPACE, WORD, NUMBER, STRING, ESCAPE, COMMENT };
HD unsigned tokens_of(const unsigned char *text, int m) {
    State state = SPACE;
    unsigned words = 0, numbers = 0, strings = 0, comments = 0;
    for (int k = 0; k < m; k++) {
        unsigned char c = text[k] & 127;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_', digit = c >= '0' && c <= '9';
    again:
        switch (state) {
        case SPACE:
            if (letter) { state = WORD; words++; }
            else if (digit) { state = NUMBER; numbers++; }
            else if (c == '"') { state = STRING; strings++; }
            else if (c == '#') { state = COMMENT; comments++; }
            break;
        case WORD: if (!letter && !digit) { state = SPACE; goto again; } break;
        case NUMBER: if (!digit && c != '.') { state = SPACE; goto again; } break;
        case STRING: if (c == '\\') state = ESCAPE; else if (c == '"') state = SPACE; break;
        case ESCAPE: state = STRING; break;
        case COMMENT: if (c < 16) state = SPACE; break;
        }
    }
    return words | numbers << 8 | strings << 16 | comments << 24;
}
#ifdef __CUDACC__
KERNEL(tokens)(const unsigned char *a, const int *b, unsigned *out, int n, int m) {
    EACH(i, n) out[i] = tokens_of(a + i * m, m);
}
#else
REFERENCE(tokens)(const unsigned char *a, const int *b, unsigned *out, int n, int m) {
    for (int i = 0; i < n; i++) out[i] = tokens_of(a + (long)i * m, m);
}
#endif
