// SPDX-License-Identifier: Apache-2.0
#include "code/spirv.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <weir/sdk/status.hpp>

namespace weir::vulkan {
namespace {

using sdk::format_text;
using Words = std::span<const std::uint32_t>;

constexpr std::uint32_t magic = 0x07230203, newest = 0x00010600, header_words = 5;
constexpr std::uint32_t max_ids = 4u << 20;  // SPIR-V's own limit

enum Operation : std::uint32_t {
  op_entry_point = 15,
  op_capability = 17,
  op_type_bool = 20,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_array = 28,
  op_type_struct = 30,
  op_constant = 43,
  op_function = 54,
  op_function_end = 56,
  op_function_call = 57,
  op_variable = 59,
  op_type_pointer = 32,
  op_type_forward_pointer = 39,
  op_member_decorate = 72,
};
constexpr std::uint32_t model_compute = 5, storage_workgroup = 4, storage_push_constant = 9,
                        storage_physical = 5349, decoration_offset = 35;

/// A string of SPIR-V: characters in words, ended by a zero byte. False without one.
bool read_string(Words words, std::string& out) {
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  const std::size_t length = strnlen(bytes, words.size_bytes());
  out.assign(bytes, length);
  return length < words.size_bytes();
}

class Reader {
 public:
  explicit Reader(SpirvModule& out) : out_(out) {}

  std::string read(Words words) {
    for (std::size_t at = header_words; at < words.size();) {
      const std::uint32_t length = words[at] >> 16, operation = words[at] & 0xffffu;
      if (length == 0 || length > words.size() - at)
        return format_text("the instruction at word %zu has a length of %u words; %zu are left", at, length,
                           words.size() - at);
      if (const std::string why = instruction(operation, words.subspan(at + 1, length - 1)); !why.empty())
        return format_text("word %zu: %s", at, why.c_str());
      at += length;
    }
    if (inside_) return "the last function has no end";
    for (const std::uint32_t id : needed_)
      if (!functions_.contains(id)) return format_text("the function %%%u of an entry point is missing", id);
    if (out_.entry_points.empty()) return "it has no entry point for compute kernels";
    for (std::size_t k = 0; k < interfaces_.size(); ++k)
      for (const std::uint32_t id : interfaces_[k])
        if (const auto found = push_bytes_.find(id); found != push_bytes_.end())
          out_.entry_points[k].push_bytes = found->second;
    return "";
  }

 private:
  std::string instruction(std::uint32_t operation, Words operands) {
    const auto needs = [&](std::size_t count) { return operands.size() >= count; };
    switch (operation) {
      case op_capability:
        if (!needs(1)) return "OpCapability is too short";
        out_.capabilities.push_back(operands[0]);
        break;
      case op_entry_point: {
        std::string name;
        if (!needs(3) || !read_string(operands.subspan(2), name)) return "OpEntryPoint is too short";
        if (operands[0] != model_compute) break;
        out_.entry_points.push_back({name, 0});
        needed_.push_back(operands[1]);
        const std::size_t name_words = name.size() / sizeof(std::uint32_t) + 1;
        const Words interface = operands.subspan(2 + name_words);
        interfaces_.emplace_back(interface.begin(), interface.end());
        break;
      }
      case op_function:
        if (!needs(4)) return "OpFunction is too short";
        if (inside_) return "a function begins inside another one";
        inside_ = true;
        functions_.insert(operands[1]);
        break;
      case op_function_end:
        if (!inside_) return "a function ends that did not begin";
        inside_ = false;
        break;
      case op_function_call:
        if (!needs(3)) return "OpFunctionCall is too short";
        needed_.push_back(operands[2]);
        break;
      default:
        measure(operation, operands);
    }
    return "";
  }

  /// Records the sizes of types, and adds those of workgroup variables.
  void measure(std::uint32_t operation, Words operands) {
    const auto size_of = [&](std::uint32_t id) { return sizes_.contains(id) ? sizes_[id] : 0; };
    if (operation == op_type_bool && operands.size() >= 1) sizes_[operands[0]] = 4;
    if ((operation == op_type_int || operation == op_type_float) && operands.size() >= 2)
      sizes_[operands[0]] = operands[1] / 8;
    if (operation == op_constant && operands.size() >= 3) constants_[operands[1]] = operands[2];
    if (operation == op_type_vector && operands.size() >= 3)
      sizes_[operands[0]] = size_of(operands[1]) * operands[2];
    if (operation == op_type_array && operands.size() >= 3 && constants_.contains(operands[2]))
      sizes_[operands[0]] = size_of(operands[1]) * constants_[operands[2]];
    if (operation == op_member_decorate && operands.size() >= 4 && operands[2] == decoration_offset)
      offsets_[{operands[0], operands[1]}] = operands[3];
    if (operation == op_type_struct && operands.size() >= 1) {
      std::uint32_t end = 0;
      for (std::uint32_t k = 0; k + 1 < operands.size(); ++k) {
        const auto offset = offsets_.find({operands[0], k});
        end = (offset == offsets_.end() ? end : offset->second) + size_of(operands[k + 1]);
      }
      sizes_[operands[0]] = end;
    }
    if ((operation == op_type_pointer || operation == op_type_forward_pointer) && operands.size() >= 2 &&
        operands[1] == storage_physical)
      sizes_[operands[0]] = sizeof(std::uint64_t);
    if (operation == op_type_pointer && operands.size() >= 3 &&
        (operands[1] == storage_workgroup || operands[1] == storage_push_constant))
      sizes_[operands[0]] = size_of(operands[2]);
    if (operation == op_variable && operands.size() >= 3 && operands[2] == storage_workgroup)
      out_.shared_bytes += size_of(operands[0]);
    if (operation == op_variable && operands.size() >= 3 && operands[2] == storage_push_constant)
      push_bytes_[operands[1]] = size_of(operands[0]);
  }

  SpirvModule& out_;
  bool inside_ = false;
  std::vector<std::uint32_t> needed_;  // functions
  std::set<std::uint32_t> functions_;
  std::map<std::uint32_t, std::uint32_t> sizes_, constants_, push_bytes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> offsets_;  // of members of structs
  std::vector<std::vector<std::uint32_t>> interfaces_;                        // of entry points
};

}  // namespace

std::string read_spirv(Words words, SpirvModule& out) {
  if (words.size() < header_words)
    return format_text("it has %zu words; expected a header of 5", words.size());
  if (words[0] != magic)
    return format_text("it begins with 0x%08x; expected SPIR-V's 0x%08x", words[0], magic);
  if (words[1] > newest)
    return format_text("it is of SPIR-V %u.%u; expected up to 1.6", words[1] >> 16, words[1] >> 8 & 0xffu);
  if (words[3] == 0 || words[3] > max_ids)
    return format_text("its bound of ids is %u; expected 1 to %u", words[3], max_ids);
  out = {};
  out.version = words[1];
  return Reader(out).read(words);
}

}  // namespace weir::vulkan
