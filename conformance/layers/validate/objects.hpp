// SPDX-License-Identifier: Apache-2.0
// The handles that the layer returns, and the objects that they denote. A handle encodes its kind, the
// layer's instance, a place in the table and the number of earlier uses of that place. Each wrong handle can
// therefore be classified: of another kind, of another driver, dead, or no handle at all. No two objects ever
// have the same handle.
#pragma once

#include <weir/layer.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "history.hpp"

namespace weir::validate {

enum class Kind : std::uint8_t { device = 1, stream, event, allocation, module, kernel, graph };
inline constexpr int kind_count = 8;
std::string_view word(Kind kind) noexcept;

struct Device;

struct Object {
  explicit Object(Kind kind_) : kind(kind_) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  const Kind kind;
  std::uint64_t number = 0;  ///< among objects of its kind, counted from 1
  std::uint64_t handle = 0;
  bool alive = false;
  std::shared_ptr<Device> device;  ///< null for devices
};

template <Kind kind_of, class HandleOf>
struct ObjectOf : Object {
  static constexpr Kind object_kind = kind_of;
  using Handle = HandleOf;
  ObjectOf() : Object(kind_of) {}
  Handle real = nullptr;  ///< the driver's handle
};

struct Device : ObjectOf<Kind::device, weir_device> {
  std::uint32_t index = 0;
  std::uint32_t openings = 0;
  weir_device_info info{};  ///< struct_size is 0 if the driver did not fill it
  /// Allocations by the address of their first byte, on the device and on the host.
  std::map<std::uint64_t, std::weak_ptr<struct Allocation>> by_address, by_host_address;
  /// The driver does not own their memory; they may overlap each other and the allocations above.
  std::vector<std::weak_ptr<struct Allocation>> external;
  struct Gone {
    std::uint64_t begin, end;
    std::string what;
  };
  std::deque<Gone> gone;  ///< addresses of freed memory, the latest first
};

struct Stream : ObjectOf<Kind::stream, weir_stream> {
  std::uint32_t place = 0;
  Count count = 0;
  Clock clock;
};

struct Event : ObjectOf<Kind::event, weir_event> {
  bool timed = false, recorded = false;
  Clock clock;
};

struct Allocation : ObjectOf<Kind::allocation, weir_allocation> {
  std::uint64_t size = 0, address = 0, host_address = 0;
  bool pinned = false, external = false;
  History history;
};

struct Module : ObjectOf<Kind::module, weir_module> {
  std::string name;
  /// By the driver's handle and the number of bytes that follow a launch's arguments.
  std::map<std::pair<const void*, std::uint32_t>, std::weak_ptr<struct Kernel>> kernels;
  Clock used;  ///< launches of its kernels
};

/// A part of a buffer parameter that launches access.
struct Touched {
  std::uint32_t parameter = 0;
  std::uint32_t how = 0;
  std::uint64_t offset = 0, bytes = 0;
  /// Numbers that follow a launch's arguments: 1, the size; 2, with the offset before it; 5, with a window.
  std::uint32_t stated = 0;
  bool bounds_known = true;
  std::shared_ptr<const Actor> actor;
};

struct Kernel : ObjectOf<Kind::kernel, weir_kernel> {
  std::weak_ptr<Module> module;
  std::string name;
  std::uint32_t argument_bytes = 0;  ///< as the driver takes them
  std::uint32_t tail_bytes = 0;      ///< of the sizes that follow them
  std::vector<weir_parameter> parameters;
  std::vector<Touched> touched;
};

/// An access of memory by an operation.
struct Use {
  std::shared_ptr<Allocation> allocation;  ///< null for host memory
  Access access;
};

struct Graph : ObjectOf<Kind::graph, weir_graph> {
  struct Node {
    std::uint32_t kind = 0;
    /// A bit for each node that ends before this one begins. Words, because a graph may have 70,000 nodes,
    /// and the bits of a node are joined with those of each dependency.
    std::vector<std::uint64_t> predecessors;
    bool follows(std::uint32_t other) const { return (predecessors[other / 64] >> other % 64 & 1) != 0; }
    std::vector<Use> uses;
    std::vector<std::shared_ptr<Module>> modules;
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> changed;  ///< nodes that were updated since the last launch
  Clock last_run;
};

/// The reason why a handle does not denote the expected object.
struct WrongHandle {
  const char* rule;
  std::string message;
};

/// Not thread-safe; the owner's mutex guards it.
class Objects {
 public:
  explicit Objects(std::uint32_t layer) : layer_(layer) {}

  template <class T>
  typename T::Handle add(const std::shared_ptr<T>& object) {
    return reinterpret_cast<typename T::Handle>(put(object));
  }
  /// Throws WrongHandle; `what` is the argument's name, for the message.
  template <class T>
  std::shared_ptr<T> get(typename T::Handle handle, const char* what) const {
    return std::static_pointer_cast<T>(find(reinterpret_cast<std::uint64_t>(handle), T::object_kind, what));
  }
  void remove(const Object& object, std::string_view by) noexcept;
  std::uint64_t live(Kind kind) const noexcept { return live_[static_cast<int>(kind)]; }
  std::vector<std::shared_ptr<Object>> of(const Device& device) const;
  std::string describe(const Object& object) const;
  void set_driver(std::string name) { driver_ = std::move(name); }

 private:
  struct Place {
    std::shared_ptr<Object> object;
    std::uint64_t uses = 0;
    std::string last;  ///< the previous object of this place, for messages
  };
  std::uint64_t put(const std::shared_ptr<Object>& object);
  std::shared_ptr<Object> find(std::uint64_t handle, Kind kind, const char* what) const;

  const std::uint32_t layer_;
  std::string driver_;
  std::deque<Place> places_;
  std::deque<std::uint32_t> free_;  // oldest first, so that dead handles are recognised for long
  std::uint64_t live_[kind_count] = {}, made_[kind_count] = {};
};

}  // namespace weir::validate
