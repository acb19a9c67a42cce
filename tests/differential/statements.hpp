// SPDX-License-Identifier: Apache-2.0
// Random statements with one meaning: the elements that a loop's iteration may write, and the indices inside
// arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "random_operations.hpp"

namespace weir::test {

class RandomStatements : protected RandomOperations {
 protected:
  explicit RandomStatements(Choices& choices) : RandomOperations(choices) {}

  /// Declares a variable. Returns its number.
  std::uint32_t local(Block& out, ScalarType type);

  struct Place {
    bool loop = false;      // inside while or for
    bool parallel = false;  // inside parallel or reduce
    int depth = 0;
  };
  /// An input is never written. An output is written by the iteration whose indices name the element. A
  /// counter receives one kind of commutative atomics in parallel loops.
  enum class Role : std::uint8_t { input, output, counter };
  struct Array {
    std::uint32_t parameter;
    Role role;
    ir::AtomicKind kind;
    int owner = -1;  // block of the current region that may access it
  };
  struct Variable {
    std::uint32_t id;
    ScalarType type;
    std::uint64_t count;
    bool in_loop;
    int owner;
  };
  /// The element of an output array that belongs to an iteration of the current loop.
  struct Ownership {
    std::uint32_t parameter;
    std::vector<std::size_t> dimension;  // of the loop, by dimension of the array; none where it has no index
    std::vector<std::int64_t> shift;
  };
  struct Loop {
    std::vector<ValueId> indices, lows, ends;  ///< lows and ends: of those loops whose generator sets them
    std::vector<Ownership> owned;
  };
  struct Scope {
    std::size_t values, variables;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  Scope enter() const { return {values_.size(), variables_.size()}; }
  void leave(Scope scope) {
    values_.resize(scope.values);
    variables_.resize(scope.variables);
  }

  // arrays and scalars
  void arrays();
  // values
  ValueId number(Block& out, std::int64_t value);
  ValueId edge_constant(Block& out, ScalarType type);
  ValueId operand(Block& out, ScalarType type) override;
  ValueId plain(Block& out, ScalarType type);
  ValueId binary(Block& out, Op op, ScalarType type, ValueId a, ValueId b);
  ValueId modulo(Block& out, ValueId a, std::uint64_t count);
  ValueId within(Block& out, ValueId a, ValueId count);
  ValueId extent(Block& out, std::uint32_t parameter, std::size_t dimension);
  ValueId invariant_division(Block& out);
  ValueId narrow_arithmetic(Block& out, ScalarType type);
  ValueId digest(Block& out, ScalarType type);
  ValueId without_nan(Block& out, ValueId id, ScalarType type);
  // statements
  void fill(Block& block, const Place& place, std::size_t most);
  void statement(Block& out, const Place& place);
  void publish(Block& out);
  void store(Block& out, const Place& place);

 protected:
  void source(Block& out);
  void conversion(Block& out);
  void function(Block& out);
  void load(Block& out, const Place& place);
  void atomic(Block& out, const Place& place);
  void declare(Block& out);
  void access(Block& out, bool set);
  void assertion(Block& out);
  /// A constant for each value of a number, of which compilers make a table.
  void choice(Block& out, ScalarType type, ValueId number_given);
  void if_(Block& out, Place place);
  void for_(Block& out, Place place);
  void while_(Block& out, Place place);

  Array* array(Role role);
  bool wild() { return k_.options.check_bounds && may_fail_ && c_.chance(10); }
  std::vector<ValueId> wild_indices(Block& out, std::size_t rank);
  std::vector<ValueId> inside(Block& out, std::uint32_t parameter);
  const Ownership& ownership(std::uint32_t parameter);
  ValueId own_element(Block& out, std::uint32_t parameter, std::vector<ValueId>& indices);
  ValueId guard(Block& out, std::uint32_t parameter, const std::vector<ValueId>& indices);
  Statement access_of(Op op, std::uint32_t parameter, std::vector<ValueId> operands);
  template <class F>
  void guarded(Block& out, ValueId condition, F f) {
    Statement s = make(Op::if_);
    s.operands = {condition};
    s.bodies.resize(2);
    const Scope scope = enter();
    f(s.bodies[0]);
    leave(scope);
    out.statements.push_back(std::move(s));
  }

  bool may_fail_ = false;
  int block_ = -1;
  Loop loop_;
  std::vector<Array> arrays_;
  std::vector<std::vector<std::int64_t>> extents_;
  std::vector<Variable> variables_;
};

}  // namespace weir::test
