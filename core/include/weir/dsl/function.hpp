// SPDX-License-Identifier: Apache-2.0
// Device functions with a name. Plain C++ functions and lambdas over values are device functions too; this
// Function has a source line, converts elements to values, and refuses stream_parallel inside.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <string>
#include <weir/dsl/value.hpp>

namespace weir {

/// weir::Function twice{"twice", [](Value<float> a) { return a + a; }};  y[i] = twice(x[i]);
/// Becomes part of every kernel that calls it. Elements are read before the call; Vars and views are passed
/// as they are, so that a Var<T>& parameter can be assigned to.
template <class F>
class Function {
 public:
  Function(std::string_view name, F body, detail::Where where = detail::Where::current())
      : name_(name), body_(static_cast<F&&>(body)), where_(where) {}

  template <class... A>
  decltype(auto) operator()(A&&... arguments) const {
    static_assert(std::is_invocable_v<const F&, decltype(pass(static_cast<A&&>(arguments)))...>,
                  "the arguments of a Function have the types of its lambda's parameters: write cast<T>(...) "
                  "around traced values of another type");
    detail::Scope scope;
    detail::open_function(scope, name_, where_);
    return body_(pass(static_cast<A&&>(arguments))...);
  }

 private:
  template <class A>
  static A&& pass(A&& argument) {
    return static_cast<A&&>(argument);
  }
  template <class T>
  static Value<detail::compute_t<T>> pass(Element<T>&& element) {
    return Value<detail::compute_t<T>>(static_cast<Element<T>&&>(element), detail::Where());
  }

  std::string name_;
  F body_;
  detail::Where where_;
};

}  // namespace weir
