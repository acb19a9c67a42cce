// SPDX-License-Identifier: Apache-2.0
// Statements of a requested kind, whose results are stored where the comparison reads them.
#pragma once

#include <optional>
#include <set>

#include "statement_kinds.hpp"
#include "statements.hpp"

namespace weir::test {

class AimedStatements : protected RandomStatements {
 protected:
  explicit AimedStatements(Choices& choices) : RandomStatements(choices) { budget_ = 1 << 20; }

  /// The statements of one kind, with varying operands and a stored result.
  void insert(Block& out, Kind kind);

  // parameters, created on demand
  std::uint32_t input(ScalarType type, std::size_t rank,
                      ElementType::Shape shape = ElementType::Shape::scalar);
  std::uint32_t output(ScalarType type, std::size_t rank,
                       ElementType::Shape shape = ElementType::Shape::scalar);
  std::uint32_t scalar(ScalarType type);
  std::uint32_t counter(ScalarType type, std::int64_t count);
  std::uint32_t add_array(Role role, ScalarType type, std::size_t rank, ElementType::Shape shape);

  // values
  ScalarType integer() { return all_types[1 + c_.below(8)]; }
  ScalarType real() { return c_.chance(2) ? ScalarType::f64 : ScalarType::f32; }
  ValueId fresh(Block& out, ScalarType type);
  ValueId element(Block& out, ScalarType type);  // unknown at compile time
  ValueId loaded(Block& out, std::uint32_t parameter, std::int64_t row_offset, std::int64_t column_offset);
  ValueId number_of(Block& out, ScalarType type, std::uint64_t bits);
  ValueId unary(Block& out, Op op, ScalarType type, ValueId a);
  ValueId index_below(Block& out, std::uint64_t count);
  ValueId condition(Block& out);
  /// Stores a value to the iteration's own element of an array that no other statement of the loop accesses.
  void keep(Block& out, ValueId value, ScalarType type,
            ElementType::Shape shape = ElementType::Shape::scalar);
  std::vector<ValueId> own_indices(Block& out, ScalarType type, std::size_t rank);
  ValueId through_variable(Block& out, ValueId value, ScalarType type);
  void short_while(Block& out, bool leaves);
  void short_for(Block& out, Op exit);
  void add_to_counters(Block& out, std::uint32_t parameter);

  static constexpr std::int64_t pad = 4;  // larger than any offset from an index
  std::int64_t last_pad(std::size_t rank) const { return rank > 1 && aligned_ ? 16 : pad; }

  /// The value that the kept ones were added to, in loops that write no memory.
  ir::ValueId sum_of_kept(Block& out);
  struct Kept {
    std::uint32_t local;
    ScalarType type;
  };
  std::optional<Kept> kept_;

  bool aligned_ = false;
  bool counting_ = false;              // the loop may add atomically to one array only
  std::size_t min_size_ = 0;           // of elements accessed exactly at the innermost index
  std::vector<std::int64_t> full_[4];  // by rank from 1: maximum number of iterations
  std::vector<Value> top_;             // loaded between loops
  std::set<std::uint32_t> used_;       // output arrays of the loop
  static constexpr std::uint32_t no_parameter = ~std::uint32_t{0};
  std::uint32_t huge_ = no_parameter;  // an array of no elements whose first extent needs 33 bits
  bool is_long_ = false;               // each output array is accessed often, at the iteration's own element
  bool simple_math_ = false;           // functions supported by lane loops
  bool uniform_loops_ = false;         // sequential loops have the same bounds in all iterations
  /// An element whose index a division gives that is the same in every iteration.
  ValueId chosen_element(Block& out, ScalarType type);

 private:
  void insert_print(Block& out);
  void insert_operation(Block& out, Op op);
  void insert_atomic(Block& out, ir::AtomicKind kind, bool narrow);
  void insert_narrow_atomic(Block& out);
  void insert_math(Block& out, bool exact);
  void insert_local_array(Block& out);
  /// Square matrices of floats in local arrays, and the indices of the loops around a statement.
  struct LocalMatrices {
    ScalarType type = ScalarType::f32;
    std::int64_t side = 0;
    std::vector<std::uint32_t> arrays;
    std::vector<ValueId> numbers, indices;
  };
  void insert_local_matrices(Block& out);
  ValueId matrix_index(Block& out, const LocalMatrices& m);
  ValueId matrix_entry(Block& out, const LocalMatrices& m);
  void set_matrix_entry(Block& out, const LocalMatrices& m);
  void loop_over_matrices(Block& out, const LocalMatrices& m, int more_loops);
  void insert_if(Block& out, bool leaves);
  void insert_element(Block& out, ElementType::Shape shape);
  ValueId component_index(Block& out);
  void insert_chosen_read(Block& out);
  void insert_chosen_write(Block& out);
  void follow(Block& out, ValueId value, ScalarType type);
};

}  // namespace weir::test
