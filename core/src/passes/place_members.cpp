// SPDX-License-Identifier: Apache-2.0
#include "passes/place_members.hpp"

#include <bit>
#include <string>
#include <utility>

namespace weir::passes {

namespace {

using detail::StructMember;
using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

/// A member's place in a row, in scalars.
struct PlacedMember {
  const ir::StructParameter* array = nullptr;  ///< null where the member stays as it is
  const StructMember* member = nullptr;
  std::uint32_t block_length = 0;  ///< 0 for an array of structs
  std::uint64_t offset = 0;
  std::array<std::uint64_t, StructMember::max_member_rank> strides{};
};

PlacedMember placed(const ir::StructParameter& array, const Layout& layout, std::size_t m) {
  const StructMember& member = array.members[m];
  const detail::StructType type{array.size_bytes, array.members};
  const std::uint64_t scalar = size_of(member.element.scalar);
  PlacedMember result{
      &array, &member, layout.block_length(), detail::member_place(type, layout, 0, m) / scalar, {}};
  std::uint64_t packed = member.element.components();
  for (std::size_t d = member.rank; d-- > 0; packed *= member.extents[d])
    result.strides[d] = layout.kind() == Layout::Kind::structs ? member.strides[d] / scalar : packed;
  return result;
}

class Placement {
 public:
  Placement(ir::Kernel& kernel, std::span<const ir::StructParameter> structs, std::span<const Layout> layouts,
            bool check)
      : kernel_(kernel), members_(kernel.parameters.size()), check_(check) {
    for (std::size_t s = 0; s < structs.size(); ++s) {
      if (layouts[s].kind() == Layout::Kind::arrays) continue;
      for (std::size_t m = 0; m < structs[s].members.size(); ++m) {
        const std::size_t p = structs[s].first + 1 + m;
        members_[p] = placed(structs[s], layouts[s], m);
        ir::Parameter& parameter = kernel.parameters[p];
        parameter.element = ElementType{parameter.element.scalar};
        parameter.rank = 2;
      }
    }
  }

  void block(Block& block) {
    std::vector<Statement> statements = std::exchange(block.statements, {});
    for (Statement& s : statements) {
      for (Block& body : s.bodies) this->block(body);
      out_ = &block.statements;
      location_ = s.location;
      if ((s.op == Op::load || s.op == Op::store || s.op == Op::atomic) && members_[s.index].array)
        access(s, members_[s.index]);
      block.statements.push_back(std::move(s));
    }
  }

 private:
  void access(Statement& s, const PlacedMember& place) {
    const StructMember& member = *place.member;
    ValueId row = s.operands[0];
    ValueId scalar = constant(place.offset + s.component);
    if (place.block_length != 0) {
      if (check_) check(row, size_of_array(*place.array), place, s.index);
      const ValueId in_block = operation(Op::bit_and, row, constant(place.block_length - 1));
      row = operation(Op::shr, row, constant(std::countr_zero(place.block_length)));
      scalar = add(scalar, in_block, member.count() * member.element.components());
    }
    for (std::size_t d = 0; d < member.rank; ++d) {
      const ValueId index = s.operands[1 + d];
      if (check_) check(index, constant(member.extents[d]), place, s.index);
      scalar = add(scalar, index, place.strides[d]);
    }
    s.component = 0;
    std::vector<ValueId> operands{row, scalar};
    operands.insert(operands.end(), s.operands.begin() + 1 + member.rank, s.operands.end());
    s.operands = std::move(operands);
  }

  ValueId add(ValueId sum, ValueId index, std::uint64_t stride) {
    return operation(Op::add, sum, operation(Op::mul, index, constant(stride)));
  }

  void check(ValueId index, ValueId size, const PlacedMember& place, std::uint32_t parameter) {
    const ValueId low = operation(Op::ge, index, constant(0), ScalarType::boolean);
    const ValueId high = operation(Op::lt, index, size, ScalarType::boolean);
    Statement assertion = statement(Op::assert_, ScalarType::boolean);
    assertion.operands = {operation(Op::bit_and, low, high, ScalarType::boolean)};
    assertion.index = static_cast<std::uint32_t>(kernel_.strings.size());
    kernel_.strings.push_back("an index is outside " + place.array->describe_member(kernel_, parameter));
    out_->push_back(std::move(assertion));
  }

  ValueId size_of_array(const ir::StructParameter& array) {
    Statement size = statement(Op::argument, ScalarType::i64);
    size.index = array.first;
    return append(std::move(size));
  }
  ValueId constant(std::uint64_t value) {
    Statement s = statement(Op::constant, ScalarType::i64);
    s.immediate = value;
    return append(std::move(s));
  }
  ValueId operation(Op op, ValueId a, ValueId b, ScalarType type = ScalarType::i64) {
    Statement s = statement(op, type);
    s.operands = {a, b};
    return append(std::move(s));
  }
  Statement statement(Op op, ScalarType type) const {
    Statement s{};
    s.op = op;
    s.type = type;
    s.location = location_;
    return s;
  }
  ValueId append(Statement s) {
    s.result = kernel_.value_count++;
    out_->push_back(std::move(s));
    return out_->back().result;
  }

  ir::Kernel& kernel_;
  std::vector<PlacedMember> members_;  // by parameter
  bool check_;
  std::vector<Statement>* out_ = nullptr;
  ir::Location location_;
};

}  // namespace

void place_members(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                   std::span<const Layout> layouts, bool check) {
  Placement(kernel, structs, layouts, check).block(kernel.body);
}

}  // namespace weir::passes
