// out: box 1
// out: peer 1
// out: fill 1
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(error_)); exit(1); } } while (0)

int main() {
    const int w = 10, h = 6, z = 4; cudaStream_t s; CHECK(cudaStreamCreate(&s));
    unsigned char *host, *back; CHECK(cudaMallocHost(&host, w * h * z)); CHECK(cudaMallocHost(&back, w * h * z));
    for (int i = 0; i < w * h * z; i++) host[i] = i, back[i] = 255;
    cudaPitchedPtr d; CHECK(cudaMalloc3D(&d, make_cudaExtent(w, h, z))); CHECK(cudaMemset3D(d, 7, make_cudaExtent(w, h, z)));
    // A box out of the middle goes to another place of the middle.
    cudaMemcpy3DParms c = {}; c.srcPtr = make_cudaPitchedPtr(host, w, w, h); c.srcPos = make_cudaPos(2, 1, 1); c.dstPtr = d; c.dstPos = make_cudaPos(3, 2, 0);
    c.extent = make_cudaExtent(4, 3, 2); c.kind = cudaMemcpyHostToDevice; CHECK(cudaMemcpy3DAsync(&c, s));
    cudaMemcpy3DParms r = {}; r.srcPtr = d; r.dstPtr = make_cudaPitchedPtr(back, w, w, h); r.extent = make_cudaExtent(w, h, z); r.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&r, s)); CHECK(cudaStreamSynchronize(s));
    bool box = true, fill = true;
    for (int k = 0; k < z; k++) for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
        bool in = x >= 3 && x < 7 && y >= 2 && y < 5 && k < 2; unsigned char got = back[(k * h + y) * w + x];
        if (in) box = box && got == (unsigned char)(((k + 1) * h + y - 1) * w + x - 1); else fill = fill && got == 7;
    }
    printf("box %d\n", box);
    cudaPitchedPtr e; CHECK(cudaMalloc3D(&e, make_cudaExtent(w, h, z)));
    cudaMemcpy3DPeerParms p = {}; p.srcPtr = d; p.dstPtr = e; p.extent = make_cudaExtent(w, h, z); CHECK(cudaMemcpy3DPeerAsync(&p, s));
    for (int i = 0; i < w * h * z; i++) back[i] = 0;
    r.srcPtr = e; CHECK(cudaMemcpy3DAsync(&r, s)); CHECK(cudaStreamSynchronize(s));
    printf("peer %d\nfill %d\n", back[2 * w + 3] == (unsigned char)((h + 1) * w + 2), fill);
}
