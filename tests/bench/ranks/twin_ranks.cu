// SPDX-License-Identifier: Apache-2.0
// The peers of weir-bench-ranks, written by hand: NCCL as nccl-tests calls it, and a stencil over several
// devices of one process. tests/gpu-proof compiles it on the machine with the GPUs:
//
//   nvcc -O3 -std=c++20 -arch=native -shared -Xcompiler -fPIC -o libweir-bench-twin-ranks.so twin_ranks.cu -lnccl
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Failure {
  int code;
};

void check(cudaError_t code) {
  if (code != cudaSuccess) throw Failure{code};
}
void check(ncclResult_t code) {
  if (code != ncclSuccess) throw Failure{1000 + code};
}

/// Runs body(device) on a thread for each device. Throws the first failure.
void on_all(int ranks, const std::function<void(int)>& body) {
  std::vector<int> codes(ranks, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        check(cudaSetDevice(rank));
        body(rank);
      } catch (const Failure& failure) {
        codes[rank] = failure.code;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int code : codes)
    if (code != 0) throw Failure{code};
}

/// Seconds from a common start until the streams of all devices have ended, for each of `repeats` calls of
/// submit(device).
double timed(const std::vector<cudaStream_t>& streams, int repeats, const std::function<void(int, int)>& submit) {
  const int ranks = static_cast<int>(streams.size());
  std::barrier meet(ranks);
  std::vector<double> seconds(ranks);
  on_all(ranks, [&](int rank) {
    check(cudaStreamSynchronize(streams[rank]));
    meet.arrive_and_wait();
    const double begin = now();
    for (int i = 0; i < repeats; ++i) submit(rank, i);
    check(cudaStreamSynchronize(streams[rank]));
    seconds[rank] = now() - begin;
  });
  return *std::max_element(seconds.begin(), seconds.end()) / repeats;
}

std::vector<cudaStream_t> make_streams(int ranks) {
  std::vector<cudaStream_t> streams(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    check(cudaSetDevice(rank));
    check(cudaStreamCreateWithFlags(&streams[rank], cudaStreamNonBlocking));
  }
  return streams;
}

/// The current device of the calling thread, restored at the end.
struct KeepDevice {
  KeepDevice() { cudaGetDevice(&device); }
  ~KeepDevice() { cudaSetDevice(device); }
  int device = 0;
};

// --- all_reduce

struct Nccl {
  explicit Nccl(int ranks) : comms(ranks), streams(make_streams(ranks)) {
    check(ncclCommInitAll(comms.data(), ranks, nullptr));
  }
  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
};

double all_reduce(int variant, int ranks, long bytes, double sample_seconds) {
  static Nccl& nccl = *new Nccl(ranks);  // never destroyed: the library may end first
  if (static_cast<int>(nccl.comms.size()) != ranks) throw Failure{-3};
  const std::size_t count = bytes / sizeof(float);
  static std::vector<float*> buffers(ranks, nullptr);
  static long allocated = 0;
  if (allocated < bytes) {
    for (int rank = 0; rank < ranks; ++rank) {
      check(cudaSetDevice(rank));
      check(cudaFree(buffers[rank]));
      check(cudaMalloc(&buffers[rank], bytes));
    }
    allocated = bytes;
  }
  const auto reduce = [&](int rank) {
    check(ncclAllReduce(buffers[rank], buffers[rank], count, ncclFloat, ncclSum, nccl.comms[rank],
                        nccl.streams[rank]));
  };
  const auto grouped = [&] {
    check(ncclGroupStart());
    for (int rank = 0; rank < ranks; ++rank) reduce(rank);
    check(ncclGroupEnd());
  };
  const auto run = [&](int repeats) {
    if (variant == 1) return timed(nccl.streams, repeats, [&](int rank, int) { reduce(rank); });
    for (const cudaStream_t stream : nccl.streams) check(cudaStreamSynchronize(stream));
    const double begin = now();
    for (int i = 0; i < repeats; ++i) grouped();
    for (const cudaStream_t stream : nccl.streams) check(cudaStreamSynchronize(stream));
    return (now() - begin) / repeats;
  };
  // One sum of known numbers, then zeros, so that repeated sums stay finite.
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values(count, static_cast<float>(rank + 1));
    check(cudaSetDevice(rank));
    check(cudaMemcpy(buffers[rank], values.data(), bytes, cudaMemcpyHostToDevice));
  }
  run(1);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float> values(count);
    check(cudaSetDevice(rank));
    check(cudaMemcpy(values.data(), buffers[rank], bytes, cudaMemcpyDeviceToHost));
    for (const float value : values)
      if (value != static_cast<float>(ranks * (ranks + 1) / 2)) throw Failure{-2};
    check(cudaMemset(buffers[rank], 0, bytes));
    check(cudaDeviceSynchronize());
  }
  run(4);
  return run(std::clamp(static_cast<int>(sample_seconds / run(4)), 4, 4000));
}

// --- stencil

constexpr int threads = 256, rows_each = 8;

/// The places where the devices tell each other that border rows are finished.
struct Flags {
  unsigned *from_above = nullptr, *from_below = nullptr;  // counters here, that the neighbours increment
  unsigned *to_above = nullptr, *to_below = nullptr;      // counters of the neighbours
  unsigned* base = nullptr;                               // steps before the current graph
};

__device__ void wait_for(unsigned* counter, unsigned target) {
  if (threadIdx.x == 0) {
    unsigned value;
    do {
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    } while (static_cast<int>(value - target) < 0);
  }
  __syncthreads();
}

__device__ void signal(unsigned* counter) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    atomicAdd_system(counter, 1u);
  }
}

/// Rows [first, last) of `rows` owned rows; `above` and `below` are the neighbours' rows, null at the edges of
/// the whole array, where the first or last row keeps its values.
template <bool WithFlags>
__global__ void sweep(float* __restrict__ out, const float* in, int rows, int columns, int first, int last,
                      const float* above, const float* below, Flags flags, unsigned step) {
  const bool top = WithFlags && blockIdx.y == 0 && above, bottom = WithFlags && blockIdx.y + 1 == gridDim.y && below;
  if (WithFlags) {
    const unsigned target = (*flags.base + step) * gridDim.x;
    if (top) wait_for(flags.from_above, target);
    if (bottom) wait_for(flags.from_below, target);
  }
  const int j = blockIdx.x * threads + threadIdx.x, begin = first + static_cast<int>(blockIdx.y) * rows_each;
  if (j >= 1 && j < columns - 1) {
    const auto row = [&](int i) {
      return i < 0 ? above : i == rows ? below : in + static_cast<long>(i) * columns;
    };
#pragma unroll
    for (int r = 0; r < rows_each; ++r) {
      const int i = begin + r;
      if (i >= last || (i == 0 && !above) || (i == rows - 1 && !below)) continue;
      const float* const here = row(i);
      out[static_cast<long>(i) * columns + j] =
          0.2f * (here[j] + here[j - 1] + here[j + 1] + row(i - 1)[j] + row(i + 1)[j]);
    }
  }
  if (WithFlags) {
    if (top) signal(flags.to_above);
    if (bottom) signal(flags.to_below);
  }
}

__global__ void add(unsigned* to, unsigned steps) {
  *to += steps;
}

__global__ void fill(float* x, long first, long count) {
  for (long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    x[i] = static_cast<float>(((first + i) * 2654435761l) % 8191) * 0.125f;
}

__global__ void compare(const float* a, const float* b, long count, unsigned* different) {
  for (long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    if (__float_as_uint(a[i]) != __float_as_uint(b[i])) atomicAdd(different, 1u);
}

struct Piece {
  float *x[2] = {}, *above[2] = {}, *below[2] = {};  // arrays, and halos for the variants with copies
  Flags flags;
  cudaStream_t stream = nullptr, side = nullptr;
  cudaEvent_t swept = nullptr, bordered = nullptr, copied = nullptr;
  cudaGraphExec_t graph = nullptr;
};

class Stencil {
 public:
  Stencil(int ranks, int rows, int columns) : ranks_(ranks), rows_(rows), columns_(columns), pieces_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      check(cudaSetDevice(rank));
      for (int other = 0; other < ranks; ++other)
        if (other != rank)
          if (const auto code = cudaDeviceEnablePeerAccess(other, 0); code != cudaErrorPeerAccessAlreadyEnabled)
            check(code);
      cudaGetLastError();
      Piece& piece = pieces_[rank];
      for (int side = 0; side < 2; ++side) {
        check(cudaMalloc(&piece.x[side], count() * sizeof(float)));
        check(cudaMalloc(&piece.above[side], row_bytes()));
        check(cudaMalloc(&piece.below[side], row_bytes()));
        fill<<<1024, 256>>>(piece.x[side], rank * count(), count());
      }
      unsigned* counters = nullptr;
      check(cudaMalloc(&counters, 3 * 128));
      check(cudaMemset(counters, 0, 3 * 128));
      piece.flags = {counters, counters + 32, nullptr, nullptr, counters + 64};
      check(cudaStreamCreateWithFlags(&piece.stream, cudaStreamNonBlocking));
      check(cudaStreamCreateWithFlags(&piece.side, cudaStreamNonBlocking));
      for (cudaEvent_t* event : {&piece.swept, &piece.bordered, &piece.copied}) {
        check(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        check(cudaEventRecord(*event, piece.stream));
      }
      check(cudaDeviceSynchronize());
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank > 0) pieces_[rank].flags.to_above = pieces_[rank - 1].flags.from_below;
      if (rank + 1 < ranks) pieces_[rank].flags.to_below = pieces_[rank + 1].flags.from_above;
    }
    refresh();
  }
  ~Stencil() {
    for (int rank = 0; rank < ranks_; ++rank) {
      Piece& piece = pieces_[rank];
      cudaSetDevice(rank);
      cudaDeviceSynchronize();
      for (int side = 0; side < 2; ++side) cudaFree(piece.x[side]), cudaFree(piece.above[side]), cudaFree(piece.below[side]);
      cudaFree(piece.flags.from_above);
      cudaStreamDestroy(piece.stream), cudaStreamDestroy(piece.side);
      cudaEventDestroy(piece.swept), cudaEventDestroy(piece.bordered), cudaEventDestroy(piece.copied);
      if (piece.graph) cudaGraphExecDestroy(piece.graph);
    }
  }
  Stencil(const Stencil&) = delete;
  Stencil& operator=(const Stencil&) = delete;

  std::vector<cudaStream_t> streams() const {
    std::vector<cudaStream_t> all;
    for (const Piece& piece : pieces_) all.push_back(piece.stream);
    return all;
  }

  /// Step `step` on one thread for all devices: peer copies and events. The copy of a step's border rows runs
  /// while the interior of the step is computed.
  void step_with_copies(int step) {
    const int from = step & 1, to = from ^ 1;
    for (int rank = 0; rank < ranks_; ++rank) {
      check(cudaSetDevice(rank));
      for (const int other : neighbours(rank)) {
        check(cudaStreamWaitEvent(pieces_[rank].stream, pieces_[other].copied));  // its copies into the halos here
        check(cudaStreamWaitEvent(pieces_[rank].side, pieces_[other].swept));     // has read the halos there
      }
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      Piece& piece = pieces_[rank];
      check(cudaSetDevice(rank));
      const bool first = rank == 0, last = rank + 1 == ranks_;
      if (!first) launch<false>(rank, from, 0, 1, piece.above[from], piece.below[from]);
      if (!last) launch<false>(rank, from, rows_ - 1, rows_, piece.above[from], piece.below[from]);
      check(cudaEventRecord(piece.bordered, piece.stream));
      check(cudaStreamWaitEvent(piece.side, piece.bordered));
      if (!first)
        check(cudaMemcpyPeerAsync(pieces_[rank - 1].below[to], rank - 1, piece.x[to], rank, row_bytes(), piece.side));
      if (!last)
        check(cudaMemcpyPeerAsync(pieces_[rank + 1].above[to], rank + 1, piece.x[to] + (rows_ - 1L) * columns_, rank,
                                  row_bytes(), piece.side));
      launch<false>(rank, from, first ? 0 : 1, last ? rows_ : rows_ - 1, piece.above[from], piece.below[from]);
      check(cudaEventRecord(piece.swept, piece.stream));
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      check(cudaSetDevice(rank));
      check(cudaEventRecord(pieces_[rank].copied, pieces_[rank].side));
    }
  }

  /// One kernel on each device, which loads the neighbours' rows; events order the steps.
  void step_with_loads(int step) {
    const int from = step & 1;
    for (int rank = 0; rank < ranks_; ++rank) {
      check(cudaSetDevice(rank));
      for (const int other : neighbours(rank)) check(cudaStreamWaitEvent(pieces_[rank].stream, pieces_[other].swept));
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      check(cudaSetDevice(rank));
      launch<false>(rank, from, 0, rows_, above(rank, from), below(rank, from));
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      check(cudaSetDevice(rank));
      check(cudaEventRecord(pieces_[rank].swept, pieces_[rank].stream));
    }
  }

  /// One kernel on `rank`, which loads the neighbours' rows; counters in memory order the border rows only.
  void step_with_flags(int rank, int step, unsigned counted) {
    launch<true>(rank, step & 1, 0, rows_, above(rank, step & 1), below(rank, step & 1), counted);
  }

  static constexpr int graph_steps = 32;
  /// The same, with `graph_steps` steps in one graph.
  void launch_graph(int rank) {
    Piece& piece = pieces_[rank];
    if (!piece.graph) {
      cudaGraph_t graph = nullptr;
      check(cudaStreamBeginCapture(piece.stream, cudaStreamCaptureModeThreadLocal));
      for (int step = 0; step < graph_steps; ++step) step_with_flags(rank, step, static_cast<unsigned>(step));
      add<<<1, 1, 0, piece.stream>>>(piece.flags.base, graph_steps);
      check(cudaStreamEndCapture(piece.stream, &graph));
      check(cudaGraphInstantiate(&piece.graph, graph, 0));
      check(cudaGraphDestroy(graph));
    }
    check(cudaGraphLaunch(piece.graph, piece.stream));
  }

  void step_alone(int step) { launch<false>(0, step & 1, 0, rows_, nullptr, nullptr); }

  /// Fills the halos from the neighbours.
  void refresh() {
    for (int rank = 0; rank < ranks_; ++rank)
      for (int side = 0; side < 2; ++side) {
        if (rank > 0) check(cudaMemcpy(pieces_[rank].above[side], above(rank, side), row_bytes(), cudaMemcpyDefault));
        if (rank + 1 < ranks_)
          check(cudaMemcpy(pieces_[rank].below[side], below(rank, side), row_bytes(), cudaMemcpyDefault));
      }
    for (int rank = 0; rank < ranks_; ++rank) {
      check(cudaSetDevice(rank));
      check(cudaDeviceSynchronize());
    }
  }

  /// Elements that differ from those of `whole`, an array of one device, after `steps` steps of both.
  unsigned differences(const Stencil& whole, int steps) const {
    check(cudaSetDevice(0));
    unsigned* count = nullptr;
    unsigned found = 0;
    check(cudaMalloc(&count, sizeof *count));
    check(cudaMemset(count, 0, sizeof *count));
    for (int rank = 0; rank < ranks_; ++rank)
      compare<<<1024, 256>>>(pieces_[rank].x[steps & 1], whole.pieces_[0].x[steps & 1] + rank * this->count(),
                             this->count(), count);
    check(cudaMemcpy(&found, count, sizeof found, cudaMemcpyDeviceToHost));
    check(cudaFree(count));
    return found;
  }

 private:
  long count() const { return static_cast<long>(rows_) * columns_; }
  std::size_t row_bytes() const { return columns_ * sizeof(float); }
  std::vector<int> neighbours(int rank) const {
    std::vector<int> found;
    if (rank > 0) found.push_back(rank - 1);
    if (rank + 1 < ranks_) found.push_back(rank + 1);
    return found;
  }
  const float* above(int rank, int side) const {
    return rank > 0 ? pieces_[rank - 1].x[side] + (rows_ - 1L) * columns_ : nullptr;
  }
  const float* below(int rank, int side) const { return rank + 1 < ranks_ ? pieces_[rank + 1].x[side] : nullptr; }

  template <bool WithFlags>
  void launch(int rank, int from, int first, int last, const float* above, const float* below, unsigned step = 0) {
    Piece& piece = pieces_[rank];
    const bool top = rank == 0, bottom = rank + 1 == ranks_;
    const dim3 grid((columns_ + threads - 1) / threads, (last - first + rows_each - 1) / rows_each);
    sweep<WithFlags><<<grid, threads, 0, piece.stream>>>(piece.x[from ^ 1], piece.x[from], rows_, columns_, first, last,
                                                         top ? nullptr : above, bottom ? nullptr : below, piece.flags,
                                                         step);
    check(cudaGetLastError());
  }

  int ranks_, rows_, columns_;
  std::vector<Piece> pieces_;
};

struct Variant {
  const char* words;
  int steps;  // for each submission
};
constexpr Variant variants[] = {{"by hand: peer copies and events", 1},
                                {"by hand: loads from the neighbour, events", 1},
                                {"by hand: loads from the neighbour, counters in memory", 1},
                                {"by hand: the same, 32 steps in a graph", Stencil::graph_steps}};

void stencil(int variant, int ranks, int rows, int columns, double* alone, double* together) {
  constexpr int checked = 64;  // steps
  const int each = rows / ranks;
  const auto submit = [&](Stencil& on, int rank, int step) {
    if (variant == 2)
      on.step_with_flags(rank, step, static_cast<unsigned>(step));
    else
      on.launch_graph(rank);
  };
  const auto run = [&](Stencil& on, int first, int count) {  // seconds for a submission
    if (variant >= 2) return timed(on.streams(), count, [&](int rank, int i) { submit(on, rank, first + i); });
    const auto streams = on.streams();
    for (const cudaStream_t stream : streams) check(cudaStreamSynchronize(stream));
    const double begin = now();
    for (int i = 0; i < count; ++i) variant == 0 ? on.step_with_copies(first + i) : on.step_with_loads(first + i);
    for (const cudaStream_t stream : streams) check(cudaStreamSynchronize(stream));
    return (now() - begin) / count;
  };
  const int steps_each = variants[variant].steps;
  {
    Stencil whole(1, rows, columns), cut(ranks, each, columns);
    check(cudaSetDevice(0));
    for (int step = 0; step < checked; ++step) whole.step_alone(step);
    check(cudaDeviceSynchronize());
    run(cut, 0, checked / steps_each);
    for (int rank = 0; rank < ranks; ++rank) {
      check(cudaSetDevice(rank));
      check(cudaDeviceSynchronize());
    }
    if (cut.differences(whole, checked) != 0) throw Failure{-2};
  }
  Stencil one(1, each, columns), cut(ranks, each, columns);
  const auto run_one = [&](int count) {
    check(cudaSetDevice(0));
    check(cudaDeviceSynchronize());
    const double begin = now();
    for (int i = 0; i < count; ++i) one.step_alone(i);
    check(cudaDeviceSynchronize());
    return (now() - begin) / count;
  };
  int done = 0;
  const auto run_all = [&](int count) {
    const double seconds = run(cut, done, count);
    done += count;
    return seconds / steps_each;
  };
  const auto even = [](double count, int most) { return std::clamp(static_cast<int>(count), 4, most) & ~1; };
  run_one(4), run_all(4);
  const int ones = even(0.03 / run_one(4), 4000), alls = even(0.03 / run_all(4) / steps_each, 4000 / steps_each);
  std::vector<double> before, after;
  for (int sample = 0; sample < 9; ++sample) before.push_back(run_one(ones)), after.push_back(run_all(alls));
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  *alone = before[4];
  *together = after[4];
}

}  // namespace

extern "C" int twin_all_reduce(int variant, int ranks, long bytes, double sample_seconds, double* seconds) {
  const KeepDevice keep;
  try {
    *seconds = all_reduce(variant, ranks, bytes, sample_seconds);
    return 0;
  } catch (const Failure& failure) {
    return failure.code;
  }
}

extern "C" int twin_ranks_stencil(int variant, int ranks, int rows, int columns, double* alone, double* together,
                                  const char** words) {
  if (variant >= static_cast<int>(sizeof variants / sizeof *variants)) return -1;
  *words = variants[variant].words;
  const KeepDevice keep;
  try {
    stencil(variant, ranks, rows, columns, alone, together);
    return 0;
  } catch (const Failure& failure) {
    return failure.code;
  }
}
