// SPDX-License-Identifier: Apache-2.0
// Faults of code_compile. The real driver loads machine code only, so the table below gets a compiler first:
// it takes that format for source text, and makes "mutant-elf" of it, which has the same bytes in another
// form.
#include <algorithm>
#include <string>

#include "mutant.hpp"

namespace mutant {
namespace {

using Object = weir_code_object;
using Receiver = weir_code_receiver;

constexpr const char* source_format = "elf-x86_64";

bool is_of(const Object& object, const char* format) {
  return object.format && std::string_view(object.format) == format;
}

std::string translated(const Object& object) {
  std::string bytes(static_cast<const char*>(object.data), static_cast<std::size_t>(object.size));
  for (char& c : bytes) c = static_cast<char>(c ^ 0x5a);
  return bytes;
}

weir_result load(weir_device d, const Object* object, weir_module* out, Status* e) {
  if (!object || !is_of(*object, machine_format) || !object->data)
    return real().module_load(d, object, out, e);
  const std::string bytes = translated(*object);
  Object source = *object;
  source.format = source_format;
  source.data = bytes.data();
  return real().module_load(d, &source, out, e);
}

weir_result compile(weir_device d, const Object* object, Receiver receive, void* user, Status* e) {
  if (!receive) return refuse(e, WEIR_ERROR_INVALID, "receive is null");
  if (object && is_of(*object, machine_format))
    return refuse(e, WEIR_ERROR_UNSUPPORTED, "mutant-elf is loaded without compilation");
  weir_module loaded = nullptr;  // checks the object
  if (const weir_result result = real().module_load(d, object, &loaded, e); result != WEIR_OK) return result;
  real().module_unload(loaded, nullptr);
  const std::string bytes = translated(*object);
  Object code = *object;
  code.struct_size = sizeof code;
  code.format = machine_format;
  code.data = bytes.data();
  receive(user, &code);
  return WEIR_OK;
}

weir_result describe(std::uint32_t index, weir_device_info* info, Status* e) {
  weir_device_info full{};
  full.struct_size = sizeof full;
  const weir_result result = real().device_get_info(index, &full, e);
  if (result != WEIR_OK) return result;
  full.capabilities |= WEIR_CAP_CODE_COMPILE;
  weir_code_target& added = full.code_targets[full.code_target_count++];
  added = full.code_targets[0];
  std::snprintf(added.format, sizeof added.format, "%s", machine_format);
  full.struct_size = info->struct_size;
  std::memcpy(info, &full, std::min<std::size_t>(info->struct_size, sizeof full));
  return WEIR_OK;
}

/// A receiver that changes the code and passes it on.
template <auto change>
weir_result compile_changed(weir_device d, const Object* object, Receiver receive, void* user, Status* e) {
  if (!receive) return compile(d, object, receive, user, e);
  struct Next {
    Receiver receive;
    void* user;
  } next{receive, user};
  return compile(
      d, object,
      [](void* given, const Object* code) {
        const Next& to = *static_cast<Next*>(given);
        Object changed = *code;
        change(changed);
        to.receive(to.user, &changed);
      },
      &next, e);
}

template <auto change>
void spoil(Table& table) {
  add_compiler(table);
  table.code_compile = compile_changed<change>;
}

/// The bytes of the first code that was compiled.
std::string& first_code() {
  static std::string bytes;
  return bytes;
}

}  // namespace

void add_compiler(Table& table) {
  table.module_load = load;
  table.code_compile = compile;
  table.device_get_info = describe;
}

std::span<const Mutant> compiling_mutants() {
  static const Mutant mutants[] = {
      {"compile-gives-other-code", "the code is that of the object", spoil<[](Object& code) {
         std::string& first = first_code();
         if (first.empty()) first.assign(static_cast<const char*>(code.data), code.size);
         code.data = first.data();
         code.size = first.size();
       }>},
      {"compile-gives-half-the-code", "the code is loaded", spoil<[](Object& code) { code.size /= 2; }>},
      {"compile-gives-source-back", "the code needs no compilation",
       [](Table& t) {
         add_compiler(t);
         t.code_compile = [](weir_device, const Object* object, Receiver receive, void* user, Status*) {
           receive(user, object);
           return weir_result{WEIR_OK};
         };
       }},
      {"compile-gives-an-unlisted-format", "the format is listed",
       spoil<[](Object& code) { code.format = "unlisted"; }>},
      {"compile-loses-the-name", "the code has the object's name",
       spoil<[](Object& code) { code.name = ""; }>},
      {"compile-gives-code-twice", "the receiver is called once",
       [](Table& t) {
         add_compiler(t);
         t.code_compile = [](weir_device d, const Object* object, Receiver receive, void* user, Status* e) {
           const weir_result result = compile(d, object, receive, user, e);
           return result == WEIR_OK ? compile(d, object, receive, user, e) : result;
         };
       }},
      {"compile-gives-nothing", "the receiver is called",
       [](Table& t) {
         add_compiler(t);
         t.code_compile = [](weir_device d, const Object* object, Receiver, void* user, Status* e) {
           return compile(d, object, [](void*, const Object*) {}, user, e);
         };
       }},
      {"compile-takes-compiled-code", "compiled code is not compiled again",
       [](Table& t) {
         add_compiler(t);
         t.code_compile = [](weir_device d, const Object* object, Receiver receive, void* user, Status* e) {
           if (!is_of(*object, machine_format)) return compile(d, object, receive, user, e);
           receive(user, object);
           return weir_result{WEIR_OK};
         };
       }},
      {"compile-gives-garbage-first", "a refused object gives no code",
       [](Table& t) {
         add_compiler(t);
         t.code_compile = [](weir_device d, const Object* object, Receiver receive, void* user, Status* e) {
           weir_module loaded = nullptr;
           const weir_result result = load(d, object, &loaded, e);
           if (result != WEIR_OK)
             receive(user, object);
           else
             real().module_unload(loaded, nullptr);
           return result == WEIR_OK ? compile(d, object, receive, user, e) : result;
         };
       }},
      {"compile-without-receiver", "a receiver is required",
       [](Table& t) {
         add_compiler(t);
         t.code_compile = [](weir_device d, const Object* object, Receiver receive, void* user, Status* e) {
           return receive ? compile(d, object, receive, user, e) : weir_result{WEIR_OK};
         };
       }},
      {"compile-unclaimed", "a clear bit means UNSUPPORTED",
       [](Table& t) {
         add_compiler(t);
         t.device_get_info = real().device_get_info;
       }},
  };
  return mutants;
}

}  // namespace mutant
