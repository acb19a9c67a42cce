// SPDX-License-Identifier: Apache-2.0
// A kernel as data, used by Kernel<...>, `weir run` and code that reads IR text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/export.hpp>
#include <weir/lowering.hpp>
#include <weir/preparation.hpp>
#include <weir/struct_layout.hpp>
#include <weir/types.hpp>

namespace weir {

class Device;
class StreamRef;
class AnyArrayView;

namespace detail {
struct ProgramState;  // the IR, and per device the plan, the code object and the driver's kernels
}

/// One parameter of a kernel, by position.
struct ParameterInfo {
  enum class Kind : std::uint8_t { array, scalar };
  std::string name;
  Kind kind;
  ElementType element;
  std::uint8_t rank;  ///< 0 for scalars
  bool written;       ///< the kernel stores to it
};

/// One argument of a launch: an array, or the bytes of a scalar, Vec or Mat. Refers to its source, which
/// must live until launch() returns.
struct LaunchArgument {
  const AnyArrayView* array = nullptr;  ///< for array parameters
  const void* data = nullptr;           ///< for scalar parameters: element.size() bytes
  ElementType element;
  Layout layout = {};  ///< of the struct array whose size this is
};

/// How a launch of several tasks reaches the device. The results are the same bits. sdk/docs/graphs.md has
/// the conditions under which `automatic` chooses a graph.
enum class LaunchMode : std::uint8_t {
  automatic,  ///< over streams, until the same grids repeat and a graph costs the host less; nothing is timed
  streams,    ///< each task by a call of its own; stream blocks on streams of the device's pool if that pays
  graph       ///< all tasks as one driver graph; over streams where the device has no graphs
};

/// Options of a launch. WEIR_LAUNCH=streams or graph in the environment overrides `mode` for the whole
/// process.
struct LaunchOptions {
  /// Seed of the kernel's random numbers.
  std::uint64_t seed = 0;
  /// Number of this launch for random numbers; by default each launch of one Program takes the next, from 0.
  std::uint64_t launch_number = automatic;
  static constexpr std::uint64_t automatic = ~std::uint64_t{0};
  LaunchMode mode = LaunchMode::automatic;
};

/// A kernel in IR form, compiled for a device on its first launch there. A cheap handle to shared, immutable
/// state; all functions may be called from several threads. Those of a moved-from Program throw
/// Error{invalid}.
class WEIR_API Program {
 public:
  /// Reads the text form. Throws Error{parse} with line and column, or Error{kernel} with all messages of the
  /// verifier or the planner.
  static Program parse(std::string_view text, std::string_view file_name = "<text>");

  /// The kernel of that name in the packs of this process: the packs that weir_add_kernels() in CMake put
  /// into the program, and those that Pack::load read. Its launches take the code in the pack; see
  /// <weir/pack.hpp>. Throws Error{not_found} that lists the kernels, and Error{invalid} when several have
  /// the name.
  static Program load(std::string_view name);

  /// The text form; parse(text()) gives the same text.
  std::string text(bool with_locations = false) const;

  const std::string& name() const;
  std::span<const ParameterInfo> parameters() const;

  /// Submits one run of the kernel to `stream` and returns without waiting for it. Throws Error{invalid}, and
  /// submits nothing, if arguments do not fit the parameters, an array is freed or of another device, or
  /// stream blocks of a region would conflict. Throws the pending failure of an earlier launch on the stream.
  void launch(const StreamRef& stream, std::span<const LaunchArgument> arguments,
              const LaunchOptions& options = {}) const;

  /// Compiles for the stream's device now instead of at the first launch, and returns when the code is ready.
  void prepare(const StreamRef& stream) const;

  /// Compiles for the devices in the background, for launches with ordinary arguments, and returns at once. A
  /// launch that needs the code earlier waits for it, and throws if it fails. Opens the devices first, which
  /// starts their vendors' runtime at the first use. The program may be destroyed before the code is ready,
  /// and the process may end. The end waits only for calls of the driver. Throws Error{system} in a forked
  /// child, and the driver's failure to open a device.
  Preparation prepare(std::span<const Device> devices) const;
  Preparation prepare(const Device& device) const;

  /// The code that launches and prepare() have made for the stream's device: one variant for each set of
  /// assumptions. Empty before the first of them.
  std::vector<CompiledVariant> variants(const StreamRef& stream) const;

  /// Lists the tasks of the code that launches have compiled for the stream's device, in order. For each task
  /// it has the merged loops, the form of their code, and its use of registers and memory. It also has the
  /// reasons why neighbouring loops stay apart. Compiles for the device first if nothing has been compiled
  /// for it.
  std::string explain(const StreamRef& stream) const;

  /// Runs later launches in the reference interpreter, as WEIR_DEBUG does for the kernels that it names, or,
  /// with false, on the device again. Such a launch copies its arrays to the host in the stream's order, runs
  /// the kernel on the calling thread, copies the arrays back and returns. It throws Error{assertion} at the
  /// first fault, and leaves the arrays unchanged. Faults are an index outside an array, a false assert, a
  /// race between two iterations, a read of memory that was never written, and a NaN computed from other
  /// numbers. Unwritten memory is recognised in arrays that were created after the first call of this
  /// function. A graph with a debugged kernel runs its calls one after the other. Of a kernel with
  /// algorithms, the parts between them are debugged; algorithms run on the device, and what was done before
  /// a fault stays.
  void debug(bool on = true) const;

  explicit Program(std::shared_ptr<detail::ProgramState> state) noexcept : state_(std::move(state)) {}
  const std::shared_ptr<detail::ProgramState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<detail::ProgramState> state_;
};

}  // namespace weir
