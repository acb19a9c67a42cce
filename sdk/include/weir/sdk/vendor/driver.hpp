// SPDX-License-Identifier: Apache-2.0
// A whole driver for a vendor's runtime with streams, of the family of CUDA's driver API and HIP: give it the
// vendor's traits V and hand Driver<V> to driver_entry (table.hpp). V holds what differs between vendors;
// each header of this folder begins with what it needs of V, and calls.hpp with what is the same for all.
// Beside that, V has
//
//   static constexpr Names names;
//       of the driver, for its table, and of the vendor's runtime, for messages
//   static const Calls& calls() noexcept;
//       valid once `start` has succeeded
//   static std::uint32_t start();
//       opens and starts the runtime; the number of devices, or a Failure. Called once
//   static void describe(std::uint32_t index, weir_device_info&);
//       what describe.hpp does not know, and which capabilities the device lacks
//
// What comes of it: streams that never wait for the default stream, contexts set per thread without a lock,
// launches that take no lock, allocate nothing and look nothing up, errors with the vendor's name and words,
// and devices that are lost for good after an error that the vendor's runtime does not survive, while others
// go on.
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
