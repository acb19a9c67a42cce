// SPDX-License-Identifier: Apache-2.0
// The SDK's types for failures and for the objects of handles, as this driver uses them.
#pragma once

#include <weir/sdk/checks.hpp>
#include <weir/sdk/fork.hpp>
#include <weir/sdk/object.hpp>

namespace weir::cpu {

using sdk::fail;
using sdk::fail_system;
using sdk::Failure;
using sdk::handle_of;
using sdk::InLife;
using sdk::Kind;
using sdk::live;
using sdk::Object;
using sdk::output;
using sdk::Pool;
using sdk::read_struct;
using sdk::report;
using sdk::retire;
using sdk::write_struct;

/// As sdk::guarded. In a forked child, which has none of the driver's threads, each call fails with that
/// reason.
template <class Body>
weir_result guarded(weir_status* status, Body&& body) noexcept {
  return sdk::guarded(status, [&] {
    sdk::check_not_forked("cpu");
    return body();
  });
}

}  // namespace weir::cpu
