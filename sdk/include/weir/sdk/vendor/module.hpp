// SPDX-License-Identifier: Apache-2.0
// Code objects that the vendor's runtime loads, and the kernels in them.
//
// Requires of the vendor's traits V:
//   struct ModuleData;
//       V's data of a module
//   static void check_target(const Device<V>&, const weir_code_object&);
//       throws a Failure for code of another device
//   static Code load_module(Module<V>&, const weir_code_object&, std::string& log);
//       sets module.native, or `log` to the vendor's compiler log
//   static Code prepare_function(void* function) noexcept;
//       loads the function now, so that no launch must
//   static std::size_t block_bytes(const Module<V>&, Kernel<V>&);
//       bytes of the argument block that the code takes: those of the kernel's layout, or fewer if the layout
//       is padded; throws a Failure if they are more. Also sets the kernel's data
#pragma once

#include "launch.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Module : ModuleObject<Device<V>, Kernel<V>> {
  using Base = ModuleObject<Device<V>, Kernel<V>>;
  using Base::device;
  using Base::name;
  void* native = nullptr;
  [[no_unique_address]] typename V::ModuleData data{};

  void find_kernel(Kernel<V>& kernel) {
    Current<V> current(*device);
    Code code = V::calls().module_get_function(&kernel.function, native, kernel.name.c_str());
    if (code == not_found)
      throw Failure{WEIR_ERROR_NOT_FOUND,
                    format_text("module '%.64s' has no kernel '%.128s'; give its exported name, and "
                                "declare it extern \"C\"",
                                name.c_str(), kernel.name.c_str()),
                    code, V::error_name(code)};
    if (code == success) code = V::prepare_function(kernel.function);
    if (code != success)
      device->raise(code, format_text("load kernel '%.128s'", kernel.name.c_str()).c_str());
    kernel.block_bytes = V::block_bytes(*this, kernel);
    kernel.describe();
  }

  void unload() noexcept {
    {
      Current<V> current(*device, std::nothrow);
      V::calls().module_unload(native);
      data = {};
    }
    Pool<Module>::of().give(*this);
  }
};

template <class V>
Module<V>& Device<V>::load_module(const weir_code_object& object) {
  Current<V> current(*this);
  V::check_target(*this, object);
  Fresh<Module<V>> module;
  module->device = this;
  module->name = object.name;
  module->kernels.clear();
  std::string log;
  const Code code = V::load_module(*module, object, log);
  if (code == success) return module.publish();
  if (verdict_of<V>(code).lost) raise(code, "load a code object");
  Failure failure =
      failure_of<V>(code, format_text("load code object '%.64s' of format '%.32s' for target '%.64s'",
                                      object.name, object.format, object.target)
                              .c_str());
  if (failure.code != WEIR_ERROR_OUT_OF_MEMORY) failure.code = WEIR_ERROR_CODE_OBJECT;
  if (!log.empty()) failure.message += "; its log says: " + log;
  throw failure;
}

}  // namespace weir::sdk::vendor
