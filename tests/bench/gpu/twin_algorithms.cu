// SPDX-License-Identifier: Apache-2.0
// The algorithms of algorithms.cpp by CUB, compiled together with twin.cu. Scratch memory is allocated once,
// before anything is timed.
#include <cstdint>
#include <cub/cub.cuh>

namespace {

using Word = std::uint32_t;

struct Scratch {
  void* memory = nullptr;
  std::size_t bytes = 0;

  cudaError_t reserve(std::size_t wanted) {
    if (wanted <= bytes) return cudaSuccess;
    cudaFree(memory);
    memory = nullptr;
    bytes = 0;
    const cudaError_t result = cudaMalloc(&memory, wanted);
    if (result == cudaSuccess) bytes = wanted;
    return result;
  }
};

/// `call(memory, bytes)` is a function of CUB, which says how much memory it needs if `memory` is null.
template <class Call>
int with_scratch(Call call) {
  static Scratch scratch;  // of one kind of call
  std::size_t needed = 0;
  if (const cudaError_t result = call(nullptr, needed); result != cudaSuccess) return result;
  if (const cudaError_t result = scratch.reserve(needed); result != cudaSuccess) return result;
  return call(scratch.memory, needed);
}

struct IsNonzero {
  __device__ bool operator()(unsigned char flag) const { return flag != 0; }
};

}  // namespace

#define TWIN extern "C" __attribute__((visibility("default"))) int

// Copies the keys to `result` and sorts them there.
TWIN twin_sort(int variant, Word* result, Word* spare, const Word* keys, long n, cudaStream_t stream) {
  if (variant != 0) return -1;
  cudaMemcpyAsync(result, keys, n * sizeof(Word), cudaMemcpyDeviceToDevice, stream);
  cub::DoubleBuffer<Word> buffer(result, spare);
  return with_scratch([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, buffer, n, 0, 32, stream);
  });
}

TWIN twin_sort_by_key(int variant, Word* result, Word* spare, Word* values, Word* spare_values,
                      const Word* keys, const Word* unsorted, long n, cudaStream_t stream) {
  if (variant != 0) return -1;
  cudaMemcpyAsync(result, keys, n * sizeof(Word), cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(values, unsorted, n * sizeof(Word), cudaMemcpyDeviceToDevice, stream);
  cub::DoubleBuffer<Word> buffer(result, spare), moved(values, spare_values);
  return with_scratch([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, buffer, moved, n, 0, 32, stream);
  });
}

TWIN twin_exclusive_scan(int variant, Word* result, const Word* x, long n, cudaStream_t stream) {
  if (variant != 0) return -1;
  return with_scratch([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, x, result, n, stream);
  });
}

TWIN twin_compact(int variant, Word* result, std::int64_t* count, const Word* x, const unsigned char* keep,
                  long n, cudaStream_t stream) {
  if (variant != 0) return -1;
  return with_scratch([&](void* memory, std::size_t& bytes) {
    return cub::DeviceSelect::FlaggedIf(memory, bytes, x, keep, result, count, n, IsNonzero{}, stream);
  });
}

TWIN twin_histogram_of_range(int variant, std::int64_t* counts, const Word* x, int bins, double low,
                             double high, long n, cudaStream_t stream) {
  if (variant != 0) return -1;
  return with_scratch([&](void* memory, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(
        memory, bytes, x, reinterpret_cast<unsigned long long*>(counts), bins + 1, low, high, n, stream);
  });
}

TWIN twin_reduce_by_key(int variant, Word* result_keys, Word* result_values, std::int64_t* count,
                        const Word* keys, const Word* values, long n, cudaStream_t stream) {
  if (variant != 0) return -1;
  return with_scratch([&](void* memory, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(memory, bytes, keys, result_keys, values, result_values, count,
                                          cuda::std::plus<>{}, n, stream);
  });
}
