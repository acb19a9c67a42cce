// SPDX-License-Identifier: Apache-2.0
// Kernels that do not compute what they say, though every call is answered as it should be.
#include <immintrin.h>

#include "mutant.hpp"

namespace mutant {
namespace {

/// A thread begins with the floating-point state of the one that makes it, so that the driver's own threads
/// keep `bits` when the calls that make them come under this; so must those come that wait, as they may run
/// kernels.
template <unsigned bits>
class FloatState {
 public:
  FloatState() { _mm_setcsr(before_ | bits); }
  ~FloatState() { _mm_setcsr(before_); }

 private:
  const unsigned before_ = _mm_getcsr();
};

template <unsigned bits, auto slot, class... Arguments>
void call_under_state(weir_driver_table& table, weir_result (*)(Arguments...)) {
  table.*slot = [](Arguments... arguments) {
    const FloatState<bits> state;
    return (real().*slot)(arguments...);
  };
}

/// All functions that may make the driver's threads, or run kernels while they wait.
template <unsigned bits>
void with_float_state(weir_driver_table& table) {
  using Table = weir_driver_table;
  const auto wrap = [&]<auto... slots>() { (call_under_state<bits, slots>(table, table.*slots), ...); };
  wrap.template operator()<&Table::stream_create, &Table::stream_synchronize, &Table::stream_query,
                           &Table::event_record, &Table::event_synchronize, &Table::memory_allocate,
                           &Table::copy_to_device, &Table::copy_to_host, &Table::copy_on_device, &Table::fill,
                           &Table::module_load, &Table::kernel_launch, &Table::graph_launch>();
  table.device_open = [](std::uint32_t index, weir_device* out, weir_status* e) {
    const FloatState<bits> state;
    const weir_result result = real().device_open(index, out, e);
    if (result == WEIR_OK) opened_device() = *out;
    return result;
  };
}

}  // namespace

std::span<const Mutant> code_mutants() {
  static const Mutant mutants[] = {
      {"code-flushes-denormals", "denormals are kept", with_float_state<0x8040>},
      {"code-rounds-upwards", "results are rounded to the nearest", with_float_state<0x4000>},
      {"code-rounds-to-zero", "results are rounded to the nearest", with_float_state<0x6000>},
      {"launch-does-nothing", "a launch runs",
       [](weir_driver_table& table) {
         table.kernel_launch = [](weir_stream, const weir_launch*, weir_status*) -> weir_result {
           return WEIR_OK;
         };
       }},
      {"launch-first-block-again", "every block of a launch runs once",
       [](weir_driver_table& table) {
         table.kernel_launch = [](weir_stream s, const weir_launch* l, weir_status* e) {
           const weir_result result = real().kernel_launch(s, l, e);
           weir_launch first = *l;
           first.grid[0] = first.grid[1] = first.grid[2] = 1;
           return result == WEIR_OK ? real().kernel_launch(s, &first, e) : result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
