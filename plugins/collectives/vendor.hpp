// SPDX-License-Identifier: Apache-2.0
// The differences between the communicators of this folder: names, and the vendor's calls for devices,
// streams and events. Defined once in plugins/nccl and once in plugins/rccl.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace weir::collectives {

struct Vendor {
  const char* driver;    ///< whose memory it takes: "cuda"
  const char* product;   ///< in messages: "NCCL"
  const char* variable;  ///< names the library, for tests
  std::span<const char* const> libraries;
  const char* remedy;  ///< how to install the library
};
extern const Vendor vendor;

/// The device of a stream. Throws a Failure with WEIR_ERROR_INVALID if the vendor's runtime does not know it.
struct DeviceOfStream {
  void* context;         ///< for Current
  std::string location;  ///< PCI address
};
DeviceOfStream device_of_stream(void* stream);

/// Makes a device the current one of this thread; the destructor restores the earlier one.
class Current {
 public:
  explicit Current(void* context);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

 private:
  void* before_;
};

// On the current device. Events carry no times.
void* create_stream();
void destroy_stream(void* stream) noexcept;
void* allocate(std::size_t bytes);
void release(void* memory) noexcept;
void* create_event();
void destroy_event(void* event) noexcept;
void record_event(void* event, void* stream);
enum class EventState { pending, complete, failed };
EventState query_event(void* event) noexcept;

}  // namespace weir::collectives
