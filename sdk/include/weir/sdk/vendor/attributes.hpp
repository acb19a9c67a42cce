// SPDX-License-Identifier: Apache-2.0
// The fields of weir_device_info that a vendor tells as numbered attributes, as a table.
//
//   constexpr AttributeField fields[] = {{offsetof(weir_device_info, lanes), 10}, ...};
//   fill_attributes(info, fields, [&](int attribute) { return value_of(device, attribute); });
#pragma once

#include <weir/driver.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weir::sdk::vendor {

/// A 32-bit field, and the vendor's number for what fills it.
struct AttributeField {
  std::size_t field;
  int attribute;
};

/// `value(attribute)` is 0 where the vendor's library does not know the attribute; the field keeps what it
/// had then. So a later row of one field is the one that counts where both are known.
template <class Value>
void fill_attributes(weir_device_info& info, std::span<const AttributeField> rows, Value&& value) {
  for (const AttributeField& row : rows)
    if (const std::uint32_t found = value(row.attribute))
      std::memcpy(reinterpret_cast<std::byte*>(&info) + row.field, &found, sizeof found);
}

}  // namespace weir::sdk::vendor
