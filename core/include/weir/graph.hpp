// SPDX-License-Identifier: Apache-2.0
// Graphs: launches, copies and fills that are recorded once and submitted together any number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <weir/array.hpp>
#include <weir/export.hpp>
#include <weir/kernel.hpp>
#include <weir/launch_report.hpp>
#include <weir/module.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>
#include <weir/task_list.hpp>

namespace weir {

namespace detail {
struct GraphState;

struct CallNumbers {
  std::uint64_t unique = 0;  ///< no two recorded calls of a process share it
  std::uint32_t index = 0;   ///< in its graph
};
}  // namespace detail

/// A recorded call, for Graph::update. Valid only for the graph that it was recorded for, and not if the call
/// was dropped with its branches.
class GraphNode {
 public:
  GraphNode() = default;

 private:
  friend class GraphBuilder;
  friend class Graph;
  template <class>
  friend class GraphLaunch;
  GraphNode(const detail::CallNumbers& numbers) noexcept : numbers_(numbers) {}
  detail::CallNumbers numbers_;
};

/// A recorded launch of a Kernel<Signature>.
template <class Signature>
class GraphLaunch : public GraphNode {
 public:
  GraphLaunch() = default;

 private:
  friend class GraphBuilder;
  explicit GraphLaunch(const GraphNode& node) noexcept : GraphNode(node) {}
};

/// Work that was recorded, ready to be submitted; made by GraphBuilder. Move-only; a moved-from Graph throws
/// Error{invalid}. It keeps kernels alive, but not arrays and host memory. These must stay valid; each launch
/// checks the arrays.
class WEIR_API Graph {
 public:
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  /// Never waits; submitted runs complete.
  ~Graph();

  /// Submits one run to `stream` and returns without waiting. It begins after the stream's earlier work and
  /// ends before its later work. A run is one driver call if the device has graphs, else the recorded calls
  /// over streams; the results are the same bits. The first launch on each stream creates the driver's graph,
  /// so that runs on several streams share only the arrays.
  ///
  /// Throws Error{invalid}, and submits nothing, if an array was freed or the stream is of another device.
  /// The message names the call and the argument. Throws the pending failure of an earlier launch on the
  /// stream. May be called from several threads; each run is one step of its stream (see StreamRef).
  void launch(const StreamRef& stream) const;

  /// Gives a recorded call other arguments from the next launch on; submitted runs keep theirs. Throws as the
  /// call itself, and Error{invalid} for a node of another graph or another kind of call. The graph is then
  /// unchanged. For one thread, while no other launches the graph.
  template <class... P>
  void update(const GraphLaunch<void(P...)>& node,
              const typename detail::KernelParameter<P>::Argument&... arguments) {
    update(static_cast<const GraphNode&>(node),
           std::span<const LaunchArgument>(detail::LaunchList<P...>(arguments...)));
  }
  void update(const GraphNode& node, std::span<const LaunchArgument> arguments);
  void update(const GraphNode& node, const LaunchShape& shape, std::span<const KernelArgument> arguments);
  void update(const GraphNode& node, const LaunchShape& shape,
              std::initializer_list<KernelArgument> arguments) {
    update(node, shape, std::span(arguments.begin(), arguments.size()));
  }
  void update_copy(const GraphNode& node, const AnyArrayView& to, const AnyArrayView& from);
  void update_copy_from_bytes(const GraphNode& node, const AnyArrayView& to, std::span<const std::byte> from);
  void update_copy_to_bytes(const GraphNode& node, const AnyArrayView& from, std::span<std::byte> to);
  template <detail::OwningTemporary R>
  void update_copy_from_bytes(const GraphNode&, const AnyArrayView&, R&&) = delete;
  template <detail::OwningTemporary R>
  void update_copy_to_bytes(const GraphNode&, const AnyArrayView&, R&&) = delete;
  template <KernelElement T, std::size_t Rank>
  void update_fill(const GraphNode& node, const ArrayView<T, Rank>& to, const T& value) {
    update_fill_bytes(node, to, &value);
  }

  /// Recorded calls; a task of a TaskList counts as one.
  std::size_t size() const;
  Device device() const;
  /// Tasks, copies and fills of one run: the nodes of the driver's graph except the empty ones, which order
  /// branches. StreamRef::last_launch() counts these too.
  std::size_t nodes() const;
  /// Whether the device runs it as a driver graph.
  bool native() const;
  /// Why launches go over streams: debugged, no_capability, driver_refused (known after the first launch), or
  /// streams_asked by WEIR_LAUNCH; is_graph if they are driver graphs. A single launch may still go over
  /// streams, see StreamRef::last_launch().
  WhyNoGraph why_no_graph() const;

 private:
  friend class GraphBuilder;
  explicit Graph(std::unique_ptr<detail::GraphState> state) noexcept;
  void update_fill_bytes(const GraphNode& node, const AnyArrayView& to, const void* element);
  std::unique_ptr<detail::GraphState> state_;
};

/// Records a graph: the same calls as on a stream, in order, and concurrently where `parallel` requests it.
/// Calls may also run concurrently if none writes memory that another uses; the results are the same. Nothing
/// runs while recording. For one thread. Every function throws as the recorded call would, and then records
/// nothing.
class WEIR_API GraphBuilder {
 public:
  explicit GraphBuilder(const Device& device);
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;
  ~GraphBuilder();

  /// A launch of a kernel. Compiles it for the device if necessary. A kernel with algorithms is recorded as
  /// several calls; its node cannot be updated.
  template <class... P>
  GraphLaunch<void(P...)> launch(const Kernel<void(P...)>& kernel,
                                 const typename detail::KernelParameter<P>::Argument&... arguments) {
    return launch(LaunchOptions(), kernel, arguments...);
  }
  /// With a seed. An automatic launch number increases with every run of the graph.
  template <class... P>
  GraphLaunch<void(P...)> launch(const LaunchOptions& options, const Kernel<void(P...)>& kernel,
                                 const typename detail::KernelParameter<P>::Argument&... arguments) {
    return GraphLaunch<void(P...)>(launch(
        kernel.program(), std::span<const LaunchArgument>(detail::LaunchList<P...>(arguments...)), options));
  }
  /// A launch of a kernel that returns values. Each run stores them to arrays: after the arguments, pass an
  /// Array<T, 0> or ArrayView<T, 0> for each value.
  template <class R, class... P, class... A>
  requires(!std::is_void_v<R>) auto launch(const Kernel<R(P...)>& kernel, const A&... arguments) {
    return launch(LaunchOptions(), kernel, arguments...);
  }
  template <class R, class... P, class... A>
  requires(!std::is_void_v<R>) auto launch(const LaunchOptions& options, const Kernel<R(P...)>& kernel,
                                           const A&... arguments) {
    static_assert(
        sizeof...(A) == sizeof...(P) + detail::Returned<R>::Types::count,
        "a recorded launch of a kernel that returns values takes one argument for each parameter of its "
        "lambda, and then an Array<T, 0> for each value, because a Future would be of one run only");
    return launch_storing(static_cast<typename detail::Returned<R>::template Stored<P...>*>(nullptr), options,
                          kernel.program(), arguments...);
  }
  GraphNode launch(const Program& program, std::span<const LaunchArgument> arguments,
                   const LaunchOptions& options = {});
  /// A launch of a ready kernel.
  GraphNode launch(const KernelFunction& kernel, const LaunchShape& shape,
                   std::span<const KernelArgument> arguments);
  GraphNode launch(const KernelFunction& kernel, const LaunchShape& shape,
                   std::initializer_list<KernelArgument> arguments) {
    return launch(kernel, shape, std::span(arguments.begin(), arguments.size()));
  }
  /// The tasks that the list has now, with their regions.
  void launch(const TaskList& list);

  /// A copy between arrays of the device, of equal size in bytes; the ranges must not overlap. Throws
  /// Error{unsupported} for arrays of two devices.
  GraphNode copy(const AnyArrayView& to, const AnyArrayView& from);
  /// Copies from and to the host. Each run reads or writes the host memory: it must stay valid, and must not
  /// be accessed from a launch until the stream has passed the run.
  GraphNode copy_from_bytes(const AnyArrayView& to, std::span<const std::byte> from);
  GraphNode copy_to_bytes(const AnyArrayView& from, std::span<std::byte> to);
  template <KernelElement T, std::size_t Rank>
  GraphNode copy_from(const ArrayView<T, Rank>& to, std::span<const std::type_identity_t<T>> from) {
    return copy_from_bytes(to, std::as_bytes(from));
  }
  template <KernelElement T, std::size_t Rank>
  GraphNode copy_to(const ArrayView<T, Rank>& from, std::span<std::type_identity_t<T>> to) {
    return copy_to_bytes(from, std::as_writable_bytes(to));
  }
  // A temporary would be destroyed before the first run.
  template <detail::OwningTemporary R>
  GraphNode copy_from_bytes(const AnyArrayView&, R&&) = delete;
  template <detail::OwningTemporary R>
  GraphNode copy_to_bytes(const AnyArrayView&, R&&) = delete;
  template <KernelElement T, std::size_t Rank, detail::OwningTemporary R>
  GraphNode copy_from(const ArrayView<T, Rank>&, R&&) = delete;
  template <KernelElement T, std::size_t Rank, detail::OwningTemporary R>
  GraphNode copy_to(const ArrayView<T, Rank>&, R&&) = delete;
  template <KernelElement T, std::size_t Rank>
  GraphNode fill(const ArrayView<T, Rank>& to, const std::type_identity_t<T>& value) {
    return fill_bytes(to, &value);
  }

  /// Fills with zero bytes.
  GraphNode fill_zero(const AnyArrayView& to);
  /// Keeps an array of any kind alive as long as the graph, such as one for values between its calls.
  template <class Owner>
    requires(!std::is_reference_v<Owner> && !std::is_const_v<Owner>)
  void keep(Owner&& array) try {
    keep_owner(std::make_shared<Owner>(std::move(array)));
  } catch (...) {
    detail::rethrow_as_error();
  }

  Device device() const;

  /// Calls each branch, which records its calls. Branches run at the same time, each in its own order. Calls
  /// recorded before `parallel` run before them; calls recorded after it run after all of them. A branch must
  /// not write an array that another branch accesses; Weir does not check that. They may contain `parallel`
  /// themselves.
  template <class... Branch>
  void parallel(Branch&&... branches) {
    Branches scope(*this, sizeof...(Branch));
    std::uint32_t index = 0;
    ((enter_branch(index++), std::forward<Branch>(branches)()), ...);
    scope.complete();
  }

  /// The graph; the builder is empty afterwards and throws Error{invalid}.
  Graph build();

 private:
  class WEIR_API Branches {
   public:
    Branches(GraphBuilder& builder, std::size_t count);
    ~Branches();  // after an exception the branches' records are dropped
    Branches(const Branches&) = delete;
    Branches& operator=(const Branches&) = delete;
    void complete();

   private:
    GraphBuilder& builder_;
    std::size_t steps_, items_;
    bool complete_ = false;
  };
  template <class... P>
  GraphLaunch<void(P...)> launch_storing(void (*)(P...), const LaunchOptions& options, const Program& program,
                                         const typename detail::KernelParameter<P>::Argument&... arguments) {
    return GraphLaunch<void(P...)>(
        launch(program, std::span<const LaunchArgument>(detail::LaunchList<P...>(arguments...)), options));
  }
  void enter_branch(std::uint32_t index);
  void keep_owner(std::shared_ptr<const void> owner);
  GraphNode fill_bytes(const AnyArrayView& to, const void* element);
  std::unique_ptr<detail::GraphState> state_;
};

}  // namespace weir
