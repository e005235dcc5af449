// Spheres seen by rays; a Mandelbrot set; n bodies.
struct Ray { float3 o, d; };
__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ bool hit(const Ray &r, float4 s, float &t) {
    float3 o = make_float3(r.o.x - s.x, r.o.y - s.y, r.o.z - s.z);
    float b = dot(o, r.d), d = b * b - dot(o, o) + s.w * s.w;
    if (d < 0) return false;
    d = sqrtf(d);
    t = -b - d;
    return t > 1e-4f;
}
extern "C" __global__ void rays_spheres(const float4 *spheres, int count, float *image, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float u = 2.0f * x / w - 1, v = 2.0f * y / h - 1, n = rsqrtf(u * u + v * v + 1);
    Ray r = {make_float3(0, 0, -3), make_float3(u * n, v * n, n)};
    float near = 1e30f;
    for (int i = 0; i < count; i++) { float t; if (hit(r, spheres[i], t) && t < near) near = t; }
    image[y * w + x] = near < 1e30f ? expf(-near) : 0;
}
extern "C" __global__ void rays_mandelbrot(int *out, int w, float x0, float y0, float step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float cx = x0 + i % w * step, cy = y0 + i / w * step, x = 0, y = 0;
    int n = 0;
    for (; n < 256 && x * x + y * y < 4; n++) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; }
    out[i] = n;
}
extern "C" __global__ void rays_bodies(const float4 *p, float4 *v, int n, float dt) {
    __shared__ float4 s[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = p[i]; float ax = 0, ay = 0, az = 0;
    for (int k = 0; k < n; k += 128) {
        s[threadIdx.x] = p[k + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 128; j++) {
            float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = s[j].w * r * r * r;
            ax += dx * f; ay += dy * f; az += dz * f;
        }
        __syncthreads();
    }
    float4 q = v[i]; q.x += ax * dt; q.y += ay * dt; q.z += az * dt; v[i] = q;
}
