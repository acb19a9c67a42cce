// SPDX-License-Identifier: Apache-2.0
#include "driver/communicator_plugin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>
#include <weir/error.hpp>

#include "driver/table.hpp"

namespace weir {

CommunicatorPlugin::CommunicatorPlugin(const weir_communicator_table& table, std::uint32_t abi_min,
                                       std::uint32_t abi_max) {
  check_table_version(PluginKind::communicator, &table, abi_min, abi_max);
  // A size that ends inside a slot excludes that slot.
  std::size_t size = std::min<std::size_t>(table.struct_size, sizeof table_);
  size -= (size - sizeof(TableHead)) % sizeof(void*);
  std::memcpy(&table_, &table, size);
  table_.struct_size = sizeof table_;
  std::vector<std::string_view> missing;
  const auto need = [&](bool present, std::string_view slot) {
    if (!present) missing.push_back(slot);
  };
#define WEIR_SLOT(slot) need(table_.slot, #slot)
  WEIR_SLOT(communicator_get_info);
  WEIR_SLOT(group_join);
  WEIR_SLOT(group_leave);
  WEIR_SLOT(group_abort);
  WEIR_SLOT(group_get_info);
  WEIR_SLOT(exchange);
  WEIR_SLOT(broadcast);
  WEIR_SLOT(all_gather);
  WEIR_SLOT(reduce_scatter);
  WEIR_SLOT(all_reduce);
  WEIR_SLOT(all_to_all);
  WEIR_SLOT(barrier);
#undef WEIR_SLOT
  if (!missing.empty())
    throw Error(ErrorCode::invalid, fmt::format("the communicator's table lacks required functions: {}",
                                                fmt::join(missing, ", ")));
  TableTexts texts = read_table_texts(PluginKind::communicator, &table_);
  name_ = std::move(texts.name);
  version_ = std::move(texts.version);
  vendor_ = std::move(texts.vendor);
  // Copies, so that messages never depend on the communicator's memory.
  table_.name = name_.c_str();
  table_.version = version_.c_str();
  table_.vendor = vendor_.c_str();
}

}  // namespace weir
