// SPDX-License-Identifier: Apache-2.0
// Code objects that the vendor's runtime loads, and the kernels in them.
//
// Of the vendor's traits V this needs
//   static void* load_module(Device<V>&, const weir_code_object&);
//       or a Failure with the vendor's log
//   static Code prepare_function(void* function) noexcept;
//       loads it now, so that no launch does it
//   static std::size_t block_bytes(const Kernel<V>&);
//       bytes of the argument block that the code takes: those of the kernel's layout, or fewer where the
//       layout is padded; a Failure when they are more
#pragma once

#include "launch.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Module : ModuleObject<Device<V>, Kernel<V>> {
  using Base = ModuleObject<Device<V>, Kernel<V>>;
  using Base::device;
  using Base::name;
  void* native = nullptr;

  void find_kernel(Kernel<V>& kernel) {
    Current<V> current(*device);
    Code code = V::calls().module_get_function(&kernel.function, native, kernel.name.c_str());
    if (code == not_found)
      throw Failure{WEIR_ERROR_NOT_FOUND,
                    words("module '%.64s' has no kernel '%.128s'", name.c_str(), kernel.name.c_str()), code,
                    V::error_name(code)};
    if (code == success) code = V::prepare_function(kernel.function);
    if (code != success) device->raise(code, words("load kernel '%.128s'", kernel.name.c_str()).c_str());
    kernel.block_bytes = V::block_bytes(kernel);
    kernel.describe();
  }

  void unload() noexcept {
    {
      Current<V> current(*device, std::nothrow);
      V::calls().module_unload(native);
    }
    Pool<Module>::of().give(*this);
  }
};

template <class V>
Module<V>& Device<V>::load_module(const weir_code_object& object) {
  Current<V> current(*this);
  Fresh<Module<V>> module;
  module->device = this;
  module->name = object.name;
  module->kernels.clear();
  module->native = V::load_module(*this, object);
  return module.publish();
}

}  // namespace weir::sdk::vendor
