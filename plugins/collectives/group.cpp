// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <unistd.h>

#include <array>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

namespace weir::collectives {
namespace {

using sdk::format_text;

/// The machine's name and the number of its boot, since containers of several machines may share a name.
std::string machine() {
  char name[60] = "";
  gethostname(name, sizeof name - 1);
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return format_text("%s (boot %.8s)", name, boot.c_str());
}

/// NCCL has no reduction of 16-bit integers.
int type_of(std::uint32_t type) {
  constexpr std::array<int, 11> types{nccl_i8,  -1,       nccl_i32, nccl_i64, nccl_u8, -1,
                                      nccl_u32, nccl_u64, nccl_f16, nccl_f32, nccl_f64};
  if (types[type] < 0)
    sdk::fail(WEIR_ERROR_UNSUPPORTED, "%s has no reduction of 16-bit integers; expected another type",
              vendor.product);
  return types[type];
}

int reduction_of(std::uint32_t reduction) {
  constexpr std::array<int, 4> reductions{nccl_sum, nccl_product, nccl_min, nccl_max};
  return reductions[reduction];
}

UniqueId make_id() {
  NcclUniqueId id{};
  check_nccl(nccl().get_unique_id(&id), "ncclGetUniqueId");
  return id.internal;
}

}  // namespace

std::shared_ptr<Group> Group::join(const weir_group_options& options) {
  const Place place = place_of(options);
  sdk::notice_forks();  // a child has the connections, which are the parent's, and no thread that serves them
  std::optional<DeviceOfStream> device;
  if (options.device) {
    const char* const driver = options.device->driver;
    if (!driver || std::string_view(driver) != vendor.driver)
      sdk::fail(WEIR_ERROR_INVALID,
                "options.device is of the driver %.32s; %s takes devices of the driver %s",
                driver ? driver : "null", vendor.product, vendor.driver);
    nccl();
    device = device_of_stream(options.device->native);
  }
  Table table = meet(place, options, device ? device->location + " of " + machine() : "", &make_id);
  const UniqueId id = table.id;
  auto ranks = std::make_shared<Ranks>(place.rank, place.size, std::chrono::nanoseconds(options.limit),
                                       std::move(table));
  auto group = std::make_shared<Group>(ranks, options.validate != 0);
  if (!device) return group;
  try {
    group->device_ = std::make_unique<DeviceGroup>(*ranks, *device, id);
    // No operation before every rank has started. This names a rank that failed to start.
    ranks->begin("joining the group", sdk::Channel::collective);
    std::vector<std::byte> all(place.size);
    group->gather_bytes(all.data(), 1);
  } catch (...) {
    ranks->leave(false);
    throw;
  }
  return group;
}

void Group::leave() {
  if (device_) try {
      device_->drain();
    } catch (const sdk::Failure&) {  // the group has failed
    }
  ranks_->leave(device_ != nullptr);
  device_.reset();
}

/// Whether NCCL performs the operation. Throws a Failure for a mixture of memories.
bool Group::is_on_device(Stream stream, std::initializer_list<const weir_memory*> memories) const {
  bool host = false, device = false;
  for (const weir_memory* memory : memories) {
    if (memory->driver && std::string_view(memory->driver) != vendor.driver)
      sdk::fail(WEIR_ERROR_UNSUPPORTED,
                "the memory is of the driver %.32s; expected memory of %s or of the host", memory->driver,
                vendor.driver);
    (memory->driver ? device : host) = true;
  }
  if (!stream && !device) return false;
  if (host)
    sdk::fail(WEIR_ERROR_INVALID, "the operation has host memory %s; expected memory of the device",
              stream ? "and a stream" : "and memory of a device");
  if (stream && (!stream->driver || std::string_view(stream->driver) != vendor.driver))
    sdk::fail(WEIR_ERROR_INVALID, "the stream is of the driver %.32s; expected one of %s",
              stream->driver ? stream->driver : "null", vendor.driver);
  if (!device_)
    sdk::fail(WEIR_ERROR_INVALID,
              "this rank joined without a device; join with a stream of the device whose memory is used");
  return true;
}

void Group::exchange(std::span<const weir_transfer> transfers, Stream stream) {
  if (transfers.empty()) return ranks_->check();
  bool device = stream != nullptr;
  for (const weir_transfer& transfer : transfers) device |= is_on_device(stream, {&transfer.memory});
  if (!device) return MessageGroup::exchange(transfers, stream);
  ranks_->begin("exchange", sdk::Channel::exchange);
  compare_sizes(transfers);
  DeviceGroup::Operation operation{"exchange"};
  for (const weir_transfer& transfer : transfers) operation.peers.push_back(transfer.peer);
  submit(stream, std::move(operation), [&](const NcclApi& nccl, NcclComm comm, void* on) {
    check_nccl(nccl.group_start(), "ncclGroupStart");
    try {
      for (const weir_transfer& transfer : transfers) {
        if (transfer.size == 0) continue;
        const int peer = static_cast<int>(transfer.peer);
        if (transfer.receive)
          check_nccl(nccl.receive(transfer.memory.address, transfer.size, nccl_u8, peer, comm, on),
                     "ncclRecv", comm);
        else
          check_nccl(nccl.send(transfer.memory.address, transfer.size, nccl_u8, peer, comm, on), "ncclSend",
                     comm);
      }
    } catch (...) {
      nccl.group_end();
      throw;
    }
    check_nccl(nccl.group_end(), "ncclGroupEnd", comm);
  });
}

// NCCL neither checks sizes nor detects a send to the same rank without its receive. Validating groups
// compare the sizes of all transfers first.
void Group::compare_sizes(std::span<const weir_transfer> transfers) {
  std::deque<std::uint64_t> to_self;
  for (const weir_transfer& transfer : transfers)
    if (transfer.peer == rank() && !transfer.receive) to_self.push_back(transfer.size);
  const auto differs = [&](std::uint32_t peer, std::uint64_t received, std::uint64_t sent) {
    ranks_->fail(
        static_cast<int>(peer),
        format_text("rank %u receives %llu bytes from rank %u, which sent %llu; both must be equal", rank(),
                    static_cast<unsigned long long>(received), peer, static_cast<unsigned long long>(sent)));
  };
  std::vector<std::uint64_t> sizes(transfers.size());
  std::vector<sdk::Part> parts;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const weir_transfer& transfer = transfers[i];
    if (transfer.peer == rank()) {
      if (!transfer.receive) continue;
      const std::uint64_t sent = to_self.empty() ? 0 : to_self.front();
      if (to_self.empty() || sent != transfer.size) differs(rank(), transfer.size, sent);
      to_self.pop_front();
      continue;
    }
    sizes[i] = transfer.size;
    parts.push_back({transfer.peer, &sizes[i], sizeof sizes[i], transfer.receive != 0});
  }
  if (!to_self.empty())
    ranks_->fail(static_cast<int>(rank()),
                 format_text("rank %u sends to itself without a receive; pass both to one exchange", rank()));
  if (!validates()) return;
  ranks_->transfer(parts);
  for (std::size_t i = 0; i < transfers.size(); ++i)
    if (transfers[i].peer != rank() && sizes[i] != transfers[i].size)
      differs(transfers[i].peer, transfers[i].size, sizes[i]);
}

void Group::broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root, Stream stream) {
  if (!is_on_device(stream, {&memory})) return MessageGroup::broadcast(memory, size, root, stream);
  begin("broadcast", size, 0, 0, root);
  submit(stream, {"broadcast"}, [&](const NcclApi& nccl, NcclComm comm, void* on) {
    if (size != 0)
      check_nccl(
          nccl.broadcast(memory.address, memory.address, size, nccl_u8, static_cast<int>(root), comm, on),
          "ncclBroadcast", comm);
  });
}

void Group::all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream) {
  if (!is_on_device(stream, {&to, &from})) return MessageGroup::all_gather(to, from, size, stream);
  begin("all_gather", size);
  submit(stream, {"all_gather"}, [&](const NcclApi& nccl, NcclComm comm, void* on) {
    if (size != 0)
      check_nccl(nccl.all_gather(from.address, to.address, size, nccl_u8, comm, on), "ncclAllGather", comm);
  });
}

void Group::reduce_scatter(const weir_memory& to, const weir_memory& from, std::uint64_t count,
                           std::uint32_t type, std::uint32_t reduction, Stream stream) {
  if (!is_on_device(stream, {&to, &from}))
    return MessageGroup::reduce_scatter(to, from, count, type, reduction, stream);
  const int element = type_of(type);
  begin("reduce_scatter", count, type, reduction);
  submit(stream, {"reduce_scatter"}, [&](const NcclApi& nccl, NcclComm comm, void* on) {
    if (count != 0)
      check_nccl(
          nccl.reduce_scatter(from.address, to.address, count, element, reduction_of(reduction), comm, on),
          "ncclReduceScatter", comm);
  });
}

void Group::all_reduce(const weir_memory& to, const weir_memory& from, std::uint64_t count,
                       std::uint32_t type, std::uint32_t reduction, Stream stream) {
  if (!is_on_device(stream, {&to, &from}))
    return MessageGroup::all_reduce(to, from, count, type, reduction, stream);
  const int element = type_of(type);
  begin("all_reduce", count, type, reduction);
  submit(stream, {"all_reduce"}, [&](const NcclApi& nccl, NcclComm comm, void* on) {
    if (count != 0)
      check_nccl(nccl.all_reduce(from.address, to.address, count, element, reduction_of(reduction), comm, on),
                 "ncclAllReduce", comm);
  });
}

void Group::all_to_all(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream) {
  if (!is_on_device(stream, {&to, &from})) return MessageGroup::all_to_all(to, from, size, stream);
  begin("all_to_all", size);
  submit(stream, {"all_to_all"}, [&](const NcclApi& nccl, NcclComm comm, void* on) {
    if (size == 0) return;
    check_nccl(nccl.group_start(), "ncclGroupStart");
    try {
      for (std::uint32_t peer = 0; peer < this->size(); ++peer) {
        const std::uint64_t offset = peer * size;
        check_nccl(nccl.send(static_cast<std::byte*>(from.address) + offset, size, nccl_u8,
                             static_cast<int>(peer), comm, on),
                   "ncclSend", comm);
        check_nccl(nccl.receive(static_cast<std::byte*>(to.address) + offset, size, nccl_u8,
                                static_cast<int>(peer), comm, on),
                   "ncclRecv", comm);
      }
    } catch (...) {
      nccl.group_end();
      throw;
    }
    check_nccl(nccl.group_end(), "ncclGroupEnd", comm);
  });
}

void Group::barrier(Stream stream) {
  if (!is_on_device(stream, {})) {
    if (device_) device_->drain();
    return MessageGroup::barrier(stream);
  }
  begin("barrier", 0);
  submit(stream, {"barrier"}, [&](const NcclApi& nccl, NcclComm comm, void* on) {
    check_nccl(nccl.all_reduce(device_->scratch(), device_->scratch(), 1, nccl_u64, nccl_sum, comm, on),
               "ncclAllReduce", comm);
  });
}

}  // namespace weir::collectives
