// Kernels whose shared-memory instructions a profiler counts in different ways: atomics, loops of load and swap, matrix
// operations, stores of which whole warps have no active lane. Launched with 8 blocks each, all inputs zero.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void histogram(const unsigned* in, unsigned* out) {  // 256 threads
  __shared__ unsigned bins[64];
  int t = threadIdx.x;
  if (t < 64) bins[t] = 0;
  __syncthreads();
  for (int i = 0; i < 4; i++) atomicAdd(&bins[(t * 7 + in[i]) % 64], in[i] + 1);
  __syncthreads();
  if (t < 64) out[blockIdx.x * 64 + t] = bins[t];
}

__global__ void float_sum(const float* in, float* out) {  // 128 threads
  __shared__ float s[16];
  int t = threadIdx.x;
  if (t < 16) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[t % 16], in[t]);
  __syncthreads();
  if (t < 16) out[blockIdx.x * 16 + t] = s[t];
}

__global__ void count64(const unsigned long long* in, unsigned long long* out) {  // 128 threads
  __shared__ unsigned long long s[32];
  int t = threadIdx.x;
  if (t < 32) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[(t * 5) % 32], in[t]);
  atomicMax(&s[t % 32], in[t + 1]);
  __syncthreads();
  if (t < 32) out[blockIdx.x * 32 + t] = s[t];
}

__global__ void column_half(const __half* in, __half* out) {  // 256 threads
  __shared__ __half s[64][64];
  int t = threadIdx.x;
  for (int i = 0; i < 16; i++) s[i * 4 + t / 64][t % 64] = in[i * 256 + t];
  __syncthreads();
  for (int i = 0; i < 16; i++) out[blockIdx.x * 4096 + i * 256 + t] = s[t % 64][i * 4 + t / 64];
}

__global__ void matrices(const uint4* in, unsigned* out) {  // 256 threads
  __shared__ __align__(1024) unsigned char s[8192];
  int t = threadIdx.x, l = t % 32, w = t / 32;
  for (int i = 0; i < 2; i++) ((uint4*)s)[i * 256 + t] = in[i * 256 + t];
  __syncthreads();
  unsigned base = (unsigned)__cvta_generic_to_shared(s);
  unsigned a = base + ((w % 4) * 16 + l % 16) * 128 + (w / 4) * 32 + (l / 16) * 16;
  unsigned x, y, z, q;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(q) : "r"(a));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0],{%1,%2};"
               :: "r"(base + (l % 16) * 16), "r"(x), "r"(y) : "memory");
  out[blockIdx.x * 256 + t] = x ^ y ^ z ^ q;
}
