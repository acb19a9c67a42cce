// SPDX-License-Identifier: Apache-2.0
#include "random_kernel.hpp"

#include <algorithm>

#include "ir/rules.hpp"
#include "random_operations.hpp"

namespace weir::test {

namespace {

class Generator : private RandomOperations {
 public:
  explicit Generator(Choices& choices) : RandomOperations(choices) {}

  ir::Kernel run() {
    static constexpr const char* names[] = {"k", "step", "a name with \"quotes\" and \\", "1st",
                                            "gr\xc3\xbc\xc3\x9f"};
    k_.name = names[c_.below(5)];
    k_.options.fast_math = c_.chance(4);
    k_.options.check_bounds = c_.chance(4);
    if (c_.chance(8)) k_.options.min_resident_threads = 512;
    k_.files = {"random.cpp", "other \"file\".hpp"};
    parameters();
    while (budget_ > 0) top(k_.body, true);
    k_.options.deterministic = ir::order_dependences(k_).empty() && c_.chance(2);
    return std::move(k_);
  }

 private:
  struct Place {
    bool loop = false;      // inside while or for
    bool parallel = false;  // inside parallel or reduce
    bool condition = false;
    int depth = 0;
  };

  ValueId operand(Block& out, ScalarType type) override { return value(out, type); }

  // ---- top level

  void top(Block& out, bool body) {
    if (!body && c_.chance(3)) return store(out);
    switch (c_.below(body ? 6 : 4)) {
      case 0:
        task_loop(out, Op::parallel);
        break;
      case 1:
        task_loop(out, Op::reduce);
        break;
      case 2:
        if (repeats_ < 3 && c_.chance(2)) return repeat(out);
        statement(out, Place{});
        break;
      case 5:
        region(out);
        break;
      default:
        statement(out, Place{});
        break;
    }
  }

  void repeat(Block& out) {
    Statement s = make(Op::repeat);
    s.operands = {c_.chance(4) ? value(out, ScalarType::i64) : small_number(out, 4)};
    ++repeats_;
    const Scope around = enter();
    Block first, second;
    index(first);
    const bool conditional = c_.chance(3);
    for (Block* block : {&first, &second}) {
      const Scope scope = enter();
      for (std::size_t n = c_.below(4); n > 0; --n) top(*block, false);
      if (conditional && block == &first) {
        const ValueId holds = value(*block, ScalarType::boolean);
        Statement yield = make(Op::yield);
        yield.operands = {holds};
        block->statements.push_back(std::move(yield));
      }
      leave(scope);
      s.bodies.push_back(std::move(*block));
      if (!conditional) break;
    }
    leave(around);
    --repeats_;
    out.statements.push_back(std::move(s));
  }

  void region(Block& out) {
    Statement s = make(Op::region);
    s.immediate = c_.below(2);
    const std::size_t blocks = 1 + c_.below(3);
    for (std::size_t i = 0; i < blocks; ++i) {
      const Scope scope = enter();
      Block block;
      for (std::size_t n = c_.below(5); n > 0; --n) top(block, false);
      s.bodies.push_back(std::move(block));
      leave(scope);
    }
    out.statements.push_back(std::move(s));
  }

  void task_loop(Block& out, Op op) {
    const std::size_t rank = 1 + (c_.chance(3) ? c_.below(4) : 0);
    std::vector<ValueId> bounds;
    for (std::size_t i = 0; i < rank; ++i) {
      const bool few = !c_.chance(3);  // mostly loops with a few iterations
      bounds.push_back(few ? small_number(out, 2) : value(out, ScalarType::i64));
      bounds.push_back(few ? small_number(out, 5) : value(out, ScalarType::i64));
    }
    Statement s = make(op);
    s.operands = std::move(bounds);
    if (op == Op::reduce) {
      s.index = static_cast<std::uint32_t>(c_.below(ir::reduce_kind_count));
      do s.type = c_.chance(5) ? ScalarType::boolean : arithmetic();
      while (!ir::reduces(static_cast<ir::ReduceKind>(s.index), s.type));
    }
    const Scope scope = enter();
    for (Local& local : locals_) local.in_loop = false;
    Block block;
    for (std::size_t i = 0; i < rank; ++i) index(block);
    Place place;
    place.parallel = true;
    fill(block, place, 6);
    if (op == Op::reduce && !ends(block)) {
      const ValueId yielded = value(block, s.type);
      Statement yield = make(Op::yield);
      yield.operands = {yielded};
      block.statements.push_back(std::move(yield));
    }
    s.bodies.push_back(std::move(block));
    leave(scope);
    for (Local& local : locals_) local.in_loop = true;
    if (op == Op::reduce) {
      emit(out, std::move(s));
    } else {
      out.statements.push_back(std::move(s));
    }
  }

  // ---- statements anywhere

  void fill(Block& block, const Place& place, std::size_t most) {
    for (std::size_t n = c_.below(most + 1); n > 0 && budget_ > 0 && !ends(block); --n)
      statement(block, place);
    if (place.condition || ends(block)) return;
    if ((place.loop || place.parallel) && c_.chance(12))
      block.statements.push_back(make(Op::continue_));
    else if (place.loop && c_.chance(8))
      block.statements.push_back(make(Op::break_));
  }

  void statement(Block& out, const Place& place) {
    switch (c_.below(place.depth < 5 ? 16 : 13)) {
      case 0:
        source(out);
        break;
      case 1:
      case 2:
        arithmetic_operation(out);
        break;
      case 3:
        comparison(out);
        break;
      case 4:
        bits(out);
        break;
      case 5:
        conversion(out);
        break;
      case 6:
        function(out);
        break;
      case 7:
        load(out);
        break;
      case 8:
        store(out);
        break;
      case 9:
        atomic(out);
        break;
      case 10:
        declare(out);
        break;
      case 11:
        access(out, c_.chance(2));
        break;
      case 12:
        if (c_.chance(2))
          print(out);
        else
          assertion(out);
        break;
      case 13:
        if_(out, place);
        break;
      case 14:
        for_(out, place);
        break;
      default:
        while_(out, place);
        break;
    }
  }

  void source(Block& out) {
    std::uint32_t p = 0;
    const auto kind = c_.chance(2) ? ir::Parameter::Kind::array : ir::Parameter::Kind::scalar;
    const ir::Parameter* const parameter = this->parameter(kind, p);
    if (parameter == nullptr || c_.chance(6) ||
        (kind == ir::Parameter::Kind::array && parameter->rank == 0)) {
      if (c_.chance(4)) return with_result(out, Op::launch_key, ScalarType::u64, {});
      constant(out, any_type());
      return;
    }
    const bool array = kind == ir::Parameter::Kind::array;
    Statement s =
        make(array ? Op::extent : Op::argument, array ? ScalarType::i64 : parameter->element.scalar);
    s.index = p;
    s.component =
        static_cast<std::uint8_t>(c_.below(array ? parameter->rank : parameter->element.components()));
    emit(out, std::move(s));
  }

  void conversion(Block& out) {
    const ScalarType from = any_type();
    if (c_.chance(3)) {
      const ValueId condition = value(out, ScalarType::boolean);
      const ValueId a = value(out, from);
      return with_result(out, Op::select, from, {condition, a, value(out, from)});
    }
    const ScalarType to = any_type();
    const bool same_size =
        size_of(from) == size_of(to) && from != ScalarType::boolean && to != ScalarType::boolean;
    with_result(out, same_size && c_.chance(2) ? Op::bitcast : Op::cast, to, {value(out, from)});
  }

  void function(Block& out) {
    if (c_.chance(6)) return philox(out);
    const auto function = static_cast<ir::MathFunction>(c_.below(ir::math_function_count));
    const ScalarType type = c_.chance(2) ? ScalarType::f64 : ScalarType::f32;
    call(out, function, type, function_operands(out, function, type));
  }

  void load(Block& out) {
    std::uint32_t p = 0;
    const ir::Parameter* const array = parameter(ir::Parameter::Kind::array, p);
    if (array == nullptr) return;
    std::vector<ValueId> operands = indices(out, array->rank);
    Statement s = make(Op::load, array->element.scalar);
    s.index = p;
    s.component = static_cast<std::uint8_t>(c_.below(array->element.components()));
    s.operands = std::move(operands);
    emit(out, std::move(s));
  }

  void store(Block& out) {
    std::uint32_t p = 0;
    const ir::Parameter* const array = parameter(ir::Parameter::Kind::array, p);
    if (array == nullptr) return;
    std::vector<ValueId> operands = indices(out, array->rank);
    operands.push_back(value(out, array->element.scalar));
    Statement s = make(Op::store, array->element.scalar);
    s.index = p;
    s.component = static_cast<std::uint8_t>(c_.below(array->element.components()));
    s.operands = std::move(operands);
    out.statements.push_back(std::move(s));
  }

  void atomic(Block& out) {
    std::uint32_t p = 0;
    const ir::Parameter* const array = parameter(ir::Parameter::Kind::array, p);
    if (array == nullptr) return;
    const ScalarType type = array->element.scalar;
    if (std::find(std::begin(atomic_types), std::end(atomic_types), type) == std::end(atomic_types)) return;
    auto kind = static_cast<ir::AtomicKind>(c_.below(ir::atomic_kind_count));
    const bool bits = kind >= ir::AtomicKind::bit_and && kind <= ir::AtomicKind::bit_xor;
    if (bits && is_float(type)) kind = ir::AtomicKind::add;
    std::vector<ValueId> operands = indices(out, array->rank);
    operands.push_back(value(out, type));
    if (kind == ir::AtomicKind::compare_exchange) operands.push_back(value(out, type));
    Statement s = make(Op::atomic, type);
    s.index = p;
    s.component = static_cast<std::uint8_t>(c_.below(array->element.components()));
    s.immediate = static_cast<std::uint64_t>(kind);
    s.operands = std::move(operands);
    emit(out, std::move(s));
  }

  void declare(Block& out) {
    Statement s = make(Op::local, any_type());
    s.index = k_.local_count++;
    s.immediate = c_.chance(3) ? 1 + c_.below(9) : 1;
    locals_.push_back({s.index, s.type, s.immediate, true});
    out.statements.push_back(std::move(s));
  }

  // Mostly inside the array, so that most kernels have a defined meaning.
  ValueId local_index(Block& out, std::uint64_t count) {
    return c_.chance(8) ? value(out, ScalarType::i64) : small_number(out, count);
  }

  void access(Block& out, bool set) {
    if (locals_.empty()) return;
    const Local local = locals_[c_.below(locals_.size())];
    set = set && local.in_loop;
    std::vector<ValueId> operands;
    if (local.count > 1) operands.push_back(local_index(out, local.count));
    if (set) operands.push_back(value(out, local.type));
    Statement s = make(set ? Op::set : Op::get, local.type);
    s.index = local.id;
    s.operands = std::move(operands);
    if (set) {
      out.statements.push_back(std::move(s));
    } else {
      emit(out, std::move(s));
    }
  }

  void assertion(Block& out) {
    static constexpr const char* messages[] = {"", "x < n", "a \"quoted\" \\ message\n\ttwo lines \x01 \x7f",
                                               "\xe2\x82\xac"};
    const ValueId condition = value(out, ScalarType::boolean);
    Statement s = make(Op::assert_);
    s.index = static_cast<std::uint32_t>(k_.strings.size());
    s.operands = {condition};
    k_.strings.emplace_back(messages[c_.below(4)]);
    out.statements.push_back(std::move(s));
  }

  void print(Block& out) {
    if (repeats_ > 0) return;
    static constexpr std::string_view formats[] = {"", "{{}} \"{}\"\n", "{:>8} and {}"};
    const std::size_t values = c_.below(3);
    Statement s = make(Op::print);
    s.index = static_cast<std::uint32_t>(k_.strings.size());
    for (std::size_t i = 0; i < values; ++i) s.operands.push_back(value(out, any_type()));
    k_.strings.emplace_back(formats[values]);
    out.statements.push_back(std::move(s));
  }

  void if_(Block& out, Place place) {
    const ValueId condition = value(out, ScalarType::boolean);
    Statement s = make(Op::if_);
    s.operands = {condition};
    ++place.depth;
    for (int i = 0; i < 2; ++i) {
      const Scope scope = enter();
      Block block;
      if (i == 0 || c_.chance(2)) fill(block, place, 4);
      s.bodies.push_back(std::move(block));
      leave(scope);
    }
    out.statements.push_back(std::move(s));
  }

  void for_(Block& out, Place place) {
    std::vector<ValueId> operands = indices(out, 3);
    if (!c_.chance(3)) operands = {small_number(out, 2), small_number(out, 5), small_number(out, 3)};
    Statement s = make(Op::for_);
    s.operands = std::move(operands);
    const Scope scope = enter();
    Block block;
    index(block);
    ++place.depth;
    place.loop = true;
    place.condition = false;
    fill(block, place, 5);
    s.bodies.push_back(std::move(block));
    leave(scope);
    out.statements.push_back(std::move(s));
  }

  void while_(Block& out, Place place) {
    Statement s = make(Op::while_);
    ++place.depth;
    place.loop = true;
    for (int i = 0; i < 2; ++i) {
      const Scope scope = enter();
      Block block;
      place.condition = i == 0;
      fill(block, place, 4);
      if (i == 0) {
        const ValueId condition = value(block, ScalarType::boolean);
        Statement yield = make(Op::yield);
        yield.operands = {condition};
        block.statements.push_back(std::move(yield));
      }
      s.bodies.push_back(std::move(block));
      leave(scope);
    }
    out.statements.push_back(std::move(s));
  }

  std::size_t repeats_ = 0;  // around the current statement
};

}  // namespace

ir::Kernel random_kernel(Choices& choices) {
  return Generator(choices).run();
}

}  // namespace weir::test
