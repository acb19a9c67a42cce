// SPDX-License-Identifier: Apache-2.0
// Turns a C++ class into a layer (see <weir/layer.h>):
//
//   class Counter {
//    public:
//     static constexpr const char* name = "counter";
//     explicit Counter(const weir::sdk::LayerHost& host) : next(host.next) {}
//     const weir_driver_table next;  // the table below; slots without a member call it directly
//
//     weir_result fill(weir_stream s, weir_allocation to, uint64_t at, uint64_t size, const void* pattern,
//                      uint32_t pattern_size, weir_status* status) {
//       ++fills_;
//       return next.fill(s, to, at, size, pattern, pattern_size, status);
//     }
//    private:
//     std::atomic<uint64_t> fills_{0};
//   };
//   WEIR_LAYER(Counter)
//
// Members with the name of a slot replace it; they may throw (status.hpp). Further members, all optional:
//   enter(Slot, arguments...)       before every call of every slot; a result other than WEIR_OK is returned
//                                   instead; Slot is a type of weir::sdk::slots, with `name`
//   annotate_kernel(...)            the extension weir.annotate: weir_annotate_table::get_kernel
//   static constexpr std::uint32_t annotate_version   the version of that extension that it supports; 1 without
//   configure(std::string_view)     weir_layer::configure
//   std::uint64_t get(std::string_view)   weir_layer::get; throws Failure{WEIR_ERROR_NOT_FOUND}
// Each driver that uses the layer has a separate layer object, which lives until the process ends. In a child that
// was forked after the driver was used, calls go to the driver alone, which refuses them: another thread may have
// held a lock of the layer.
#pragma once

#include <weir/layer.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fork.hpp"
#include "status.hpp"

namespace weir::sdk {

/// The slots of the table, a type for each: `fill_slot::name`, `fill_slot::member`.
namespace slots {
#define WEIR_SLOT(slot, need)                                \
  struct slot##_slot {                                       \
    static constexpr std::string_view name = #slot;          \
    static constexpr auto member = &weir_driver_table::slot; \
    template <class L>                                       \
    static constexpr bool replaced = requires { &L::slot; }; \
    template <class L, class... A>                           \
    static weir_result call(L& layer, A... arguments) {      \
      return layer.slot(arguments...);                       \
    }                                                        \
  };
#include "slots.def"
#undef WEIR_SLOT
}  // namespace slots

/// The first argument of type T, or a default T if there is none.
template <class T, class... A>
T argument_of(A... arguments) noexcept {
  T found{};
  bool done = false;
  (
      [&] {
        if constexpr (std::is_same_v<A, T>) {
          if (!done) found = arguments;
          done = true;
        }
      }(),
      ...);
  return found;
}

/// The input of a layer's constructor.
struct LayerHost {
  weir_driver_table next{};  ///< a copy; slots that `next` lacks are null
  std::string options;
  std::string layer, driver;
  weir_layer_report_function report_function = nullptr;
  void* user = nullptr;

  void report(const char* rule, const std::string& message) const {
    if (!report_function) return;
    const weir_layer_report report{
        sizeof(weir_layer_report), 0, layer.c_str(), driver.c_str(), rule, message.c_str()};
    report_function(user, &report);
  }
};

/// Whether the layer defines `enter`, which runs before every call.
template <class L>
inline constexpr bool layer_enters =
    requires(L& l) { l.enter(slots::device_count_slot{}, (std::uint32_t*)nullptr, (weir_status*)nullptr); };

/// A layer's replacement of a slot. Not inlined, so that it is compiled once and not for every instance.
template <class L, class Slot, class Function>
struct LayerCall;
template <class L, class Slot, class... A>
struct LayerCall<L, Slot, weir_result (*)(A...)> {
  /// Calls before the driver is used. After them, a child of fork can use it, and the layer over it.
  static constexpr bool describes = std::is_same_v<Slot, slots::device_count_slot> ||
                                    std::is_same_v<Slot, slots::device_get_info_slot> ||
                                    std::is_same_v<Slot, slots::get_extension_slot>;

  [[gnu::noinline]] static weir_result run(L& layer, A... arguments) {
    if (was_forked()) return (layer.next.*Slot::member)(arguments...);
    return guarded(argument_of<weir_status*>(arguments...), [&]() -> weir_result {
      if constexpr (!describes) notice_forks();
      if constexpr (layer_enters<L>)
        if (const weir_result result = layer.enter(Slot{}, arguments...); result != WEIR_OK) return result;
      if constexpr (Slot::template replaced<L>)
        return Slot::call(layer, arguments...);
      else
        return (layer.next.*Slot::member)(arguments...);
    });
  }
};

/// One layer object and the functions that call it; the table's functions have no parameter for a pointer.
template <class L, int N>
class LayerInstance {
 public:
  static void fill(std::unique_ptr<L> made, weir_layer& out) {
    layer = made.release();
    const weir_driver_table& next = layer->next;
    table = next;
#define WEIR_SLOT(slot, need)               \
  if constexpr (hooked<slots::slot##_slot>) \
    if (next.slot) table.slot = &Hook<slots::slot##_slot, decltype(weir_driver_table::slot)>::call;
#include "slots.def"
#undef WEIR_SLOT
    if constexpr (annotates) table.get_extension = get_extension;
    out.table = &table;
    out.self = layer;
    if constexpr (requires { layer->configure(std::string_view()); })
      out.configure = [](void* self, const char* options, weir_status* status) {
        return guarded(status, [&] { static_cast<L*>(self)->configure(options ? options : ""); });
      };
    if constexpr (requires { layer->get(std::string_view()); })
      out.get = [](void* self, const char* name, std::uint64_t* number, weir_status* status) {
        return guarded(status, [&] {
          std::uint64_t& to = output(number, "out");
          to = static_cast<L*>(self)->get(name ? name : "");
        });
      };
  }

 private:
  static constexpr bool annotates = requires { &L::annotate_kernel; };
  template <class Slot>
  static constexpr bool hooked = Slot::template replaced<L> || layer_enters<L>;

  template <class Slot, class Function>
  struct Hook;
  template <class Slot, class... A>
  struct Hook<Slot, weir_result (*)(A...)> {
    static weir_result call(A... arguments) {
      return LayerCall<L, Slot, weir_result (*)(A...)>::run(*layer, arguments...);
    }
  };

  static weir_result get_extension(const char* name, std::uint32_t version, const void** out,
                                   weir_status* status) {
    if constexpr (annotates)
      if (name && out && std::string_view(name) == WEIR_ANNOTATE_EXTENSION && version <= annotate_version()) {
        static const weir_annotate_table annotate{sizeof annotate, 0, annotate_kernel};
        *out = &annotate;
        return WEIR_OK;
      }
    if constexpr (hooked<slots::get_extension_slot>)
      return Hook<slots::get_extension_slot, decltype(weir_driver_table::get_extension)>::call(name, version,
                                                                                               out, status);
    else if (layer->next.get_extension)
      return layer->next.get_extension(name, version, out, status);
    report(status, WEIR_ERROR_NOT_FOUND, "there is no such extension");
    return WEIR_ERROR_NOT_FOUND;
  }

  static constexpr std::uint32_t annotate_version() {
    if constexpr (requires { L::annotate_version; })
      return L::annotate_version;
    else
      return 1;
  }

  static weir_result annotate_kernel(weir_module module, const char* name, const weir_kernel_layout* layout,
                                     const weir_kernel_annotation* annotation, weir_kernel* out,
                                     weir_status* status) {
    return guarded(status, [&]() -> weir_result {
      return layer->annotate_kernel(module, name, layout, annotation, out, status);
    });
  }

  static inline L* layer = nullptr;
  static inline weir_driver_table table{};
};

/// Maximum number of drivers in a process that can use a layer.
inline constexpr int max_layer_instances = 16;
/// The name of max_layer_instances in version 0.1; removed in 0.3.
[[deprecated("use max_layer_instances")]] inline constexpr int most_layer_instances = max_layer_instances;

/// The body of the weir_layer_entry that WEIR_LAYER defines.
template <class L>
weir_result enter_layer(const weir_layer_host* host, weir_layer* out_layer, weir_status* status) noexcept {
  return guarded(status, [&] {
    const weir_layer_host given = read_struct(host, "host");
    if (!given.next) fail(WEIR_ERROR_INVALID, "host.next is null; expected the table of a driver");
    if (given.abi_version > WEIR_ABI_CURRENT)
      fail(WEIR_ERROR_ABI, "layer %s supports driver ABI up to %u.%u; the host uses %u.%u", L::name,
           WEIR_ABI_MAJOR(WEIR_ABI_CURRENT), WEIR_ABI_MINOR(WEIR_ABI_CURRENT),
           WEIR_ABI_MAJOR(given.abi_version), WEIR_ABI_MINOR(given.abi_version));
    LayerHost made;
    std::memcpy(&made.next, given.next, std::min<std::size_t>(given.next->struct_size, sizeof made.next));
    made.next.struct_size = sizeof made.next;
    made.options = given.options ? given.options : "";
    made.layer = L::name;
    made.driver = made.next.name ? made.next.name : "";
    made.report_function = given.report;
    made.user = given.user;
    auto layer = std::make_unique<L>(made);

    static std::mutex mutex;
    static int used = 0;
    const std::lock_guard lock(mutex);
    if (used == max_layer_instances)
      fail(WEIR_ERROR_UNSUPPORTED, "layer %s is already used by %d drivers, the maximum", L::name,
           used);
    weir_layer filled{};
    [&]<int... N>(std::integer_sequence<int, N...>) {
      ((N == used ? LayerInstance<L, N>::fill(std::move(layer), filled) : void()), ...);
    }(std::make_integer_sequence<int, max_layer_instances>());
    ++used;
    write_struct(out_layer, filled, "out_layer");
  });
}

}  // namespace weir::sdk

/// Exports the class as the layer of this library.
#define WEIR_LAYER(Class)                                                                                  \
  extern "C" WEIR_DRIVER_EXPORT weir_result weir_layer_entry(const weir_layer_host* host,                  \
                                                             weir_layer* out_layer, weir_status* status) { \
    return weir::sdk::enter_layer<Class>(host, out_layer, status);                                         \
  }
