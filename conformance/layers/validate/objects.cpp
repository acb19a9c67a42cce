// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include <cinttypes>
#include <weir/sdk/status.hpp>

namespace weir::validate {
namespace {

// The fields of a handle, from the highest bit: mark, kind, layer, uses, place. The mark makes the handle an
// address that no pointer can have.
constexpr int place_bits = 24, uses_bits = 24, layer_bits = 4, kind_bits = 4;
constexpr std::uint64_t mark = 0xa5, max_places = (std::uint64_t{1} << place_bits) - 1;

struct Parts {
  std::uint64_t mark, kind, layer, uses, place;
};

constexpr std::uint64_t bits(std::uint64_t value, int from, int count) {
  return value >> from & ((std::uint64_t{1} << count) - 1);
}

constexpr Parts parts_of(std::uint64_t handle) {
  return {bits(handle, 56, 8), bits(handle, 52, kind_bits), bits(handle, 48, layer_bits),
          bits(handle, place_bits, uses_bits), bits(handle, 0, place_bits)};
}

constexpr std::uint64_t handle_of(Kind kind, std::uint32_t layer, std::uint64_t uses, std::uint64_t place) {
  return mark << 56 | static_cast<std::uint64_t>(kind) << 52 | std::uint64_t{layer} << 48 |
         bits(uses, 0, uses_bits) << place_bits | place;
}

}  // namespace

std::string_view word(Kind kind) noexcept {
  constexpr std::string_view words[] = {"object",     "device", "stream", "event",
                                        "allocation", "module", "kernel", "graph"};
  const auto place = static_cast<std::size_t>(kind);
  return place < std::size(words) ? words[place] : words[0];
}

std::string Objects::describe(const Object& object) const {
  const Device* device =
      object.kind == Kind::device ? static_cast<const Device*>(&object) : object.device.get();
  const std::string where = driver_ + ":" + std::to_string(device ? device->index : 0);
  if (object.kind == Kind::device) return "device " + where;
  std::string text = std::string(word(object.kind)) + " " + std::to_string(object.number) + " of " + where;
  if (object.kind == Kind::allocation)
    text += " (" + std::to_string(static_cast<const Allocation&>(object).size) + " bytes)";
  if (object.kind == Kind::kernel) text += " ('" + static_cast<const Kernel&>(object).name + "')";
  if (object.kind == Kind::module && !static_cast<const Module&>(object).name.empty())
    text += " ('" + static_cast<const Module&>(object).name + "')";
  return text;
}

std::uint64_t Objects::put(const std::shared_ptr<Object>& object) {
  std::uint32_t place;
  // Places are reused as late as possible, and not at all for small numbers of objects.
  if (free_.size() > 1024 || places_.size() == max_places) {
    if (free_.empty())
      sdk::fail(WEIR_ERROR_OUT_OF_MEMORY, "layer validate: too many objects are alive at once");
    place = free_.front();
    free_.pop_front();
  } else {
    place = static_cast<std::uint32_t>(places_.size());
    places_.emplace_back();
  }
  Place& at = places_[place];
  at.object = object;
  at.last.clear();
  object->alive = true;
  const int kind = static_cast<int>(object->kind);
  object->number = ++made_[kind];
  object->handle = handle_of(object->kind, layer_, ++at.uses, place);
  ++live_[kind];
  return object->handle;
}

void Objects::remove(const Object& object, std::string_view by) noexcept {
  const auto place = static_cast<std::uint32_t>(parts_of(object.handle).place);
  Place& at = places_[place];
  if (at.object.get() != &object) return;  // another thread has removed it
  --live_[static_cast<int>(object.kind)];
  at.object->alive = false;
  const std::shared_ptr<Object> gone = std::move(at.object);
  try {
    at.last = describe(object) + ", which " + std::string(by) + " ended";
    free_.push_back(place);
  } catch (const std::bad_alloc&) {  // the place is not used again
  }
}

std::shared_ptr<Object> Objects::find(std::uint64_t handle, Kind kind, const char* what) const {
  const std::string expected = std::string(word(kind));
  if (handle == 0)
    throw WrongHandle{"null", sdk::format_text("%s is null; expected a %s", what, expected.c_str())};
  const Parts parts = parts_of(handle);
  const auto refuse_unknown = [&] {
    throw WrongHandle{
        "foreign",
        sdk::format_text("%s is 0x%" PRIx64 ", which is no handle of this driver; expected a %s of driver %s",
                         what, handle, expected.c_str(), driver_.c_str())};
  };
  if (parts.mark != mark || parts.kind == 0 || parts.kind >= kind_count) refuse_unknown();
  if (parts.layer != layer_)
    throw WrongHandle{"foreign",
                      sdk::format_text("%s is a %s of another driver; expected a %s of driver %s", what,
                                       std::string(word(static_cast<Kind>(parts.kind))).c_str(),
                                       expected.c_str(), driver_.c_str())};
  if (parts.place >= places_.size()) refuse_unknown();
  const Place& at = places_[parts.place];
  const bool alive = at.object && at.object->handle == handle;
  if (!alive)
    throw WrongHandle{
        "dead", sdk::format_text("%s is dead: it was %s; keep it until its last use", what,
                                 at.object || at.last.empty() ? "destroyed long ago" : at.last.c_str())};
  if (at.object->kind != kind)
    throw WrongHandle{"kind", sdk::format_text("%s is %s; expected a %s", what, describe(*at.object).c_str(),
                                               expected.c_str())};
  return at.object;
}

std::vector<std::shared_ptr<Object>> Objects::of(const Device& device) const {
  std::vector<std::shared_ptr<Object>> found;
  for (const Place& place : places_)
    if (place.object && place.object->device.get() == &device) found.push_back(place.object);
  return found;
}

}  // namespace weir::validate
