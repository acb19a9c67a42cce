// SPDX-License-Identifier: Apache-2.0
// Kernels that do not compute what they say, though every call is answered as it should be.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <string>

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

/// True when `code` begins with an instruction that changes memory and may be locked, as x86 compilers write
/// them for atomics: a REX prefix or none, the operation, an operand in memory.
bool may_be_locked(std::string_view code) {
  const auto byte = [&](std::size_t i) {
    return i < code.size() ? static_cast<std::uint8_t>(code[i]) : 0xff;
  };
  std::size_t at = (byte(0) & 0xf0) == 0x40 ? 1 : 0;
  constexpr std::string_view short_operations = "\x01\x09\x21\x29\x31\x81\x83\xff";
  if (byte(at) == 0x0f) {
    if (byte(++at) != 0xb1 && byte(at) != 0xc1) return false;  // cmpxchg, xadd
  } else if (short_operations.find(static_cast<char>(byte(at))) == short_operations.npos) {
    return false;
  }
  return byte(at + 1) < 0xc0;
}

/// Machine code whose atomics are locked no more: the prefix becomes one that does nothing.
std::string without_locks(std::string_view code) {
  constexpr char lock = '\xf0', nothing = '\x3e';
  std::string changed(code);
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i] == lock && may_be_locked(code.substr(i + 1))) changed[i] = nothing;
  return changed;
}

}  // namespace

std::span<const Mutant> code_mutants() {
  static const Mutant mutants[] = {
      {"code-flushes-denormals", "denormals are kept", with_float_state<0x8040>},
      {"code-rounds-upwards", "results are rounded to the nearest", with_float_state<0x4000>},
      {"code-rounds-to-zero", "results are rounded to the nearest", with_float_state<0x6000>},
      {"code-drops-locks", "no atomic update is lost",
       [](weir_driver_table& table) {
         table.module_load = [](weir_device d, const weir_code_object* object, weir_module* out,
                                weir_status* e) {
           const std::string code = without_locks(
               {static_cast<const char*>(object->data), static_cast<std::size_t>(object->size)});
           weir_code_object changed = *object;
           changed.data = code.data();
           return real().module_load(d, &changed, out, e);
         };
       }},
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
