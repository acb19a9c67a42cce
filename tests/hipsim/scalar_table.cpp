// SPDX-License-Identifier: Apache-2.0
#include "scalar_table.hpp"

#include <gtest/gtest.h>

namespace weir::hipsim::test {
namespace {

constexpr unsigned first_at = 2, second_at = 4, scalar_result_at = 20;

bool same(const ScalarRow& row, u64 a, u64 b) {
  if (a == b || !row.number) return a == b;
  return row.result == 2 ? is_nan(from_bits<f16>(a)) && is_nan(from_bits<f16>(b))
                         : is_nan(from_bits<f32>(a)) && is_nan(from_bits<f32>(b));
}

void check_row(Machine& m, unsigned index, const ScalarRow& row) {
  const std::vector<u64>& first = *row.first_edges;
  const std::size_t others = row.second ? row.second_edges->size() : 1;
  for (std::size_t n = 0; n < (first.size() * others + 40) * 2; ++n) {
    const std::size_t pair = n / 2;
    const bool edges = pair < first.size() * others;
    const u64 a = edges ? first[pair % first.size()] : random_bits(n) >> (64 - 8 * row.first);
    const u64 b = !row.second ? 0
                  : edges     ? (*row.second_edges)[pair / first.size()]
                              : random_bits(n + 1) >> (64 - 8 * row.second);
    const u64 before = random_bits(n + 2);
    m.wave.set64(first_at, a), m.wave.set64(second_at, b), m.wave.set64(scalar_result_at, before);
    m.wave.scc = n & 1;
    bool scc = n & 1;
    const u64 result = row.call(row.function, a, b, before, scc);
    m.step(index);
    // 16-bit results clear the upper half of their register.
    const u64 got = row.result == 8 ? m.s64(scalar_result_at) : row.result ? u32(m.s64(scalar_result_at)) : 0;
    if (same(row, result, got) && scc == m.wave.scc) continue;
    ADD_FAILURE() << std::hex << "of " << a << " and " << b << " over " << before << " with SCC " << (n & 1)
                  << ": got " << got << " and SCC " << m.wave.scc << ", expected " << result << " and "
                  << scc;
    return;
  }
}

std::string with_operands(const ScalarRow& row) {
  std::string text;
  const auto name = [](unsigned at, unsigned bytes) { return registers('s', at, bytes == 8 ? 2 : 1); };
  for (std::size_t n = 0; n < row.text.size(); ++n) {
    if (row.text[n] != '%') {
      text += row.text[n];
      continue;
    }
    const char what = row.text[++n];
    text += what == 'd'   ? name(scalar_result_at, row.result)
            : what == 'a' ? name(first_at, row.first)
                          : name(second_at, row.second);
  }
  return text;
}

}  // namespace

void ScalarTable::add_row(const std::string& names, const ScalarRow& row) {
  for (const std::string& name : words_of(names))
    cases_.push_back({name, name + " " + with_operands(row),
                      [row](Machine& m, unsigned index) { check_row(m, index, row); }});
}

}  // namespace weir::hipsim::test
