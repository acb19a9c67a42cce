// SPDX-License-Identifier: Apache-2.0
#include "aimed_kernel.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "aimed_long_bodies.hpp"
#include "ir/groups.hpp"
#include "ir/rules.hpp"

namespace weir::test {
namespace {

/// Requirements of a form of code on the launch and on the kernel.
struct Needs {
  bool no_alias = false, aligned = false, unchecked = false, straight = false;
};

Needs needs_of(Row row) {
  switch (row) {
    case Row::cpu_lane_loop:
      return {.unchecked = true, .straight = true};
    case Row::gpu_packets_2:
    case Row::gpu_packets_4:
    case Row::gpu_packets_8:
    case Row::gpu_packet_edges:
    case Row::gpu_tile_packets:
      return {.aligned = true, .unchecked = true, .straight = true};
    case Row::gpu_shared_loops:
      return {.unchecked = true, .straight = true};
    case Row::gpu_staged_reads:
      return {.no_alias = true, .unchecked = true, .straight = true};
    case Row::gpu_long_body:
    case Row::cpu_private_counters:
    case Row::cpu_direct_counters:
    case Row::gpu_private_counters:
    case Row::gpu_direct_counters:
      return {.no_alias = true};
    case Row::cpu_private_sums:
    case Row::gpu_private_sums:
      return {.no_alias = true, .unchecked = true};
    default:
      return {};
  }
}

bool is_between_loops(Row row) {
  return row == Row::cpu_serial || row == Row::gpu_serial || row == Row::cpu_reduce_final ||
         row == Row::gpu_reduce_final;
}
bool is_sum(Row row) {
  return row == Row::cpu_private_sums || row == Row::gpu_private_sums;
}
bool is_phases(Row row) {
  return row == Row::cpu_phases || row == Row::gpu_phases || is_grid_row(row);
}
bool is_region(Row row) {
  return row == Row::cpu_region || row == Row::gpu_region;
}
bool is_facts(Row row) {
  return row >= Row::gpu_facts;
}
/// Statements that keep LLVM's vectorisers from vectorising the enclosing loop.
bool is_scalar(Kind kind) {
  return kind == kind_of(Op::while_) || kind == kind_of(Op::for_) || kind == kind_of(Op::break_) ||
         kind == kind_of(Op::continue_) || kind == assert_kind || kind == print_kind ||
         is_local_array_kind(kind) || kind == library_math_kind || kind == kind_of(Op::rem) ||
         (kind >= first_atomic_kind && kind < local_array_kind);
}

class AimedGenerator : private AimedLongBodies {
 public:
  AimedGenerator(const Aim& aim, const std::vector<Aim>& others, Choices& choices)
      : AimedLongBodies(choices), aim_(aim), others_(others) {}

  RunnableKernel run() {
    k_.name = "aimed";
    k_.files = {"random.cpp", "other.hpp"};
    choose_style();
    choose_spaces();
    input(ScalarType::f32, 1);
    if (c_.chance(aim_.kind == kind_of(Op::extent) ? 2 : 8)) {
      huge_ = add_array(Role::input, ScalarType::u8, 2, ElementType::Shape::scalar);
      extents_[huge_] = {(std::int64_t{1} << 32) + 5, 0};
      arrays_.pop_back();  // the array has no element to load
    }
    for (int n = 0; n < 2; ++n) insert(k_.body, kind_of(Op::scratch_load));
    const std::size_t loops = c_.chance(3) ? 2 + c_.below(2) : 1, aimed = c_.below(loops);
    for (std::size_t n = 0; n < loops; ++n) make_part(n == aimed ? aim_ : other());
    if (aim_.kind == kind_of(Op::scratch_store)) make_part({plain_row(), kind_of(Op::scratch_load)});
    if (c_.chance(12)) divided_loop();
    if (c_.chance(12)) rewritten_rows();
    RunnableKernel result;
    if (!aligned_)
      for (const Array& a : arrays_)
        if (a.parameter == 0 || (k_.parameters[a.parameter].rank == 1 && c_.chance(2)))
          result.shifted.push_back(a.parameter);
    if (!distinct_) share(result);
    k_.options.deterministic = ir::order_dependences(k_).empty() && c_.chance(2);
    result.kernel = std::move(k_);
    result.extents = std::move(extents_);
    return result;
  }

 private:
  bool for_gpu() const { return is_gpu_row(aim_.row); }
  Row plain_row() const { return for_gpu() ? Row::gpu_thread_loop : Row::cpu_scalar_loop; }

  void choose_style() {
    const Needs needs = needs_of(aim_.row);
    if (is_facts(aim_.row)) {
      const std::size_t assumptions =
          static_cast<std::size_t>(aim_.row) - static_cast<std::size_t>(Row::gpu_facts);
      distinct_ = assumptions & 1;
      narrow_ = assumptions & 2;
      aligned_ = assumptions & 4;
    } else {
      distinct_ = needs.no_alias || !c_.chance(4);
      narrow_ = !c_.chance(4);
      aligned_ = needs.aligned || (c_.chance(4) ? false : aim_.row != Row::gpu_tiles || c_.chance(2));
    }
    k_.options.no_phases = !is_region(aim_.row) && (!is_phases(aim_.row) || c_.chance(2));
    k_.options.check_bounds = !needs.unchecked && c_.chance(8);
  }

  void choose_spaces() {
    const auto below = [&](std::size_t limit) { return static_cast<std::int64_t>(c_.below(limit)); };
    const bool long_rows = aim_.row == Row::gpu_staged_reads;
    full_[1] = {long_rows      ? 150 + below(300)
                : c_.chance(3) ? 1 + below(60)
                               : 200 + below(c_.chance(6) ? 5000 : 1500)};
    const auto columns = [&](std::size_t most) {
      return aligned_ ? 16 * (1 + below(most / 16)) : 1 + 2 * below(most / 2);
    };
    std::int64_t wide = columns(c_.chance(3) ? 272 : 80);
    if (aim_.row == Row::cpu_group_vectors) wide += 32;
    full_[2] = {1 + below(wide > 80 ? 20 : 40), wide};
    full_[3] = {1 + below(4), 1 + below(9), columns(48)};
    // Each loop fits a phase. Long bodies take the interpreter long.
    if (is_region(aim_.row) || aim_.row == Row::gpu_long_body) {
      full_[1] = {1 + below(250)};
      full_[2] = {1 + below(8), columns(32)};
      full_[3] = {1 + below(2), 1 + below(4), columns(32)};
    }
    if (aim_.row == Row::cpu_group_vectors) full_[3][2] += 32;
  }

  // An aim that is compatible with the launch and with the kernel's main aim.
  Aim other() {
    for (int tries = 0; tries < 8; ++tries) {
      const Aim aim = others_[c_.below(others_.size())];
      const Needs needs = needs_of(aim.row);
      if (is_facts(aim.row) || is_gpu_row(aim.row) != for_gpu() || (needs.no_alias && !distinct_) ||
          (needs.aligned && !aligned_) || (needs.unchecked && k_.options.check_bounds) ||
          aim.kind == kind_of(Op::scratch_store) || is_phases(aim.row) || is_region(aim.row))
        continue;
      return aim;
    }
    return {plain_row(), kind_of(Op::add)};
  }

  void make_part(const Aim& aim) {
    used_.clear();
    Aim part = aim;
    if (is_facts(part.row)) part.row = is_group_kind(part.kind) ? Row::gpu_group_blocks : plain_row();
    if (is_phases(part.row)) return phases(part);
    if (is_region(part.row)) return region(part);
    if (part.kind == kind_of(Op::scratch_store) && !is_between_loops(part.row))
      part.row = for_gpu() ? Row::gpu_serial : Row::cpu_serial;
    if (is_between_loops(part.row)) {
      if (part.row == Row::cpu_reduce_final || part.row == Row::gpu_reduce_final)
        loop(k_.body, {for_gpu() ? Row::gpu_reduce : Row::cpu_reduce, kind_of(Op::add)});
      for (std::size_t n = 1 + c_.below(2); n > 0; --n) insert(k_.body, part.kind);
      return;
    }
    if (c_.chance(10)) return region(part);
    loop(k_.body, part);
  }

  /// A variable of statements between loops.
  struct Carried {
    std::uint32_t local;
    ScalarType type;
  };
  Value value_of(Block& out, const Carried& carried) {
    Statement get = make(Op::get, carried.type);
    get.index = carried.local;
    return {emit(out, std::move(get)), carried.type};
  }
  Carried carried_value() {
    const Carried carried{k_.local_count++, arithmetic()};
    Statement local = make(Op::local, carried.type);
    local.index = carried.local;
    local.immediate = 1;
    k_.body.statements.push_back(std::move(local));
    return carried;
  }
  // A loop that uses the variable, and no other value from between loops. Loads of bounds would be among the
  // statements that set the variable.
  void use(Block& out, const Carried& carried) {
    const std::vector<Value> others = std::exchange(top_, {value_of(out, carried)});
    loads_bounds_ = false;
    loop(out, {plain_row(), kind_of(Op::scratch_load)});
    loads_bounds_ = true;
    top_ = others;
  }
  // Adds a reduction's result to the variable. Each block of a grid does so for itself, since nothing else in
  // memory is used.
  void carry(Block& out, const Carried& carried) {
    const Aim reduction{c_.chance(2) ? Row::gpu_reduce : Row::gpu_reduce_strips, kind_of(Op::add)};
    const ValueId result = loop(out, reduction, carried.type);
    Statement set = make(Op::set, carried.type);
    set.index = carried.local;
    const ValueId before = value_of(out, carried).id;
    set.operands = {binary(out, c_.chance(2) ? Op::add : Op::max, carried.type, before, result)};
    out.statements.push_back(std::move(set));
    use(out, carried);
  }

  // A repeat whose count only the device knows.
  void phases(const Aim& aim) {
    std::optional<Carried> carried;
    if (aim.row == Row::gpu_replicated_phases) carried = carried_value();
    const std::size_t visible = values_.size();
    const ValueId any = loaded(k_.body, input(ScalarType::i64, 1), 0, 0);
    const ValueId few = binary(k_.body, Op::bit_and, ScalarType::i64, any, number(k_.body, 1));
    Statement s = make(Op::repeat);
    s.operands = {binary(k_.body, Op::add, ScalarType::i64, few, number(k_.body, 1))};
    values_.resize(visible);
    const Scope scope = enter();
    const std::size_t outside = top_.size();
    Block block;
    index(block);
    const std::size_t loops = 1 + c_.below(2), aimed = c_.below(loops);
    for (std::size_t n = 0; n < loops; ++n) {
      used_.clear();
      if (n == aimed && aim.kind == kind_of(Op::scratch_store)) insert(block, aim.kind);
      const bool reduces = c_.chance(4);
      const Row plain = reduces ? for_gpu() ? Row::gpu_reduce_strips : Row::cpu_reduce : plain_row();
      const bool passes = aim.kind == kind_of(Op::scratch_store);
      loop(block, {plain, passes ? kind_of(Op::scratch_load) : n == aimed ? aim.kind : kind_of(Op::add)});
    }
    if (carried) carry(block, *carried);
    top_.resize(outside);
    s.bodies.push_back(std::move(block));
    leave(scope);
    k_.body.statements.push_back(std::move(s));
    if (carried && c_.chance(2)) use(k_.body, *carried);
  }

  void region(const Aim& aim) {
    Statement s = make(Op::region);
    const std::size_t blocks = 2 + c_.below(2);
    for (std::size_t n = 0; n < blocks; ++n) {
      const Scope scope = enter();
      const std::size_t outside = top_.size();
      Block block;
      block_ = static_cast<int>(n);
      used_.clear();
      Aim part = n == 0 ? aim : other();
      if (is_region(part.row) || is_between_loops(part.row)) part.row = plain_row();
      if (is_region(aim.row)) {  // blocks of several loops
        if (part.kind == kind_of(Op::scratch_store)) {
          insert(block, part.kind);
          part.kind = kind_of(Op::scratch_load);
        }
        if (c_.chance(2))
          loop(block, {for_gpu() ? Row::gpu_reduce_strips : Row::cpu_reduce, kind_of(Op::add)});
      }
      loop(block, part);
      top_.resize(outside);
      s.bodies.push_back(std::move(block));
      leave(scope);
    }
    block_ = -1;
    k_.body.statements.push_back(std::move(s));
  }

  // Of the first dimensions: from `low` to at most the number of iterations for which arrays of the rank have
  // elements.
  void bounds(Block& out, std::size_t rank, std::size_t dimensions, std::vector<ValueId>& operands) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      const std::int64_t all = full_[rank][d];
      const std::int64_t low = c_.chance(2) ? 0 : static_cast<std::int64_t>(c_.below(4));
      const std::int64_t less = c_.chance(2) ? 0 : static_cast<std::int64_t>(c_.below(4));
      const std::size_t visible = values_.size();
      // Repeats whose loops may be long take the grid.
      const bool on_grid = is_grid_row(aim_.row);
      const bool device = loads_bounds_ && (on_grid || !narrow_) && (d == 0 || c_.chance(3));
      ValueId first = number(out, low), end = ir::no_value;
      if (device) {
        const ValueId any = loaded(out, input(ScalarType::i64, 1), 0, 0);
        const ValueId by = binary(out, Op::bit_and, ScalarType::i64, any, number(out, 3));
        end = binary(out, Op::sub, ScalarType::i64, number(out, all), by);
      } else if (c_.chance(3)) {
        const std::uint32_t p = input(ScalarType::f32, rank);
        const std::int64_t over = extents_[p][d] - all + less;
        const ValueId extents = extent(out, p, d);
        end = binary(out, Op::sub, ScalarType::i64, extents, number(out, over));
      } else if (c_.chance(3)) {
        const std::uint32_t p = scalar(ScalarType::i64);
        Statement s = make(Op::argument, ScalarType::i64);
        s.index = p;
        const ValueId any = emit(out, std::move(s));
        const ValueId by = binary(out, Op::bit_and, ScalarType::i64, any, number(out, 3));
        end = binary(out, Op::sub, ScalarType::i64, number(out, all), by);
      } else {
        end = number(out, all - less);
      }
      values_.resize(visible);
      operands.push_back(first);
      operands.push_back(end);
    }
  }

  std::size_t rank_for(Row row) {
    switch (row) {
      case Row::gpu_tiles:
      case Row::gpu_tile_packets:
        return c_.chance(4) ? 3 : 2;
      case Row::gpu_staged_reads:
        return 1;
      case Row::cpu_lane_loop:
        return 1 + c_.below(2);
      default:
        return 1 + c_.below(c_.chance(2) ? 3 : 1);
    }
  }

  // The result of a reduction of the type `wanted` is returned, that of others is stored.
  ValueId loop(Block& out, const Aim& aim, std::optional<ScalarType> wanted = {}) {
    if (is_group_row(aim.row)) return group_loop(out, aim), ir::no_value;
    const std::size_t rank = rank_for(aim.row);
    Statement s = make(is_reduction(aim.row) ? Op::reduce : Op::parallel);
    const bool reduction = s.op == Op::reduce;
    bounds(out, rank, rank, s.operands);
    if (is_sum(aim.row)) clear_sums(out);
    if (reduction) {
      const auto choose_kind = [&] { s.index = static_cast<std::uint32_t>(c_.below(ir::reduce_kind_count)); };
      choose_kind();
      do
        if (wanted)
          choose_kind(), s.type = *wanted;
        else
          s.type = c_.chance(5) ? ScalarType::boolean : arithmetic();
      while (!ir::reduces(static_cast<ir::ReduceKind>(s.index), s.type));
    }
    const Scope scope = enter();
    Block block;
    loop_ = {};
    for (std::size_t d = 0; d < rank; ++d) {
      index(block);
      loop_.indices.push_back(block.arguments.back());
      loop_.ends.push_back(s.operands[2 * d + 1]);
    }
    simple_math_ = aim.row == Row::cpu_lane_loop;
    uniform_loops_ = needs_of(aim.row).straight;
    if (aim.row == Row::gpu_reduce) sum_kept_values(block, s.type);
    body(block, aim);
    // On CPUs, prints can come after the loop, which then has vectors.
    if ((aim.row == Row::cpu_vector_loop || aim.row == Row::cpu_scalar_loop) && c_.chance(6))
      insert(block, print_kind);
    if (reduction) {
      Statement yield = make(Op::yield);
      yield.operands = {kept_ ? sum_of_kept(block) : fresh(block, s.type)};
      block.statements.push_back(std::move(yield));
    }
    kept_.reset();
    s.bodies.push_back(std::move(block));
    leave(scope);
    loop_ = {};
    counting_ = simple_math_ = uniform_loops_ = false;
    min_size_ = 0;
    if (!reduction) {
      out.statements.push_back(std::move(s));
      return ir::no_value;
    }
    const ScalarType type = s.type;
    const ValueId result = emit(out, std::move(s));
    if (!wanted) keep(out, result, type);
    return result;
  }

  // The threads in one dimension of a group: few for loops without vectors.
  std::uint64_t thread_extent(Row row, std::int64_t most, bool last) {
    static constexpr std::uint64_t sizes[] = {1,  2,  3,  4,  5,  8,   16,  24, 31,
                                              32, 33, 48, 64, 96, 100, 128, 256};
    std::uint64_t size = 1;
    do size = sizes[row == Row::cpu_group_loops ? c_.below(3) : c_.below(std::size(sizes))];
    while (size > static_cast<std::uint64_t>(most));
    return row == Row::cpu_group_vectors && last && most >= 32 ? 32 : size;
  }

  void group_loop(Block& out, const Aim& aim) {
    const std::size_t rank = 2 + c_.below(2), dimensions = 1 + c_.below(rank - 1);
    Statement s = make(Op::parallel);
    bounds(out, rank, rank - dimensions, s.operands);
    std::vector<std::uint64_t> threads;
    const std::size_t visible = values_.size();
    for (std::size_t d = rank - dimensions; d < rank; ++d) {
      const bool last = d + 1 == rank;
      threads.push_back(is_wave_kind(aim.kind) && last && full_[rank][d] >= 64
                            ? 64
                            : thread_extent(aim.row, full_[rank][d], last));
      s.operands.push_back(number(out, 0));
      s.operands.push_back(number(out, static_cast<std::int64_t>(threads.back())));
    }
    values_.resize(visible);
    ir::set_group(s, threads);
    over_indices(out, std::move(s), rank, [&](Block& block) {
      if (aim.row == Row::cpu_group_vectors) wide_add(block);
      group_body(block, threads, aim.kind);
      if (const Kind kind = others_[c_.below(others_.size())].kind;
          !impossible(aim.row, kind) && (aim.row == Row::gpu_group_blocks || c_.chance(2)))
        group_part(block, kind);
    });
  }

  void sum_kept_values(Block& out, ScalarType type) {
    kept_ = Kept{local(out, type), type};
  }

  void body(Block& out, const Aim& aim) {
    switch (aim.row) {
      case Row::cpu_scalar_loop:
      case Row::cpu_reduce:
        if (!is_scalar(aim.kind)) short_while(out, false);
        break;
      case Row::cpu_vector_loop:
      case Row::cpu_reduce_vector:
        if (is_scalar(aim.kind) || c_.chance(4)) {
          wide_sum(out);
          break;
        }
        wide_add(out);
        break;
      case Row::cpu_lane_loop:
        return around_loop(out, aim.kind, InnerLoop::lane_loop);
      case Row::gpu_reduce_strips:
        insert(out, kind_of(Op::store));
        break;
      case Row::gpu_long_body: {
        std::vector<Kind> kinds;
        for (Kind kind = 0; kind < kind_count; ++kind)
          if (is_kind(kind) && !impossible(aim.row, kind)) kinds.push_back(kind);
        return long_body(out, std::move(kinds));
      }
      case Row::gpu_packets_2:
        neighbours(out, 8);
        break;
      case Row::gpu_packets_4:
        neighbours(out, 4);
        break;
      case Row::gpu_packets_8:
        neighbours(out, std::size_t{1} << c_.below(2));
        break;
      case Row::gpu_packet_edges:
        if (aim.kind == kind_of(Op::for_)) return around_loop(out, aim.kind, InnerLoop::shared_loop);
        neighbours(out, std::size_t{1} << c_.below(4));
        break;
      case Row::gpu_tiles:
      case Row::gpu_tile_packets:
        rows(out, aim.row == Row::gpu_tile_packets, aim_.kind != kind_of(Op::philox));
        if (aim.row == Row::gpu_tiles && aligned_) insert(out, kind_of(Op::if_));
        break;
      case Row::gpu_shared_loops:
        return around_loop(out, aim.kind, InnerLoop::shared_loop);
      case Row::gpu_staged_reads:
        return around_loop(out, aim.kind, InnerLoop::staged_loop);
      case Row::cpu_private_counters:
      case Row::cpu_direct_counters:
      case Row::gpu_private_counters:
      case Row::gpu_direct_counters: {
        counting_ = true;
        if (aligned_ && !k_.options.check_bounds && c_.chance(2))
          neighbours(out, std::size_t{1} << c_.below(4));
        const bool large = aim.row == Row::cpu_direct_counters || aim.row == Row::gpu_direct_counters;
        const std::int64_t count =
            large ? 4097 + std::int64_t(c_.below(900)) : 1 + std::int64_t(c_.below(c_.chance(2) ? 8 : 400));
        add_to_counters(out, counter(c_.chance(2) ? ScalarType::i32 : ScalarType::u32, count));
        break;
      }
      case Row::cpu_private_sums:
      case Row::gpu_private_sums:
        if (aligned_ && c_.chance(2)) neighbours(out, std::size_t{1} << c_.below(4));
        for (const std::uint32_t p : sums_) add_to_sum(out, p);
        break;
      default:
        break;
    }
    if (aim.row == Row::gpu_packets_2 && aim.kind == kind_of(Op::for_))
      return around_loop(out, aim.kind, InnerLoop::shared_loop);
    insert(out, aim.kind);
    // More statements of the same loop, except in wide packets, whose size limits a body's cost.
    if (needs_of(aim.row).aligned) return;
    for (std::size_t n = c_.below(2); n > 0; --n) {
      const Kind kind = others_[c_.below(others_.size())].kind;
      if (!impossible(aim.row, kind) && kind != kind_of(Op::scratch_store) &&
          (aim.row != Row::cpu_vector_loop || !is_scalar(kind)))
        insert(out, kind);
    }
  }

  // An array that no statement accesses shares the memory of a written one.
  void share(RunnableKernel& result) {
    std::uint32_t written = RunnableKernel::none;
    for (const Array& a : arrays_)
      if (a.role == Role::output && k_.parameters[a.parameter].rank != 0 && is_written(k_.body, a.parameter))
        written = a.parameter;
    if (written == RunnableKernel::none) return;
    result.shadow =
        add_array(Role::input, k_.parameters[written].element.scalar, 1, ElementType::Shape::scalar);
    result.shadowed = written;
    k_.parameters[result.shadow].element = k_.parameters[written].element;
    extents_[result.shadow] = {1};
  }

  static bool is_written(const Block& block, std::uint32_t parameter) {
    return std::any_of(block.statements.begin(), block.statements.end(), [&](const Statement& s) {
      return ((s.op == Op::store || s.op == Op::atomic) && s.index == parameter) ||
             std::any_of(s.bodies.begin(), s.bodies.end(),
                         [&](const Block& body) { return is_written(body, parameter); });
    });
  }

  const Aim aim_;
  const std::vector<Aim>& others_;
  bool loads_bounds_ = true;  ///< whether bounds of loops may come from arrays
  bool distinct_ = true, narrow_ = true;
};

}  // namespace

RunnableKernel aimed_kernel(const Aim& aim, const std::vector<Aim>& others, Choices& choices) {
  return AimedGenerator(aim, others, choices).run();
}

}  // namespace weir::test
