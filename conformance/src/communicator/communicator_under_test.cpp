// SPDX-License-Identifier: Apache-2.0
#include "communicator/communicator_under_test.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "driver/recorded_table.hpp"
#include "requirement.hpp"

namespace weir::conformance {

RanksUnderTest& ranks_under_test() {
  static RanksUnderTest chosen;
  return chosen;
}

std::string communicator_result_name(weir_result result) {
  return static_cast<int>(result) == WEIR_ERROR_RANK ? "WEIR_ERROR_RANK" : result_name(result);
}

weir_communicator_entry_function communicator_entry() {
  static void* const library = dlopen(ranks_under_test().file.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(std::string("the communicator cannot be loaded: ") + dlerror());
  static void* const symbol = dlsym(library, WEIR_COMMUNICATOR_ENTRY_NAME);
  if (!symbol) throw std::runtime_error("the communicator exports no " WEIR_COMMUNICATOR_ENTRY_NAME);
  return reinterpret_cast<weir_communicator_entry_function>(symbol);
}

const weir_communicator_table& communicator_table() {
  static const weir_communicator_table* const found = [] {
    const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(1, 0), WEIR_COMMUNICATOR_CURRENT};
    const weir_communicator_table* out = nullptr;
    weir_status status = new_status();
    if (const weir_result result = communicator_entry()(&host, &out, &status); result != WEIR_OK)
      throw std::runtime_error("the entry point returned " + communicator_result_name(result) + ": " +
                               status.message);
    if (!out) throw std::runtime_error("the entry point returned WEIR_OK and no table");
    return out;
  }();
  return *found;
}

const weir_communicator_info& communicator_info() {
  static const weir_communicator_info filled = [] {
    weir_communicator_info out{};
    out.struct_size = sizeof out;
    weir_status status = new_status();
    const weir_result result = communicator_table().communicator_get_info(&out, &status);
    if (result == WEIR_ERROR_NO_LIBRARY) throw Skipped(std::string("it cannot run here: ") + status.message);
    if (result != WEIR_OK)
      throw std::runtime_error("communicator_get_info returned " + communicator_result_name(result) + ": " +
                               status.message);
    return out;
  }();
  return filled;
}

bool ranks_are_threads() {
  return communicator_info().capabilities & WEIR_COMMUNICATOR_THREADS;
}

int describe_communicator(int output) {
  using nlohmann::json;
  json described = {{"event", "described"}, {"driver", json::object()}, {"device", json::object()}};
  try {
    const weir_communicator_table& table = communicator_table();
    const auto text = [](const char* from) { return std::string(from ? from : ""); };
    described["driver"] = {{"name", text(table.name)},
                           {"version", text(table.version)},
                           {"vendor", text(table.vendor)},
                           {"abi", std::to_string(WEIR_ABI_MAJOR(table.abi_version)) + "." +
                                       std::to_string(WEIR_ABI_MINOR(table.abi_version))}};
    const std::uint32_t ranks = ranks_under_test().ranks;
    described["device"] = {
        {"name", std::to_string(ranks) + (ranks_are_threads() ? " threads" : " processes")},
        {"driver_version", text(communicator_info().library_version)}};
  } catch (const Skipped& none) {
    described["driver"]["no_device"] = none.what();
  } catch (const std::exception& error) {
    described["error"] = error.what();
  }
  const std::string line = "\n" + described.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return write(output, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 3;
}

}  // namespace weir::conformance
