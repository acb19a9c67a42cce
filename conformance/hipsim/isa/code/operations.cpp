// SPDX-License-Identifier: Apache-2.0
#include "isa/code/operations.hpp"

#include <string>
#include <unordered_map>

namespace weir::hipsim {
namespace {

class Table : public OperationTable {
 public:
  using OperationTable::add;
  void add(std::string_view name, Operation operation) override { operations_.emplace(name, operation); }
  const Operation* find(std::string_view name) const {
    const auto found = operations_.find(std::string(name));
    return found == operations_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string, Operation> operations_;
};

#define HIPSIM_DEFINE_VECTOR(simd, t)                                                                  \
  simd::define_float(t), simd::define_double(t), simd::define_half(t), simd::define_integer(t),        \
      simd::define_bytes(t), simd::define_carry(t), simd::define_convert(t), simd::define_division(t), \
      simd::define_compare(t), simd::define_packed(t), simd::define_later(t)

Table make_table() {
  Table t;
#ifdef HIPSIM_HAS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    HIPSIM_DEFINE_VECTOR(avx2, t);
  else
    HIPSIM_DEFINE_VECTOR(baseline, t);
#else
  HIPSIM_DEFINE_VECTOR(baseline, t);
#endif
  define_lanes(t);
  define_dual(t);
  define_scalar_arithmetic(t);
  define_scalar_bits(t);
  define_scalar_compare(t);
  define_scalar_float(t);
  define_scalar_half(t);
  define_scalar_control(t);
  define_scalar_memory(t);
  define_global_memory(t);
  define_global_atomics(t);
  define_buffer_memory(t);
  define_local_memory(t);
  define_local_atomics(t);
  return t;
}

}  // namespace

const Operation* find_operation(std::string_view mnemonic) {
  static const Table& table = *new Table(make_table());
  if (const Operation* found = table.find(mnemonic)) return found;
  // Each half of a dual instruction has the operation of the single instruction.
  if (mnemonic.starts_with("v_dual_")) return table.find("v_" + std::string(mnemonic.substr(7)));
  return nullptr;
}

}  // namespace weir::hipsim
