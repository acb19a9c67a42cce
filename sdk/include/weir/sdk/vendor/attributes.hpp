// SPDX-License-Identifier: Apache-2.0
// Table of the weir_device_info fields that a vendor reports as numbered attributes.
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

/// A 32-bit field, and the number of the vendor's attribute for it.
struct AttributeField {
  std::size_t field;
  int attribute;
};

/// `value(attribute)` returns 0 if the vendor's library lacks the attribute; the field then keeps its value.
/// If a field has several rows, the last known attribute is used.
template <class Value>
void fill_attributes(weir_device_info& info, std::span<const AttributeField> rows, Value&& value) {
  for (const AttributeField& row : rows)
    if (const std::uint32_t found = value(row.attribute))
      std::memcpy(reinterpret_cast<std::byte*>(&info) + row.field, &found, sizeof found);
}

}  // namespace weir::sdk::vendor
