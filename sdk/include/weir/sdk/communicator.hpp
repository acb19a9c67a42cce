// SPDX-License-Identifier: Apache-2.0
// The C table of a communicator, generated from a class. Each slot checks handles and arguments, calls one
// member function of the group, and converts exceptions to results.
//
//   struct Ring {
//     static constexpr const char *name = "ring", *version = "1.0", *vendor = "...";
//     static weir_communicator_info describe();
//     class Group : public weir::sdk::GroupBase {
//      public:
//       static std::shared_ptr<Group> join(const weir_group_options& options);
//       void leave();                          // as the slots of the same names, with checked arguments
//       void abort(const char* reason);
//       int failed_rank() const;
//       void exchange(std::span<const weir_transfer> transfers, const weir_communicator_stream* stream);
//       void broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root, stream);
//       void all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size, stream);
//       void reduce_scatter(to, from, std::uint64_t count, std::uint32_t type, std::uint32_t reduction,
//       stream); void all_reduce(the same); void all_to_all(as all_gather); void barrier(stream);
//     };
//   };
//   WEIR_COMMUNICATOR(Ring)
#pragma once

#include <weir/communicator.h>

#include <memory>
#include <span>

#include "fork.hpp"
#include "object.hpp"
#include "reduction.hpp"

namespace weir::sdk {

/// This rank's place in its group.
class GroupBase {
 public:
  GroupBase(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {}
  std::uint32_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }

 private:
  std::uint32_t rank_, size_;
};

/// Fails unless `stream` is null, for communicators that take no streams.
inline void refuse_stream(const weir_communicator_stream* stream) {
  if (stream)
    fail(WEIR_ERROR_UNSUPPORTED,
         "this communicator takes no streams; expected null, found one of the driver %.32s",
         stream->driver ? stream->driver : "");
}

/// The address of host memory; fails for other memory.
inline void* host_address(const weir_memory& memory, const char* what) {
  if (memory.driver)
    fail(WEIR_ERROR_UNSUPPORTED, "%s is memory of the driver %.32s; expected host memory", what,
         memory.driver);
  return memory.address;
}

template <class C>
struct CommunicatorSlots {
  using Group = typename C::Group;
  using Stream = const weir_communicator_stream*;

  struct Handle : Object {
    static constexpr Kind object_kind = Kind::group;
    std::shared_ptr<Group> group;
  };

  template <class Body>
  static weir_result call(weir_status* status, Body&& body) noexcept {
    return guarded(status, [&] {
      check_not_forked(C::name, "communicator");
      return body();
    });
  }

  static Group& group_of(weir_group handle) { return *live<Handle>(handle, "group").group; }

  static const weir_memory& checked(const weir_memory* memory, std::uint64_t size, const char* what) {
    if (!memory) fail(WEIR_ERROR_INVALID, "%s is null", what);
    if (!memory->address && !memory->allocation && size != 0)
      fail(WEIR_ERROR_INVALID, "%s has neither an address nor an allocation; expected %llu bytes", what,
           static_cast<unsigned long long>(size));
    return *memory;
  }

  static void check_rank(const Group& group, std::uint32_t rank, const char* what) {
    if (rank >= group.size())
      fail(WEIR_ERROR_INVALID, "%s is rank %u; the group has the ranks 0 to %u", what, rank,
           group.size() - 1);
  }

  static std::uint64_t bytes(std::uint64_t count, std::uint64_t size) {
    std::uint64_t product;
    if (__builtin_mul_overflow(count, size, &product))
      fail(WEIR_ERROR_INVALID, "a count of %llu elements is more than any memory holds",
           static_cast<unsigned long long>(count));
    return product;
  }

  static weir_result get_info(weir_communicator_info* info, weir_status* status) {
    return call(status, [&] { write_struct(info, C::describe(), "info"); });
  }

  static weir_result group_join(const weir_group_options* options, weir_group* out_group,
                                weir_status* status) {
    return call(status, [&] {
      weir_group_options asked = read_struct(options, "options");
      weir_group& out = output(out_group, "out_group");
      if (asked.size != 0 && asked.rank >= asked.size)
        fail(WEIR_ERROR_INVALID, "options.rank is %u in a group of %u; expected 0 to %u", asked.rank,
             asked.size, asked.size - 1);
      if (asked.limit == 0) asked.limit = 10'000'000'000;
      Fresh<Handle> handle;
      handle->group = Group::join(asked);
      out = handle_of<weir_group>(handle.publish());
    });
  }

  static weir_result group_leave(weir_group handle, weir_status* status) {
    return call(status, [&] {
      Handle& object = live<Handle>(handle, "group");
      retire(object, "group");
      const std::shared_ptr<Group> group = std::move(object.group);
      Pool<Handle>::of().give(object);
      group->leave();
    });
  }

  static weir_result group_abort(weir_group handle, const char* reason, weir_status* status) {
    return call(status, [&] { group_of(handle).abort(reason ? reason : "no reason was given"); });
  }

  static weir_result group_get_info(weir_group handle, weir_group_info* info, weir_status* status) {
    return call(status, [&] {
      const Group& group = group_of(handle);
      write_struct(info, {sizeof(weir_group_info), group.rank(), group.size(), group.failed_rank()}, "info");
    });
  }

  static weir_result exchange(weir_group handle, std::uint32_t count, const weir_transfer* transfers,
                              Stream stream, weir_status* status) {
    return call(status, [&] {
      Group& group = group_of(handle);
      if (count != 0 && !transfers)
        fail(WEIR_ERROR_INVALID, "transfers is null; expected %u transfers", count);
      for (const weir_transfer& transfer : std::span(transfers, count)) {
        check_rank(group, transfer.peer, "peer");
        checked(&transfer.memory, transfer.size,
                transfer.receive ? "the memory of a receive" : "the memory of a send");
      }
      group.exchange(std::span(transfers, count), stream);
    });
  }

  static weir_result broadcast(weir_group handle, const weir_memory* memory, std::uint64_t size,
                               std::uint32_t root, Stream stream, weir_status* status) {
    return call(status, [&] {
      Group& group = group_of(handle);
      check_rank(group, root, "root");
      group.broadcast(checked(memory, size, "memory"), size, root, stream);
    });
  }

  static weir_result all_gather(weir_group handle, const weir_memory* to, const weir_memory* from,
                                std::uint64_t size, Stream stream, weir_status* status) {
    return call(status, [&] {
      Group& group = group_of(handle);
      bytes(size, group.size());
      group.all_gather(checked(to, size, "destination"), checked(from, size, "source"), size, stream);
    });
  }

  static weir_result reduce_scatter(weir_group handle, const weir_memory* to, const weir_memory* from,
                                    std::uint64_t count, std::uint32_t type, std::uint32_t reduction,
                                    Stream stream, weir_status* status) {
    return call(status, [&] {
      Group& group = group_of(handle);
      check_reduction(reduction);
      bytes(bytes(count, group.size()), scalar_size(type));
      group.reduce_scatter(checked(to, count, "destination"), checked(from, count, "source"), count, type,
                           reduction, stream);
    });
  }

  static weir_result all_reduce(weir_group handle, const weir_memory* to, const weir_memory* from,
                                std::uint64_t count, std::uint32_t type, std::uint32_t reduction,
                                Stream stream, weir_status* status) {
    return call(status, [&] {
      Group& group = group_of(handle);
      check_reduction(reduction);
      bytes(count, scalar_size(type));
      group.all_reduce(checked(to, count, "destination"), checked(from, count, "source"), count, type,
                       reduction, stream);
    });
  }

  static weir_result all_to_all(weir_group handle, const weir_memory* to, const weir_memory* from,
                                std::uint64_t size, Stream stream, weir_status* status) {
    return call(status, [&] {
      Group& group = group_of(handle);
      bytes(size, group.size());
      group.all_to_all(checked(to, size, "destination"), checked(from, size, "source"), size, stream);
    });
  }

  static weir_result barrier(weir_group handle, Stream stream, weir_status* status) {
    return call(status, [&] { group_of(handle).barrier(stream); });
  }

  static weir_result entry(const weir_host* host, const weir_communicator_table** out_table,
                           weir_status* status) {
    return guarded(status, [&] {
      const weir_host asked = read_struct(host, "host");
      const weir_communicator_table*& out = output(out_table, "out_table");
      constexpr std::uint32_t mine = WEIR_COMMUNICATOR_CURRENT;
      if (asked.abi_min > mine || asked.abi_max < mine)
        fail(WEIR_ERROR_ABI,
             "%s speaks version %u.%u of the communicator interface; the host speaks %u.%u to %u.%u", C::name,
             WEIR_ABI_MAJOR(mine), WEIR_ABI_MINOR(mine), WEIR_ABI_MAJOR(asked.abi_min),
             WEIR_ABI_MINOR(asked.abi_min), WEIR_ABI_MAJOR(asked.abi_max), WEIR_ABI_MINOR(asked.abi_max));
      static constexpr weir_communicator_table table{sizeof(weir_communicator_table),
                                                     mine,
                                                     C::name,
                                                     C::version,
                                                     C::vendor,
                                                     &get_info,
                                                     &group_join,
                                                     &group_leave,
                                                     &group_abort,
                                                     &group_get_info,
                                                     &exchange,
                                                     &broadcast,
                                                     &all_gather,
                                                     &reduce_scatter,
                                                     &all_reduce,
                                                     &all_to_all,
                                                     &barrier};
      out = &table;
    });
  }
};

}  // namespace weir::sdk

#define WEIR_COMMUNICATOR(C)                                                                            \
  weir_result weir_communicator_entry(const weir_host* host, const weir_communicator_table** out_table, \
                                      weir_status* status) {                                            \
    return weir::sdk::CommunicatorSlots<C>::entry(host, out_table, status);                             \
  }
