// SPDX-License-Identifier: Apache-2.0
// Functions that the templates of the kernel language call to append statements to the kernel that this
// thread traces. Internal: users include <weir/kernel.hpp>. Each works on the kernel of the calling thread.
// Mistakes are collected and thrown at its end. Calls on a thread that builds no kernel throw Error{kernel}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <weir/export.hpp>
#include <weir/struct_layout.hpp>
#include <weir/types.hpp>

namespace weir {
class Program;
}

namespace weir::detail {

using Where = std::source_location;

// Code that builds a kernel runs once, so its speed matters little. Out of line and compiled for size, a file
// with many kernels compiles in three quarters of the time.
#define WEIR_OUT_OF_LINE [[gnu::cold, gnu::noinline]]

/// A scalar value of one trace. Names, never addresses: a handle of another kernel is recognised and refused.
struct Handle {
  std::uint32_t trace = 0;
  std::uint32_t value = ~std::uint32_t{0};
};

/// The component of a Vec or Mat that an access names: `first`, or first + index * stride if `count` is not
/// 0.
struct Choice {
  Handle index;             ///< i64; a result of the kernel
  std::uint16_t count = 0;  ///< number of components that `index` selects from; 0 for a constant component
  std::uint16_t first = 0;
  std::uint16_t stride = 1;
};

/// One index of a component: a host number, or a result of the kernel.
struct ComponentIndex {
  std::size_t constant = 0;
  Handle traced;
  bool is_traced = false;
  Where where;
};

/// An array element or a local variable, before it is read or written.
struct Place {
  enum class Kind : std::uint8_t { array, local };

  std::uint32_t trace = 0;
  std::uint32_t id = 0;  ///< array parameter; for locals the first of as many locals as there are components
  Kind kind = Kind::array;
  std::uint8_t rank = 0;       ///< number of indices
  std::uint8_t component = 0;  ///< first component of the accessed part
  Handle index[max_rank];
  Choice choice;  ///< of a part whose component is chosen at run time; its `first` is in `component`
  Where where;    ///< of its first index; without a line if it has none
};

/// Half-open range of a loop.
struct Bounds {
  Handle low, high;
};

// A `where` without a line means the place of the previous statement.

WEIR_API Handle emit_constant(ScalarType type, std::uint64_t bits, Where where);
/// `op` is a mnemonic of the IR's operations; `type` that of the result.
WEIR_API Handle emit(std::string_view op, ScalarType type, const Handle* operands, std::size_t count,
                     Where where);
WEIR_API Handle emit_math(std::string_view function, ScalarType type, const Handle* operands,
                          std::size_t count, Where where);
WEIR_API Handle emit_extent(std::uint32_t trace, std::uint32_t parameter, std::size_t dimension, Where where);
WEIR_API Handle emit_load(const Place& place, std::size_t component, ScalarType type, Where where);
WEIR_API void emit_store(const Place& place, std::size_t component, ScalarType type, Handle value,
                         Where where);
/// Component `index` of a Vec. Reports a constant outside the Vec; with check_bounds, asserts that a traced
/// one is inside.
WEIR_API Choice choose_component(const ComponentIndex& index, std::size_t components);
/// Entry (row, column) of a Mat; likewise.
WEIR_API Choice choose_entry(const ComponentIndex& row, const ComponentIndex& column, std::size_t rows,
                             std::size_t columns);
/// The value of the chosen one of `components`, all of which exist. Any of them if the index is outside.
WEIR_API Handle emit_chosen(const Handle* components, const Choice& choice, ScalarType type, Where where);
/// `expected` is only looked at by "compare_exchange".
WEIR_API Handle emit_atomic(std::string_view kind, const Place& place, ScalarType type, Handle value,
                            Handle expected, Where where);
WEIR_API void emit_assert(Handle condition, std::string_view message, Where where);
/// An argument of a print: the components of a scalar, Vec or Mat (by rows), of one type.
struct PrintArgument {
  const Handle* components = nullptr;
  std::uint32_t rows = 1, columns = 1;
  bool is_vector = false, is_matrix = false;
};
WEIR_API void emit_print(std::string_view format, const PrintArgument* arguments, std::size_t count,
                         Where where);
/// Makes `components` locals of `count` zeros each.
WEIR_API Place emit_local(ScalarType type, std::size_t components, std::uint64_t count, Where where);
/// The first `count` words (at most 4) of one random draw at a new call site. `element` is an i64 that
/// replaces the number of the iteration, or null.
WEIR_API void emit_random(Handle* words, std::size_t count, const Handle* element, Where where);

/// Keeps a message for the exception that the kernel's constructor throws at the end.
WEIR_API void report(std::string_view message, Where where);
/// Reports a host number that the traced operand's type cannot hold.
WEIR_API void report_constant(std::int64_t number, ScalarType type, Where where);
WEIR_API void report_constant(std::uint64_t number, ScalarType type, Where where);
WEIR_API void report_constant(double number, ScalarType type, Where where);
/// Reports a constant index outside a LocalArray of `count` elements.
/// `what`: such as "the LocalArray".
WEIR_API void report_local_index(std::int64_t index, std::uint64_t count, std::string_view what, Where where);

/// Throws Error{kernel} unless this thread is tracing a kernel; `what` is the word that the program used.
WEIR_API void expect_kernel(std::string_view what, Where where);

WEIR_API void emit_break(Where where);
WEIR_API void emit_continue(Where where);

/// An open statement block. Statements are emitted into it until close() or the destructor closes it.
class WEIR_API Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  void operator=(const Scope&) = delete;
  ~Scope() { close(); }
  void close() noexcept;

 private:
  friend class Trace;
  std::uint32_t trace_ = 0;
  std::uint32_t depth_ = 0;  ///< open statement blocks to leave
  bool function_ = false;    ///< a device function to leave
  bool region_ = false;      ///< a stream_region to leave
};

/// The position of an if_, for its else_.
struct BranchPoint {
  std::uint32_t trace = 0;
  std::uint32_t block = 0;
  std::uint32_t statement = 0;
  std::uint32_t depth = 0;  ///< number of else_if so far
};

/// A loop over `rank` ranges: parallel in the kernel's body and in stream_parallel, otherwise nested
/// sequential ones.
WEIR_API void open_range(Scope& scope, const Bounds* bounds, std::size_t rank, Handle* indices, Where where);
/// As open_range, of `groups` indices of groups and `threads` indices of the threads of one, which have the
/// extents `extents`.
WEIR_API void open_group(Scope& scope, const Bounds* bounds, std::size_t groups, const std::uint64_t* extents,
                         std::size_t threads, Handle* indices, Where where);
WEIR_API Place emit_shared(ScalarType type, std::size_t components, std::uint64_t count, Where where);
/// If the kernel checks bounds or is debugged, asserts that the index of a dimension of a Shared is below
/// `extent`.
WEIR_API void emit_dimension_check(const Handle& index, std::uint64_t extent, std::size_t dimension,
                                   Where where);
/// `width`: of the sub-groups that wait; 0 for the whole group.
WEIR_API void emit_barrier(std::uint32_t width, Where where);
/// Component by component: the value that the lane of the thread's sub-group of `width` threads passed.
WEIR_API void emit_shuffle(ScalarType type, const Handle* values, std::size_t components, std::uint32_t width,
                           Handle lane, Handle* results, Where where);
/// u32: bit l is the bool that lane l of the thread's sub-group of `width` threads passed.
WEIR_API Handle emit_ballot(const Handle& value, std::uint32_t width, Where where);
/// The number of the thread in its group, i64.
WEIR_API Handle emit_thread_number(std::string_view caller, Where where);
WEIR_API void open_for(Scope& scope, Handle low, Handle high, Handle step, Handle* index, Where where);
/// Returns the number of the repetition.
WEIR_API Handle open_repeat(Scope& scope, Handle count, Where where);
WEIR_API Handle open_repeat_while(Scope& scope, Handle most, Where where);
WEIR_API void open_repeat_body(Scope& scope, Handle condition, Where where);  ///< closes the condition
WEIR_API void open_condition(Scope& scope, Where where);
WEIR_API void open_while(Scope& scope, Handle condition, Where where);  ///< closes the condition
WEIR_API BranchPoint open_if(Scope& scope, Handle condition, Where where);
WEIR_API void open_else(Scope& scope, const BranchPoint& branch, Where where);
/// Opens the body of `if condition` in the else; the statements emitted since the if_, which compute the
/// condition, move in before it.
WEIR_API void open_else_if(Scope& scope, BranchPoint& branch, Handle condition, Where where);
WEIR_API void open_stream_block(Scope& scope, bool conflicts_are_meant, Where where);
WEIR_API void open_stream_region(Scope& scope, Where where);

/// A device function named `name`, made at `where`.
WEIR_API void open_function(Scope& scope, std::string_view name, Where where);

/// A reduction as open_range; close_reduce gives its result.
class WEIR_API Reduction {
 public:
  Reduction(std::string_view kind, ScalarType type, const Bounds* bounds, std::size_t rank, Handle* indices,
            Where where);
  /// Reports a body that writes or draws random numbers, because `caller` traces it more than once.
  void expect_no_effects(std::string_view caller, Where where);
  Handle close(Handle value, Where where);

 private:
  std::string_view kind_;
  ScalarType type_;
  bool parallel_ = false;
  Place accumulator_;
  Scope scope_;
};

/// The type of a parameter of a kernel's lambda.
struct ParameterType {
  bool is_array;
  ElementType element;
  std::uint8_t rank;
};

/// A struct array among the parameters: its size, an i64 at position `first`, and its members after that.
struct StructParameter {
  std::uint32_t first;
  const StructType* type;
};

/// A kernel before it is traced. `body` calls the lambda; components[p] are the components of scalar
/// parameter p.
struct KernelSource {
  std::string_view name;
  bool fast_math = false;
  bool check_bounds = false;
  bool debug = false;
  bool fusion = true;
  bool phases = true;
  bool concurrency = true;
  bool deterministic = false;
  std::uint32_t min_resident_threads = 0;
  const std::string* parameter_names = nullptr;
  std::size_t parameter_name_count = 0;
  const ParameterType* parameters = nullptr;
  std::size_t parameter_count = 0;
  std::size_t returned_count = 0;  ///< of the last parameters, which receive the values of the lambda
  const StructParameter* structs = nullptr;
  std::size_t struct_count = 0;
  void (*body)(void* lambda, std::uint32_t trace, const Handle* const* components) = nullptr;
  void* lambda = nullptr;
  Where where;
};

/// Throws Error{kernel} with all mistakes. Exceptions of the lambda pass through.
WEIR_API Program trace_program(const KernelSource& source);

}  // namespace weir::detail
