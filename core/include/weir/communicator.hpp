// SPDX-License-Identifier: Apache-2.0
// Ranks that run one program together. Not part of <weir/weir.hpp>.
//
// Every rank makes the same calls in the same order, with arrays of equal size. Calls that take a stream
// submit: they begin after the stream's earlier work, and its later work begins after them. Arrays pass
// through pinned host memory, unless the rank joined with their device and the communicator takes its memory
// (`nccl`, `rccl`). A call waits on the host if too many are in flight. Over `local`, exchange() copies
// directly between the devices of the ranks if these have peer copies. One thread at a time uses a
// Communicator.
//
// When a rank leaves, aborts, makes another call or does not answer within the limit, the group fails on all
// ranks. The next call on each Communicator, synchronize() too, then throws Error{rank} with the name of
// that rank. Arrays of the failed call are undefined.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <weir/array.hpp>
#include <weir/device.hpp>
#include <weir/export.hpp>
#include <weir/stream.hpp>

namespace weir {

enum class Reduction : std::uint8_t { sum, product, minimum, maximum };

/// An array that exchange() sends to `rank`, or receives from it.
struct Message {
  AnyArrayView array;
  std::uint32_t rank = 0;
};

/// The messages that exchange() has submitted on this rank since it joined, those to itself included.
struct MessageStatistics {
  std::uint64_t sent = 0, sent_bytes = 0;
  std::uint64_t received = 0, received_bytes = 0;
};

namespace detail {
class GroupState;
}

/// This rank's membership in a group. Leaves the group when it is destroyed, after its submitted calls have
/// ended; destroyed by an exception, it ends the group on all ranks. In a forked child it may be destroyed,
/// abort() does nothing, and calls throw Error{system}; the parent and the other ranks are not affected.
class WEIR_API Communicator {
 public:
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator();

  std::uint32_t rank() const noexcept;
  std::uint32_t size() const noexcept;
  /// "local": the plugin that serves the group.
  const std::string& name() const noexcept;

  /// Submits: each element becomes the reduction of that element on all ranks, with the same bits on all.
  /// Throws Error{unsupported} for elements other than integers and floats, and Error{invalid} for a value
  /// outside Reduction.
  void all_reduce(const StreamRef& stream, const AnyArrayView& values, Reduction reduction) const;
  /// Submits: the elements become those of `root`.
  void broadcast(const StreamRef& stream, const AnyArrayView& values, std::uint32_t root) const;
  /// Submits: `all`, size() times as large as `mine`, becomes the arrays of all ranks in their order.
  void all_gather(const StreamRef& stream, const AnyArrayView& all, const AnyArrayView& mine) const;
  /// Submits a send to `to` and a receive from `from` as one step. A rank may send to itself. The arrays may
  /// differ in size, and each must have the size of its counterpart on the other rank.
  void exchange(const StreamRef& stream, const AnyArrayView& sent, std::uint32_t to,
                const AnyArrayView& received, std::uint32_t from) const;
  /// Submits any number of sends and receives as one step. They do not wait for one another. The n-th message
  /// from rank a to rank b is received by the n-th receive of b from a, which must have its size. A
  /// received array shares no memory with another array of the call; otherwise throws Error{invalid}.
  void exchange(const StreamRef& stream, std::span<const Message> sends,
                std::span<const Message> receives) const;
  /// Does not wait. For the thread that uses the Communicator.
  MessageStatistics message_statistics() const noexcept;
  /// Waits on the host for the submitted calls, then for all ranks.
  void barrier() const;
  /// As stream.synchronize(); throws the failure of a call.
  void synchronize(const StreamRef& stream) const;
  /// Ends the group on all ranks, with a reason.
  void abort(const std::string& reason) const noexcept;

  explicit Communicator(std::unique_ptr<detail::GroupState> state) noexcept;

 private:
  std::unique_ptr<detail::GroupState> state_;
  int exceptions_;
};

/// How to join a group.
struct JoinOptions {
  std::string communicator = "local";       ///< a name that `weir info` lists
  std::string address{};                    ///< equal on the ranks of the group
  std::uint32_t rank = 0, size = 1;         ///< size 0: rank and size are the launcher's
  bool validate = false;                    ///< compare the calls of all ranks; `local` always does
  std::chrono::milliseconds limit{10'000};  ///< the longest wait for other ranks
  /// The rank's device. Its arrays do not pass through the host if the communicator takes its memory. Each
  /// rank then needs a separate device, and all ranks must give one. In a group of `local`, exchange() copies
  /// between the devices if all ranks give one and each pair is equal or has peer copies. It then waits until
  /// the other ranks have submitted their exchanges.
  std::optional<Device> device{};
};

/// Waits until all ranks have joined. Throws Error{invalid} for a limit below 1 ms, for a rank that is not
/// below the size, and for more than 1024 ranks of `local`, Error{not_found} if no usable communicator has
/// that name, and Error{rank} if a rank does not join within the limit.
WEIR_API Communicator join(const JoinOptions& options);

/// The group of all ranks: the processes that a launcher such as mpirun started, or the threads of
/// run_ranks(). Elsewhere a group of one rank. All ranks must join their groups in the same order. Throws
/// Error{invalid} when WEIR_RANKS is more than 1 and run_ranks() did not start this thread, or a launcher
/// started this process. WEIR_RANK_LIMIT sets the limit in seconds, WEIR_COMMUNICATOR names the communicator.
WEIR_API Communicator join();
/// As join(), with JoinOptions::device. Threads of run_ranks() with different devices of one driver join the
/// first usable communicator that takes that driver's memory (`nccl`, `rccl`). They join `local` if there is
/// none or a rank gives no device. WEIR_COMMUNICATOR has precedence.
WEIR_API Communicator join(const Device& device);
/// As join(device), with JoinOptions::limit.
WEIR_API Communicator join(const Device& device, std::chrono::milliseconds limit);
/// As join(), with JoinOptions::limit, for programs whose ranks wait longer for each other than the default.
/// WEIR_RANK_LIMIT has precedence.
WEIR_API Communicator join(std::chrono::milliseconds limit);

/// Runs `rank` in WEIR_RANKS threads, 1 by default, each of which may join(). When one throws, the groups
/// that it has joined end. Returns when all threads have ended; throws the first exception. In a process that
/// a launcher started as one of several ranks, runs `rank` once, on this thread.
WEIR_API void run_ranks(const std::function<void()>& rank);
/// As above with `ranks` threads, 1 to 1024; ignores WEIR_RANKS. Throws Error{invalid} for other numbers and
/// in a process that a launcher started as one of another number of ranks.
WEIR_API void run_ranks(std::uint32_t ranks, const std::function<void()>& rank);

/// The number of ranks that a launcher has started or that WEIR_RANKS asks for; 1 otherwise. Reads manifests
/// and the environment; loads no communicator. Throws Error{invalid} if these contradict each other.
WEIR_API std::uint32_t requested_ranks();

/// The device for this rank, to open before join(device). With a driver's name, or none as for open(), ranks
/// take the driver's devices in turn: those of open(), then the following ones. A process takes the device of
/// its number on its machine (LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK or SLURM_LOCALID of its launcher), or
/// else of its rank. A name with an index ("cuda:1"), also that of WEIR_DEVICE, is the device of all ranks.
/// Outside of run_ranks() and launchers as open(). Throws as open(), Error{invalid} if the number is
/// malformed, and as join() if there is none and the launcher's communicator cannot be used.
WEIR_API Device open_for_rank(std::string_view name = {});

}  // namespace weir
