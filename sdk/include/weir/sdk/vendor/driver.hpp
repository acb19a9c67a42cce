// SPDX-License-Identifier: Apache-2.0
// A complete driver for a vendor's runtime with streams, of the family of CUDA's driver API and HIP.
// Driver<V> takes the vendor's traits V and is passed to driver_entry (table.hpp). V holds the differences
// between vendors: each header of this folder begins with its requirements on V, and calls.hpp holds the
// common part. In addition, V has
//
//   static constexpr Names names;
//       of the driver, for its table, and of the vendor's runtime, for messages
//   static const Calls& calls() noexcept;
//       valid once `start` has succeeded
//   static std::uint32_t start();
//       opens and starts the runtime; returns the number of devices or throws a Failure. Called once
//   static void describe(std::uint32_t index, weir_device_info&);
//       fills in fields that describe.hpp leaves, and clears capabilities that the device lacks
//
// The resulting driver has these properties. Streams never wait for the default stream. Contexts are set per
// thread without a lock. Launches take no lock, allocate no memory and do no look-up. Errors carry the
// vendor's name and message. A device stays lost after an error that the vendor's runtime does not survive,
// while other devices continue.
#pragma once

#include "../table.hpp"
#include "describe.hpp"
#include "event.hpp"
#include "graph.hpp"
#include "module.hpp"
#include "start.hpp"
#include "stream.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Driver {
  static constexpr const char* name = V::names.driver;
  static constexpr const char* version = V::names.version;
  static constexpr const char* vendor = V::names.author;

  using Device = vendor::Device<V>;
  using Stream = vendor::Stream<V>;
  using Event = vendor::Event<V>;
  using Allocation = vendor::Allocation<V>;
  using Module = vendor::Module<V>;
  using Kernel = vendor::Kernel<V>;
  using Graph = vendor::Graph<V>;

  static std::uint32_t device_count() { return start_once<V::start>(); }
  static void describe(std::uint32_t index, weir_device_info& info) {
    describe_common<V>(index, info);
    V::describe(index, info);
  }
};

}  // namespace weir::sdk::vendor
