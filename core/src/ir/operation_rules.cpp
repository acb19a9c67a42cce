// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "ir/algorithm.hpp"
#include "ir/groups.hpp"
#include "ir/print_format.hpp"
#include "ir/rules.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

std::string name(ScalarType type) {
  return std::string(to_string(type));
}

// 'add', 'math.sin', 'atomic.min'
std::string quoted(const Statement& s) {
  std::string word{info(s.op).mnemonic};
  if (s.op == Op::math && s.index < math_function_count) {
    word += "." + std::string(info(static_cast<MathFunction>(s.index)).name);
  }
  if ((s.op == Op::atomic || s.op == Op::shared_atomic) && s.immediate < atomic_kind_count) {
    word += "." + std::string(to_string(static_cast<AtomicKind>(s.immediate)));
  }
  if (s.op == Op::reduce && s.index < reduce_kind_count) {
    word += "." + std::string(to_string(static_cast<ReduceKind>(s.index)));
  }
  return "'" + word + "'";
}

std::string list(std::span<const ScalarType> types) {
  std::string out;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i != 0) out += i + 1 == types.size() ? " and " : ", ";
    out += name(types[i]);
  }
  return out.empty() ? "nothing" : out;
}

bool is_arithmetic(ScalarType type) {
  return is_integer(type) || type == ScalarType::f32 || type == ScalarType::f64;
}

class Rules {
 public:
  Rules(const Kernel& kernel, const Statement& s, std::span<const ScalarType> types, const LocalShape& local)
      : kernel_(kernel), s_(s), types_(types), local_(local) {}

  std::string check() const {
    const OpInfo& op = info(s_.op);
    if (op.operands >= 0 && types_.size() != static_cast<std::size_t>(op.operands)) return count(op.operands);
    switch (s_.op) {
      case Op::constant:
        return constant();
      case Op::argument:
        return argument();
      case Op::extent:
        return extent();
      case Op::launch_key:
        return result(ScalarType::u64);
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
      case Op::rem:
      case Op::neg:
      case Op::abs:
      case Op::min:
      case Op::max:
        return uniform(is_arithmetic, "integers, f32 or f64", types_[0]);
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
        return uniform(is_arithmetic, "integers, f32 or f64", ScalarType::boolean);
      case Op::mul_hi:
      case Op::shl:
      case Op::shr:
      case Op::popcount:
      case Op::clz:
      case Op::ctz:
        return uniform(is_integer, "integers", types_[0]);
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
      case Op::bit_not:
        return uniform([](ScalarType t) { return is_integer(t) || t == ScalarType::boolean; },
                       "integers or booleans", types_[0]);
      case Op::eq:
      case Op::ne:
        return uniform([](ScalarType t) { return is_arithmetic(t) || t == ScalarType::boolean; },
                       "integers, f32, f64 or booleans", ScalarType::boolean);
      case Op::select:
        return select();
      case Op::cast:
        return {};
      case Op::bitcast:
        return bitcast();
      case Op::math:
        return math();
      case Op::philox:
        return philox();
      case Op::load:
        return element(0);
      case Op::store:
        return element(1);
      case Op::atomic:
        return atomic();
      case Op::local:
        return local();
      case Op::get:
        return local_access(0);
      case Op::set:
        return local_access(1);
      case Op::shared:
        return local();
      case Op::shared_atomic:
        return shared_atomic();
      case Op::barrier:
        return s_.immediate == 0 ? std::string() : width();
      case Op::shuffle:
        return shuffle();
      case Op::ballot:
        return ballot();
      case Op::scratch_load:
        return scratch(0);
      case Op::scratch_store:
        return scratch(1);
      case Op::if_:
        return expect(0, ScalarType::boolean, "a condition");
      case Op::assert_:
        return assertion();
      case Op::print:
        return print();
      case Op::algorithm:
        return check_algorithm(kernel_, s_);
      case Op::for_:
        return indices(types_, "bounds and step");
      case Op::parallel:
        return group_loop();
      case Op::reduce:
        return reduction();
      case Op::repetition:
        return result(ScalarType::i64);
      case Op::failed:
        return result(ScalarType::boolean);
      case Op::repeat:
        return indices(types_, "the number of repetitions");
      case Op::region:
        return s_.immediate <= 1 ? ""
                                 : "the mark of 'region' is 0 or 1, found " + std::to_string(s_.immediate);
      default:
        return {};
    }
  }

 private:
  std::string count(int expected) const {
    return quoted(s_) + " takes " + std::to_string(expected) + (expected == 1 ? " value" : " values") +
           ", found " + std::to_string(types_.size());
  }

  std::string result(ScalarType expected) const {
    if (s_.type == expected) return {};
    return "the result of " + quoted(s_) + " is " + name(expected) + " here, found " + name(s_.type);
  }

  std::string expect(std::size_t i, ScalarType expected, const std::string& what) const {
    if (types_[i] == expected) return {};
    return quoted(s_) + " takes " + what + " of type " + name(expected) + ", found " + name(types_[i]);
  }

  template <class Accepts>
  std::string uniform(Accepts accepts, const std::string& kinds, ScalarType gives) const {
    for (const ScalarType type : types_) {
      if (!accepts(type) || type != types_[0]) {
        const std::string f16 = type == ScalarType::f16 ? "; cast f16 to f32 to compute with it" : "";
        return quoted(s_) + " takes " + kinds + (types_.size() > 1 ? ", all of one type" : "") + ", found " +
               list(types_) + f16;
      }
    }
    return result(gives);
  }

  std::string indices(std::span<const ScalarType> types, const std::string& what) const {
    for (const ScalarType type : types) {
      if (type != ScalarType::i64) return quoted(s_) + " takes " + what + " of type i64, found " + name(type);
    }
    return {};
  }

  std::string constant() const {
    if (fits(s_.type, s_.immediate)) return {};
    return "a constant of type " + name(s_.type) + " has bits set beyond its " +
           std::to_string(s_.type == ScalarType::boolean ? 1 : 8 * size_of(s_.type)) + ", found " +
           std::to_string(s_.immediate);
  }

  const Parameter* parameter(Parameter::Kind kind) const {
    if (s_.index >= kernel_.parameters.size()) return nullptr;
    const Parameter& parameter = kernel_.parameters[s_.index];
    return parameter.kind == kind ? &parameter : nullptr;
  }

  std::string no_parameter(const std::string& kind) const {
    const std::string expected = quoted(s_) + " names " + kind + " parameter, found ";
    if (s_.index >= kernel_.parameters.size()) {
      return expected + "parameter number " + std::to_string(s_.index) + " of " +
             std::to_string(kernel_.parameters.size());
    }
    const Parameter& other = kernel_.parameters[s_.index];
    return expected + "@" + other.name + ", which is " +
           (other.kind == Parameter::Kind::array ? "an array" : "a scalar");
  }

  std::string component(const Parameter& parameter) const {
    if (s_.component < parameter.element.components()) return {};
    return "@" + parameter.name + " holds " + to_string(parameter.element) +
           ", whose components are numbered 0 to " + std::to_string(parameter.element.components() - 1) +
           ", found component " + std::to_string(s_.component);
  }

  std::string argument() const {
    const Parameter* const p = parameter(Parameter::Kind::scalar);
    if (p == nullptr) return no_parameter("a scalar");
    if (auto wrong = component(*p); !wrong.empty()) return wrong;
    return result(p->element.scalar);
  }

  std::string extent() const {
    const Parameter* const p = parameter(Parameter::Kind::array);
    if (p == nullptr) return no_parameter("an array");
    if (s_.component >= p->rank) {
      return "@" + p->name + " is of rank " + std::to_string(p->rank) +
             ", its dimensions numbered from 0, found dimension " + std::to_string(s_.component);
    }
    return result(ScalarType::i64);
  }

  std::string select() const {
    if (types_[0] == ScalarType::boolean && types_[1] == types_[2]) return result(types_[1]);
    return "'select' takes a bool and two values of one type, found " + list(types_);
  }

  std::string bitcast() const {
    const bool booleans = types_[0] == ScalarType::boolean || s_.type == ScalarType::boolean;
    if (!booleans && size_of(types_[0]) == size_of(s_.type)) return {};
    return "'bitcast' goes between types of one size other than bool, found " + name(types_[0]) + " to " +
           name(s_.type);
  }

  std::string math() const {
    if (s_.index >= math_function_count)
      return "there is no math function number " + std::to_string(s_.index);
    const auto function = static_cast<MathFunction>(s_.index);
    const MathInfo& math = info(function);
    const std::string what = quoted(s_);
    if (types_.size() != math.operands) {
      return what + " takes " + std::to_string(math.operands) + (math.operands == 1 ? " value" : " values") +
             ", found " + std::to_string(types_.size());
    }
    const bool by_integer =
        function == MathFunction::ldexp || function == MathFunction::pown || function == MathFunction::rootn;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const bool integer = by_integer && i == 1;
      const bool good =
          integer ? types_[i] == ScalarType::i32
                  : (types_[i] == ScalarType::f32 || types_[i] == ScalarType::f64) && types_[i] == types_[0];
      if (!good) {
        return what + " takes " +
               (by_integer           ? "f32 or f64 and then i32"
                : math.operands == 1 ? "f32 or f64"
                                     : "f32 or f64, all of one type") +
               ", found " + list(types_);
      }
    }
    if (is_test(function)) return result(ScalarType::boolean);
    return result(function == MathFunction::ilogb ? ScalarType::i32 : types_[0]);
  }

  std::string philox() const {
    for (const ScalarType type : types_) {
      if (type != ScalarType::u32) return "'philox' takes six values of type u32, found " + list(types_);
    }
    if (s_.component > 3)
      return "'philox' gives words numbered 0 to 3, found word " + std::to_string(s_.component);
    return result(ScalarType::u32);
  }

  // An access to an array's element with `others` operands after the indices.
  std::string element(std::size_t others) const {
    const Parameter* const p = parameter(Parameter::Kind::array);
    if (p == nullptr) return no_parameter("an array");
    if (types_.size() != p->rank + others) {
      const std::size_t found = types_.size() < others ? 0 : types_.size() - others;
      return "@" + p->name + " is of rank " + std::to_string(p->rank) + " and takes as many indices, found " +
             std::to_string(found);
    }
    if (auto wrong = indices(types_.first(p->rank), "indices"); !wrong.empty()) return wrong;
    if (auto wrong = component(*p); !wrong.empty()) return wrong;
    for (const ScalarType type : types_.subspan(p->rank)) {
      if (type != p->element.scalar) {
        return quoted(s_) + " to @" + p->name + " takes values of type " + name(p->element.scalar) +
               ", found " + name(type);
      }
    }
    return result(p->element.scalar);
  }

  std::string atomic() const {
    if (s_.immediate >= atomic_kind_count) return "there is no atomic number " + std::to_string(s_.immediate);
    const auto kind = static_cast<AtomicKind>(s_.immediate);
    if (auto wrong = element(kind == AtomicKind::compare_exchange ? 2 : 1); !wrong.empty()) return wrong;
    return atomic_type(kind);
  }

  std::string shared_atomic() const {
    if (s_.immediate >= atomic_kind_count) return "there is no atomic number " + std::to_string(s_.immediate);
    const auto kind = static_cast<AtomicKind>(s_.immediate);
    if (auto wrong = local_access(kind == AtomicKind::compare_exchange ? 2 : 1); !wrong.empty()) return wrong;
    return atomic_type(kind);
  }

  std::string exchange() const {
    if (local_.count != 1) return quoted(s_) + " exchanges a single local variable, found a local array";
    return width();
  }

  std::string width() const {
    if (s_.immediate == 0 || s_.immediate > max_subgroup || !std::has_single_bit(s_.immediate))
      return "the width of " + quoted(s_) + " is 1, 2, 4, 8, 16 or 32, found " + std::to_string(s_.immediate);
    return {};
  }

  std::string ballot() const {
    if (auto wrong = exchange(); !wrong.empty()) return wrong;
    if (local_.type != ScalarType::boolean)
      return "'ballot' exchanges a local variable of type bool, found " + name(local_.type) +
             "; compare it with 0";
    return result(ScalarType::u32);
  }

  std::string shuffle() const {
    if (auto wrong = exchange(); !wrong.empty()) return wrong;
    if (types_[0] != ScalarType::i32)
      return "'shuffle' takes the number of a lane as an i32, found " + name(types_[0]);
    return result(local_.type);
  }

  std::string group_loop() const {
    if (auto wrong = bounds(); !wrong.empty()) return wrong;
    if (s_.component == 0) return {};
    const std::size_t rank = s_.bodies[0].arguments.size();
    if (s_.component >= rank)
      return "a group loop has at least 1 index of groups and 1 of threads, found " + std::to_string(rank) +
             " indices, of which " + std::to_string(s_.component) + " are of threads";
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < s_.component; ++d) {
      if (thread_extent(s_, d) == 0) return "each dimension of a group has at least 1 thread, found 0";
      count *= thread_extent(s_, d);
    }
    if (count <= max_group_threads) return {};
    return "a group has at most " + std::to_string(max_group_threads) + " threads, found " +
           std::to_string(count) + "; use smaller groups, and let each thread compute several elements";
  }

  std::string atomic_type(AtomicKind kind) const {
    const std::string what = quoted(s_);
    if (s_.type == ScalarType::boolean) return what + " works on integers and floats, found bool";
    const bool bits =
        kind == AtomicKind::bit_and || kind == AtomicKind::bit_or || kind == AtomicKind::bit_xor;
    if (bits && !is_integer(s_.type)) return what + " works on integers, found " + name(s_.type);
    return {};
  }

  std::string local() const {
    if (s_.immediate != 0 && s_.immediate <= max_local_bytes / size_of(s_.type)) return {};
    return "a local variable of type " + name(s_.type) + " has 1 to " +
           std::to_string(max_local_bytes / size_of(s_.type)) + " elements, found " +
           std::to_string(s_.immediate) + "; use an array parameter for more";
  }

  std::string local_access(std::size_t others) const {
    const bool single = local_.count == 1;
    const std::size_t found = types_.size() < others ? 0 : types_.size() - others;
    if (types_.size() < others || found > 1 || (found == 0 && !single))
      return quoted(s_) +
             (single ? " of a local variable takes at most one index, found "
                     : " of a local array takes one index, found ") +
             std::to_string(found);
    if (auto wrong = indices(types_.first(found), "an index"); !wrong.empty()) return wrong;
    if (others > 0 && types_.back() != local_.type) {
      return quoted(s_) + " takes a value of the local variable's type " + name(local_.type) + ", found " +
             name(types_.back());
    }
    return result(local_.type);
  }

  std::string scratch(std::size_t others) const {
    if (types_.size() < others || types_.size() > others + 1) {
      return quoted(s_) + " takes at most one index, found " + std::to_string(types_.size());
    }
    if (auto wrong = indices(types_.first(types_.size() - others), "an index"); !wrong.empty()) return wrong;
    if (s_.immediate % size_of(s_.type) != 0) {
      return quoted(s_) + " of type " + name(s_.type) +
             " must be at an offset that is a multiple of its size, found " + std::to_string(s_.immediate);
    }
    return others == 1 ? result(types_.back()) : std::string();
  }

  std::string assertion() const {
    if (s_.index >= kernel_.strings.size()) {
      return "'assert' names a message of the kernel's " + std::to_string(kernel_.strings.size()) +
             ", found number " + std::to_string(s_.index);
    }
    return expect(0, ScalarType::boolean, "a condition");
  }

  std::string print() const {
    // In tasks, the numbers of repetitions come after the values.
    const std::size_t repetitions = std::min<std::size_t>(s_.immediate, types_.size());
    const std::span<const ScalarType> all(types_);
    if (s_.immediate > max_repeats || repetitions != s_.immediate ||
        std::ranges::any_of(all.last(repetitions), [](ScalarType type) { return type != ScalarType::i64; }))
      return "the numbers of repetitions that 'print' takes are at most " + std::to_string(max_repeats) +
             " values of type i64";
    if (s_.index < kernel_.strings.size())
      return check_print(kernel_.strings[s_.index], all.first(all.size() - repetitions));
    return "'print' names a format of the kernel's " + std::to_string(kernel_.strings.size()) +
           " strings, found number " + std::to_string(s_.index);
  }

  std::string bounds() const {
    const std::size_t rank = s_.bodies.empty() ? 0 : s_.bodies[0].arguments.size();
    if (rank == 0 || rank > max_rank) {
      return quoted(s_) + " runs over 1 to 4 dimensions, found " + std::to_string(rank);
    }
    if (types_.size() != 2 * rank) {
      return quoted(s_) + " takes a low and a high bound for each of its " + std::to_string(rank) +
             " indices, found " + std::to_string(types_.size()) + " values";
    }
    return indices(types_, "bounds");
  }

  std::string reduction() const {
    if (auto wrong = bounds(); !wrong.empty()) return wrong;
    if (s_.index >= reduce_kind_count) return "there is no reduction number " + std::to_string(s_.index);
    const auto kind = static_cast<ReduceKind>(s_.index);
    const std::string what = quoted(s_);
    if (reduces(kind, s_.type)) return "";
    const char* types = reduces(kind, ScalarType::boolean) ? "bool"
                        : reduces(kind, ScalarType::f32)   ? "integers, f32 and f64"
                                                           : "integers";
    return what + " works on " + types + ", found " + name(s_.type);
  }

  const Kernel& kernel_;
  const Statement& s_;
  std::span<const ScalarType> types_;
  const LocalShape& local_;
};

}  // namespace

bool fits(ScalarType type, std::uint64_t immediate) noexcept {
  if (type == ScalarType::boolean) return immediate <= 1;
  const std::size_t bits = 8 * size_of(type);
  return bits == 64 || immediate >> bits == 0;
}

bool known(Op op) noexcept {
  return op <= Op::phase;
}

std::string check_operation(const Kernel& kernel, const Statement& statement,
                            std::span<const ScalarType> types, const LocalShape& local) {
  return Rules(kernel, statement, types, local).check();
}

}  // namespace weir::ir
