// Words counted, patterns found, numbers read, distances of strings.
extern "C" __global__ void text_words(const char *s, int n, int *count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool start = i < n && s[i] != ' ' && (i == 0 || s[i - 1] == ' ');
    int c = __syncthreads_count(start);
    if (threadIdx.x == 0) atomicAdd(count, c);
}
extern "C" __global__ void text_find(const char *s, int n, const char *p, int m, int *first) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + m <= n; i += gridDim.x * blockDim.x) {
        int k = 0;
        while (k < m && s[i + k] == p[k]) k++;
        if (k == m) { atomicMin(first, i); break; }
    }
}
extern "C" __global__ void text_numbers(const char *s, const int *at, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const char *p = s + at[i];
    bool minus = *p == '-';
    if (minus) p++;
    long long v = 0;
    while (*p >= '0' && *p <= '9') v = v * 10 + (*p++ - '0');
    out[i] = minus ? -v : v;
}
extern "C" __global__ void text_distance(const char *a, const char *b, int n, int *out) {
    int row[33];
    for (int j = 0; j <= 32; j++) row[j] = j;
    for (int i = 0; i < n; i++) {
        int diagonal = row[0]++;
        for (int j = 1; j <= 32; j++) {
            int up = row[j], best = min(min(up, row[j - 1]) + 1, diagonal + (a[i] != b[j - 1]));
            diagonal = up; row[j] = best;
        }
    }
    out[threadIdx.x] = row[32];
}
