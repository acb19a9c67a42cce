// SPDX-License-Identifier: Apache-2.0
#include "passes/place_members.hpp"

#include <bit>

#include "passes/index_writer.hpp"

namespace weir::passes {

namespace {

using detail::StructMember;
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

class MemberPlacement {
 public:
  MemberPlacement(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                  std::span<const Layout> layouts, bool check)
      : kernel_(kernel), write_(kernel), members_(kernel.parameters.size()), check_(check) {
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

  void run() {
    write_.each(kernel_.body, [&](Statement& s) {
      if (is_access(s) && members_[s.index].array) access(s, members_[s.index]);
    });
  }

 private:
  void access(Statement& s, const PlacedMember& place) {
    const StructMember& member = *place.member;
    ValueId row = s.operands[0];
    ValueId scalar = write_.constant(place.offset + s.component);
    if (place.block_length != 0) {
      if (check_) check(row, write_.argument(place.array->first), place, s.index);
      const ValueId in_block = write_.operation(Op::bit_and, row, write_.constant(place.block_length - 1));
      row = write_.operation(Op::shr, row, write_.constant(std::countr_zero(place.block_length)));
      scalar = write_.add(scalar, in_block, write_.constant(member.count() * member.element.components()));
    }
    for (std::size_t d = 0; d < member.rank; ++d) {
      const ValueId index = s.operands[1 + d];
      if (check_) check(index, write_.constant(member.extents[d]), place, s.index);
      scalar = write_.add(scalar, index, write_.constant(place.strides[d]));
    }
    IndexWriter::replace_indices(s, 1 + member.rank, {row, scalar});
  }

  void check(ValueId index, ValueId size, const PlacedMember& place, std::uint32_t parameter) {
    write_.check(index, size, "an index is outside " + place.array->describe_member(kernel_, parameter));
  }

  ir::Kernel& kernel_;
  IndexWriter write_;
  std::vector<PlacedMember> members_;  // by parameter
  bool check_;
};

}  // namespace

std::vector<std::int64_t> member_indices(const ir::StructParameter& array, const Layout& layout,
                                         std::size_t number, std::vector<std::int64_t> placed) {
  if (layout.kind() == Layout::Kind::arrays) return placed;
  if (layout.kind() == Layout::Kind::structs) return {placed[0]};
  const PlacedMember member = passes::placed(array, layout, number);
  const auto scalars =
      static_cast<std::int64_t>(member.member->count() * member.member->element.components());
  return {placed[0] * member.block_length + (placed[1] - static_cast<std::int64_t>(member.offset)) / scalars};
}

void place_members(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                   std::span<const Layout> layouts, bool check) {
  MemberPlacement(kernel, structs, layouts, check).run();
}

}  // namespace weir::passes
