// SPDX-License-Identifier: Apache-2.0
// Value<T>: a number that the kernel computes. Element<T>: the place that x[i] names. Var<T> and
// LocalArray<T, N>: variables of one iteration.
//
// These rules apply to all headers of the kernel language. Threads: a traced object belongs to the thread
// that builds its kernel, and is used inside the kernel's lambda. Several threads may build kernels at the
// same time. Errors: a mistake in the kernel does not throw at once. The constructor of the Kernel throws one
// Error{kernel} that lists all mistakes with their lines. Use outside any kernel throws Error{kernel} at
// once.
#pragma once

#include <weir/dsl/operators.hpp>

namespace weir {

namespace detail {
/// Base class of the traced type E. Explains why C++ cannot branch on E.
template <class E>
class NoHostCondition {
 public:
  NoHostCondition() = default;
  NoHostCondition(const NoHostCondition&) = default;
  NoHostCondition& operator=(const NoHostCondition&) = default;
  // clang refuses to pass a class with a destructor of its own to a variadic function. g++ passes its
  // address; see WEIR_PRINT.
  ~NoHostCondition() {}

  explicit operator bool() const {
    static_assert(
        always_false<E>,
        "C++ decides if, for, while, ?: and ! while the kernel is built: use if_(), for_(), while_() or "
        "select() on traced values");
    return false;
  }
};
}  // namespace detail

namespace detail {
/// The c in v[c]: a host number or a traced integer. Captures the source line, which operator[] cannot do.
class Component {
 public:
  template <class I>
  Component(I&& index, Where where = Where::current()) {
    index_.where = where;
    if constexpr (Traced<I>) {
      index_.traced = Subscript(static_cast<I&&>(index), where).handle();
      index_.is_traced = true;
    } else {
      using Host = std::remove_cvref_t<I>;
      static_assert((std::integral<Host> && !std::same_as<Host, bool>) || std::is_enum_v<Host>,
                    "the index of a component is an integer");
      index_.constant = static_cast<std::size_t>(index);
    }
  }

  template <class Vector>
  Choice of() const {
    return choose_component(index_, component_count<Vector>);
  }
  template <class Matrix>
  static Choice of(const Component& row, const Component& column) {
    constexpr ElementType shape = ElementOf<std::remove_const_t<Matrix>>::value;
    return choose_entry(row.index_, column.index_, shape.rows, shape.cols);
  }
  Where where() const noexcept { return index_.where; }

 private:
  ComponentIndex index_;
};

/// Reports a constant index outside a LocalArray of `count` elements.
inline void check_local_index(const Subscript& index, std::uint64_t count, std::string_view what) {
  if (const auto constant = index.constant(); constant && static_cast<std::uint64_t>(*constant) >= count)
    report_local_index(*constant, count, what, index.where());
}
}  // namespace detail

/// A traced T: one result of the kernel, separate for each iteration. Immutable; copies name the same result.
/// Valid in the kernel and the statement block where it was made, and in those inside that one.
template <class T>
class Value : public detail::Arithmetic<T>, public detail::NoHostCondition<Value<T>> {
  static_assert(KernelElement<T>, "Value<T> holds a number, bool, or a Vec or Mat of these");
  static_assert(!std::same_as<detail::scalar_t<T>, half>,
                "kernels compute halves as float: write Value<float>");

 public:
  using value_type = T;

  /// Explains why a Value is not declared without a value.
  Value() {
    static_assert(detail::always_false<T>,
                  "a Value never changes, so it is made with its value: write Value<T> v = ..., or Var<T> v for "
                  "a variable that starts as zero");
  }
  Value(const Value&) = default;
  Value(const Value& from, detail::Where) noexcept : Value(from) {}
  /// Refuses a traced value of another type. Explicit, so that functions overloaded for several Value<T> stay
  /// unambiguous. clang quotes the constructor's line for Value<T> v = e.
  template <detail::Traced E>
  requires(!detail::FitsAs<E, T>) explicit Value(E&&) {  // another type: write cast<T>(...) around it
    static_assert(detail::always_false<E>,
                  "the value has another type than this Value<T>: write cast<T>(...) around it");
  }

  /// Reads an element or a variable now, or makes a constant.
  template <detail::FitsAs<T> A>
  requires(!std::same_as<std::remove_cvref_t<A>, Value>)
      Value(A&& from, detail::Where where = detail::Where::current()) {
    const detail::Operand<T> operand(static_cast<A&&>(from), where);
    for (std::size_t i = 0; i < detail::component_count<T>; ++i) components_[i] = operand[i];
  }

  /// A Vec or Mat from its components, row by row.
  template <class... A>
  requires(sizeof...(A) > 1 && sizeof...(A) == detail::component_count<T> &&
           (detail::FitsAs<A, detail::scalar_t<T>> && ...)) Value(A&&... components) {
    std::size_t i = 0;
    ((components_[i++] =
          detail::Operand<detail::scalar_t<T>>(static_cast<A&&>(components), detail::Where())[0]),
     ...);
  }

  /// Component of a Vec. `component` is a host number or a traced integer. A traced one outside the Vec gives
  /// any component, or fails the launch if the kernel checks bounds.
  auto operator[](const detail::Component& component) const {
    static_assert(detail::is_vec<T>, "only a Vec has components v[c]; a Mat has m(row, column)");
    return component_at(component.of<T>(), component.where());
  }
  /// Entry of a Mat; the indices are as for operator[].
  auto operator()(const detail::Component& row, const detail::Component& column) const {
    static_assert(detail::is_mat<T>, "only a Mat has entries m(row, column)");
    return component_at(detail::Component::of<T>(row, column), column.where());
  }

  template <class A>
  void operator=(A&&) const {
    static_assert(detail::always_false<A>, "a Value never changes: make it a Var<T> to assign to it");
  }
  void operator=(const Value&) const {
    static_assert(detail::always_false<T>, "a Value never changes: make it a Var<T> to assign to it");
  }

 private:
  friend struct detail::Access;
  Value(const detail::Handle* components, int) noexcept {
    for (std::size_t i = 0; i < detail::component_count<T>; ++i) components_[i] = components[i];
  }
  WEIR_OUT_OF_LINE
  Value<detail::scalar_t<T>> component_at(const detail::Choice& choice, detail::Where where) const {
    const detail::Handle chosen = detail::emit_chosen(components_, choice, detail::scalar_type<T>, where);
    return detail::Access::value<detail::scalar_t<T>>(&chosen);
  }

  detail::Handle components_[detail::component_count<T>];
};

template <detail::Traced E>
Value(E&&) -> Value<detail::traced_t<E>>;
template <detail::Traced E>
Value(const E&) -> Value<detail::traced_t<E>>;

/// The type of loop indices, extents and sizes.
using Index = Value<std::int64_t>;

// Assignment in all its forms, for Element and Var. It returns the assigned place, so that
// y[i] = x[i] = 0 works.
#define WEIR_COMPOUND(symbol, Place, qualifier)                                   \
  WEIR_OUT_OF_LINE                                                                \
  Place operator symbol##=(const detail::Operand<value_type>& change) qualifier { \
    const detail::Where where = change.where();                                   \
    const Value<value_type> by = as_value(change), before = read(where);          \
    const detail::Operand<value_type> first(before, where);                       \
    write(detail::Operand<value_type>(first symbol by, where));                   \
    return static_cast<Place>(*this);                                             \
  }
#define WEIR_COMPOUNDS(Place, qualifier) \
  WEIR_COMPOUND(+, Place, qualifier)     \
  WEIR_COMPOUND(-, Place, qualifier)     \
  WEIR_COMPOUND(*, Place, qualifier)     \
  WEIR_COMPOUND(/, Place, qualifier)     \
  WEIR_COMPOUND(%, Place, qualifier)     \
  WEIR_COMPOUND(&, Place, qualifier)     \
  WEIR_COMPOUND(|, Place, qualifier)     \
  WEIR_COMPOUND(^, Place, qualifier)     \
  WEIR_COMPOUND(<<, Place, qualifier)    \
  WEIR_COMPOUND(>>, Place, qualifier)
#define WEIR_PLACE(T)                                                                                     \
  WEIR_OUT_OF_LINE Value<value_type> read(detail::Where where) const {                                    \
    detail::Handle components[detail::component_count<T>];                                                \
    detail::read_place<std::remove_const_t<T>>(place_, components, where);                                \
    return detail::Access::value<value_type>(components);                                                 \
  }                                                                                                       \
  static Value<value_type> as_value(const detail::Operand<value_type>& operand) {                         \
    return detail::Access::value<value_type>(operand.components());                                       \
  }                                                                                                       \
  WEIR_OUT_OF_LINE void write(const detail::Operand<value_type>& value) const {                           \
    static_assert(!std::is_const_v<T>,                                                                    \
                  "this array is read-only in the kernel: take View<T> instead of View<const T>");        \
    if constexpr (!std::is_const_v<T>) detail::write_place<T>(place_, value.components(), value.where()); \
  }                                                                                                       \
  detail::Place part(const detail::Choice& choice) const {                                                \
    detail::Place part = place_;                                                                          \
    part.component = static_cast<std::uint8_t>(part.component + choice.first);                            \
    part.choice = choice;                                                                                 \
    return part;                                                                                          \
  }

/// The place that x[i] names: assign to it, or use it as a T. Valid inside one expression.
template <class T>
class Element : public detail::Arithmetic<detail::compute_t<T>>, public detail::NoHostCondition<Element<T>> {
  using scalar = std::conditional_t<std::is_const_v<T>, const detail::scalar_t<T>, detail::scalar_t<T>>;

 public:
  using value_type = detail::compute_t<T>;

  Element(const Element&) = delete;  // auto p = x[i] keeps a place; write Value p = x[i]

  Element&& operator=(const detail::Operand<value_type>& value) && {
    write(value);
    return static_cast<Element&&>(*this);
  }
  Element&& operator=(Element&& from) && {
    const detail::Where where = from.place_.where;
    write(detail::Operand<value_type>(static_cast<Element&&>(from), where));
    return static_cast<Element&&>(*this);
  }
  template <class E>
  requires detail::NotAssigned<E, value_type>
  void operator=(E&&) && {
    static_assert(
        detail::HostEnum<E>,
        "the element and the stored value have different types: write cast<T>(...) around the value");
    static_assert(
        !detail::HostEnum<E>,
        "an enumerator is not a number of a kernel: write static_cast<int>(...) around the enumerator");
  }
  void operator=(const Element&) && { kept(); }
  void operator=(const Element&) & { kept(); }
  void operator=(const detail::Operand<value_type>&) & { kept(); }
  WEIR_COMPOUNDS(Element&&, &&)

  /// A component of a Vec element. `component` is a host number or a traced integer. With a traced one,
  /// reading loads the whole element, and writing changes one component. One outside the Vec reads any
  /// component and writes none, or fails the launch if the kernel checks bounds.
  Element<scalar> operator[](const detail::Component& component) && {
    static_assert(detail::is_vec<std::remove_const_t<T>>,
                  "only a Vec has components x[i][c]; a Mat has x[i](row, column)");
    return detail::Access::element<scalar>(part(component.of<T>()));
  }
  /// An entry of a Mat element; the indices are as for operator[].
  Element<scalar> operator()(const detail::Component& row, const detail::Component& column) && {
    static_assert(detail::is_mat<std::remove_const_t<T>>, "only a Mat has entries x[i](row, column)");
    return detail::Access::element<scalar>(part(detail::Component::of<T>(row, column)));
  }

 private:
  friend struct detail::Access;
  explicit Element(const detail::Place& place) noexcept : place_(place) {}
  static void kept() {
    static_assert(detail::always_false<T>,
                  "auto p = x[i] refers to the element and does not copy it: write x[i] = ... where the "
                  "element is stored");
  }
  WEIR_PLACE(T)

  detail::Place place_;
};

/// A local variable of the kernel, one per iteration; starts as given, or as zero. Never copied or moved: a
/// copy would be another variable in C++ and the same one in the kernel.
template <class T>
class Var : public detail::Arithmetic<T>, public detail::NoHostCondition<Var<T>> {
  static_assert(KernelElement<T>, "Var<T> holds a number, bool, or a Vec or Mat of these");
  static_assert(!std::same_as<detail::scalar_t<T>, half>,
                "kernels compute halves as float: write Var<float>");

 public:
  using value_type = T;

  explicit Var(detail::Where where = detail::Where::current())
      : place_(detail::emit_local(detail::scalar_type<T>, detail::component_count<T>, 1, where)) {}
  template <detail::FitsAs<T> A>
  requires(!std::same_as<std::remove_cvref_t<A>, Var>)
      Var(A&& initial, detail::Where where = detail::Where::current())
      : Var(detail::Operand<T>(static_cast<A&&>(initial), where), 0) {}
  /// Refuses a traced value of another type. Explicit, as that of Value.
  template <detail::Traced E>
  requires(!detail::FitsAs<E, T>) explicit Var(E&&) {  // another type: write cast<T>(...) around it
    static_assert(detail::always_false<E>,
                  "the value has another type than this Var<T>: write cast<T>(...) around it");
  }
  Var(const Var&) {
    static_assert(detail::always_false<T>,
                  "a Var is not copied: write Var<T> w = Value(v) for a second variable, Value s = v for its "
                  "current value, and capture it by reference");
  }

  Var& operator=(const detail::Operand<T>& value) {
    write(value);
    return *this;
  }
  Var& operator=(Var& from) {  // const Var& would take constants
    write(detail::Operand<T>(from, detail::Where()));
    return *this;
  }
  template <class E>
  requires detail::NotAssigned<E, T>
  void operator=(E&&) {
    static_assert(
        detail::HostEnum<E>,
        "the variable and the assigned value have different types: write cast<T>(...) around the value");
    static_assert(
        !detail::HostEnum<E>,
        "an enumerator is not a number of a kernel: write static_cast<int>(...) around the enumerator");
  }
  WEIR_COMPOUNDS(Var&, )

  /// A component of a Vec, to read or assign. `component` is a host number or a traced integer. A traced one
  /// outside the Vec reads any component and assigns none, or fails the launch if the kernel checks bounds.
  Element<detail::scalar_t<T>> operator[](const detail::Component& component) const {
    static_assert(detail::is_vec<T>, "only a Vec has components v[c]; a Mat has m(row, column)");
    return detail::Access::element<detail::scalar_t<T>>(part(component.of<T>()));
  }
  /// An entry of a Mat; the indices are as for operator[].
  Element<detail::scalar_t<T>> operator()(const detail::Component& row,
                                          const detail::Component& column) const {
    static_assert(detail::is_mat<T>, "only a Mat has entries m(row, column)");
    return detail::Access::element<detail::scalar_t<T>>(part(detail::Component::of<T>(row, column)));
  }

 private:
  friend struct detail::Access;
  Var(const detail::Operand<T>& initial, int)
      : place_(detail::emit_local(detail::scalar_type<T>, detail::component_count<T>, 1, initial.where())) {
    write(initial);
  }
  WEIR_PLACE(T)

  detail::Place place_;
};

template <detail::Traced E>
Var(E&&) -> Var<detail::traced_t<E>>;

/// N local elements, one set per iteration, initially zero. `a[i]` is an element as in an array. A constant
/// index outside the array is an error of the kernel; a traced one is undefined unless the kernel checks
/// bounds.
template <class T, std::size_t N>
class LocalArray {
  static_assert(KernelElement<T> && N > 0, "LocalArray<T, N> holds N >= 1 numbers, bools, Vecs or Mats");
  static_assert(!std::same_as<detail::scalar_t<T>, half>,
                "kernels compute halves as float: write LocalArray<float, N>");

 public:
  explicit LocalArray(detail::Where where = detail::Where::current())
      : place_(detail::emit_local(detail::scalar_type<T>, detail::component_count<T>, N, where)) {}
  LocalArray(const LocalArray&) = delete;  // copy element by element, and capture it by reference

  static constexpr std::size_t size() noexcept { return N; }

  Element<T> operator[](const detail::Subscript& index) const {
    detail::check_local_index(index, N, "the LocalArray");
    detail::Place place = place_;
    place.rank = 1;
    place.index[0] = index.handle();
    place.where = index.where();
    return detail::Access::element<T>(place);
  }

 private:
  detail::Place place_;
};

namespace detail {
template <class P>
inline constexpr bool is_place = false;
template <class T>
inline constexpr bool is_place<Element<T>> = true;
template <class T>
inline constexpr bool is_place<Var<T>> = true;
}  // namespace detail

/// Exchanges the values of two places: elements, their components, variables. Also structs in arrays.
template <class A, class B>
  requires(detail::is_place<std::remove_cvref_t<A>>&& detail::is_place<std::remove_cvref_t<B>>)
void swap(A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using T = typename std::remove_cvref_t<A>::value_type;
  if constexpr (std::same_as<T, typename std::remove_cvref_t<B>::value_type>) {
    const Value<T> first(static_cast<A&&>(a), where), second(static_cast<B&&>(b), where);
    if constexpr (requires { sizeof(detail::ElementOf<T>); }) {
      static_cast<A&&>(a) = detail::Operand<T>(second, where);
      static_cast<B&&>(b) = detail::Operand<T>(first, where);
    } else {  // structs
      static_cast<A&&>(a) = second;
      static_cast<B&&>(b) = first;
    }
  } else {
    static_assert(detail::always_false<A, B>, "swap exchanges places of one type: cast<T>(...) their values");
  }
}

#undef WEIR_COMPOUND
#undef WEIR_COMPOUNDS
#undef WEIR_PLACE

}  // namespace weir
