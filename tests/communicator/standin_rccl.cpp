// SPDX-License-Identifier: Apache-2.0
// The functions of librccl.so.1 that the communicator rccl uses, for ranks that are threads on the HIP
// simulator, whose device memory the host may access. WEIR_STANDIN_RCCL names a fault.
#include <dlfcn.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <weir/sdk/reduction.hpp>

namespace {

using Bytes = std::vector<std::byte>;

struct World {
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  std::map<std::pair<int, int>, std::deque<Bytes>> messages;  // by sender and receiver
};

struct Member {
  std::shared_ptr<World> world;
  int rank, size;
  bool aborted = false;  // guarded by the world's mutex
  bool failed = false;
};

struct UniqueId {
  char internal[128];
};

std::mutex worlds_mutex;
std::map<std::string, std::shared_ptr<World>> worlds;
int made = 0;

bool fault(std::string_view name) {
  const char* const chosen = std::getenv("WEIR_STANDIN_RCCL");
  return chosen && name == chosen;
}

struct Transfer {
  bool receive;
  int peer;
  void* memory;
  std::size_t size;
};

struct Job {
  std::shared_ptr<Member> member;
  std::vector<Transfer> transfers;
  std::vector<Bytes> temporaries;
  std::function<void(Job&)> after;

  void run() {
    World& world = *member->world;
    std::unique_lock lock(world.mutex);
    for (const Transfer& transfer : transfers)
      if (!transfer.receive) {
        const auto* from = static_cast<const std::byte*>(transfer.memory);
        world.messages[{member->rank, transfer.peer}].emplace_back(from, from + transfer.size);
      }
    world.changed.notify_all();
    for (const Transfer& transfer : transfers) {
      if (!transfer.receive) continue;
      auto& queue = world.messages[{transfer.peer, member->rank}];
      world.changed.wait(lock, [&] { return member->aborted || !queue.empty(); });
      if (member->aborted) return;
      if (queue.front().size() == transfer.size)
        std::memcpy(transfer.memory, queue.front().data(), transfer.size);
      queue.pop_front();
    }
    lock.unlock();
    if (after) after(*this);
  }
};

thread_local int grouped = 0;
thread_local std::unique_ptr<Job> group;
thread_local void* group_stream = nullptr;

int submit(std::unique_ptr<Job> job, void* stream) {
  using Launch = int (*)(void*, void (*)(void*), void*);
  static const auto launch = reinterpret_cast<Launch>(
      dlsym(dlopen(std::getenv("WEIR_AMDGPU_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), "hipLaunchHostFunc"));
  if (fault("operations-fail")) return 2;
  if (fault("asynchronous-error")) job->member->failed = true;
  return launch(
             stream, [](void* user) { std::unique_ptr<Job>(static_cast<Job*>(user))->run(); },
             job.release()) == 0
             ? 0
             : 1;
}

std::unique_ptr<Job> new_job(void* comm) {
  auto job = std::make_unique<Job>();
  job->member = *static_cast<std::shared_ptr<Member>*>(comm);
  return job;
}

constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
constexpr std::uint32_t types[] = {WEIR_I8,  WEIR_U8,  WEIR_I32, WEIR_U32, WEIR_I64,
                                   WEIR_U64, WEIR_F16, WEIR_F32, WEIR_F64};
constexpr std::uint32_t reductions[] = {WEIR_SUM, WEIR_PRODUCT, WEIR_MAX, WEIR_MIN};

/// Sends part r of `from`, `stride` bytes apart, to rank r; then gives `to` the reduction of those received.
int reduce(const void* from, void* to, std::size_t count, std::size_t stride, int type, int reduction,
           void* comm, void* stream) {
  auto job = new_job(comm);
  const std::size_t bytes = count * sizes[type];
  for (int rank = 0; rank < job->member->size; ++rank) {
    job->temporaries.emplace_back(bytes);
    auto* const part =
        static_cast<std::byte*>(const_cast<void*>(from)) + static_cast<std::size_t>(rank) * stride;
    job->transfers.push_back({false, rank, part, bytes});
    job->transfers.push_back({true, rank, job->temporaries.back().data(), bytes});
  }
  job->after = [=](Job& done) {
    for (std::size_t rank = 1; rank < done.temporaries.size(); ++rank)
      weir::sdk::reduce(types[type], reductions[reduction], done.temporaries[0].data(),
                        done.temporaries[rank].data(), count);
    std::memcpy(to, done.temporaries[0].data(), bytes);
  };
  return submit(std::move(job), stream);
}

int add(Transfer transfer, void* comm, void* stream) {
  if (grouped == 0) return 5;
  if (!group) group = new_job(comm);
  group_stream = stream;
  group->transfers.push_back(transfer);
  return 0;
}

}  // namespace

#define RCCL extern "C" __attribute__((visibility("default")))

RCCL int ncclGetVersion(int* version) {
  *version = fault("old") ? 2604 : 22803;
  return 0;
}

RCCL int ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard lock(worlds_mutex);
  const std::string name = "stand-in " + std::to_string(made++);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, name.c_str(), name.size());
  worlds[name] = std::make_shared<World>();
  return 0;
}

RCCL const char* ncclGetErrorString(int result) {
  return result == 2 ? "unhandled system error" : "an error of the stand-in";
}

RCCL const char* ncclGetLastError(void*) {
  return "the cable is unplugged";
}

RCCL int ncclCommInitRank(void** comm, int size, UniqueId id, int rank) {
  if (fault("start-fails") && rank == 1) return 2;
  if (fault("start-hangs") && rank == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
  std::shared_ptr<World> world;
  {
    const std::lock_guard lock(worlds_mutex);
    world = worlds[id.internal];
  }
  const std::lock_guard lock(world->mutex);
  *comm = new std::shared_ptr<Member>(new Member{world, rank, size});
  return 0;
}

RCCL int ncclCommAbort(void* comm) {
  const std::unique_ptr<std::shared_ptr<Member>> member(static_cast<std::shared_ptr<Member>*>(comm));
  const std::lock_guard lock((*member)->world->mutex);
  (*member)->aborted = true;
  (*member)->world->changed.notify_all();
  return 0;
}

RCCL int ncclCommGetAsyncError(void* comm, int* result) {
  *result = (*static_cast<std::shared_ptr<Member>*>(comm))->failed ? 2 : 0;
  return 0;
}

RCCL int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int reduction, void* comm,
                       void* stream) {
  return reduce(from, to, count, 0, type, reduction, comm, stream);
}

RCCL int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int reduction, void* comm,
                           void* stream) {
  return reduce(from, to, count, count * sizes[type], type, reduction, comm, stream);
}

RCCL int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, void* comm,
                       void* stream) {
  auto job = new_job(comm);
  const std::size_t bytes = count * sizes[type];
  if (job->member->rank == root)
    for (int rank = 0; rank < job->member->size; ++rank)
      job->transfers.push_back({false, rank, const_cast<void*>(from), bytes});
  job->transfers.push_back({true, root, to, bytes});
  return submit(std::move(job), stream);
}

RCCL int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* comm, void* stream) {
  auto job = new_job(comm);
  const std::size_t bytes = count * sizes[type];
  for (int rank = 0; rank < job->member->size; ++rank) {
    job->transfers.push_back({false, rank, const_cast<void*>(from), bytes});
    job->transfers.push_back(
        {true, rank, static_cast<std::byte*>(to) + static_cast<std::size_t>(rank) * bytes, bytes});
  }
  return submit(std::move(job), stream);
}

RCCL int ncclSend(const void* from, std::size_t count, int type, int peer, void* comm, void* stream) {
  return add({false, peer, const_cast<void*>(from), count * sizes[type]}, comm, stream);
}

RCCL int ncclRecv(void* to, std::size_t count, int type, int peer, void* comm, void* stream) {
  return add({true, peer, to, count * sizes[type]}, comm, stream);
}

RCCL int ncclGroupStart() {
  ++grouped;
  return 0;
}

RCCL int ncclGroupEnd() {
  if (--grouped != 0 || !group) return 0;
  return submit(std::move(group), group_stream);
}
