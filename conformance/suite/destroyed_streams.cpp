// SPDX-License-Identifier: Apache-2.0
// Level 2: streams that are destroyed while they have work.
#include <atomic>
#include <functional>
#include <memory>

#include "kernels/gate.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(2, 11, Streams, WorkOfADestroyedStreamCompletes,
                 "stream_destroy returns while work is held back, and that work completes: one operation or "
                 "hundreds, whatever the last one is.") {
  struct Last {
    const char* name;
    std::function<void(const Stream&)> submit;
    std::function<bool()> is_done;  ///< empty if no effect of it can be seen
  };
  const Memory memory(4 * 400), small(64), other(64);
  const HostMemory host(64);
  const Event event;
  static std::atomic<bool> called;
  const auto holds = [&](std::uint8_t value) { return same_bytes(small.read(), Bytes(64, value)); };
  std::vector<Last> all = {
      {"fill", [&](const Stream& s) { fill<std::uint8_t>(s, small, 0, 64, 3); },
       [&] { return bool(holds(3)); }},
      {"copy_to_device",
       [&](const Stream& s) {
         std::fill_n(host.data(), 64, std::uint8_t{4});
         call(table().copy_to_device, weir_stream(s), weir_allocation(small), std::uint64_t{0},
              static_cast<const void*>(host.data()), std::uint64_t{64});
       },
       [&] { return bool(holds(4)); }},
      {"copy_on_device",
       [&](const Stream& s) {
         other.write(Bytes(64, 5));
         call(table().copy_on_device, weir_stream(s), weir_allocation(small), std::uint64_t{0},
              weir_allocation(other), std::uint64_t{0}, std::uint64_t{64});
       },
       [&] { return bool(holds(5)); }},
      {"copy_to_host",
       [&](const Stream& s) {
         other.write(Bytes(64, 6));
         call(table().copy_to_host, weir_stream(s), static_cast<void*>(host.data()), weir_allocation(other),
              std::uint64_t{0}, std::uint64_t{64});
       },
       [&] { return static_cast<volatile std::uint8_t*>(host.data())[63] == 6; }},
      {"event_record", [&](const Stream& s) { event.record(s); }, [&] { return event.done(); }},
      {"stream_wait_event", [&](const Stream& s) { s.wait(event); }, {}}};
  if (has(WEIR_CAP_HOST_CALLBACK))
    all.push_back({"stream_host_callback",
                   [](const Stream& s) {
                     called = false;
                     call(table().stream_host_callback, weir_stream(s),
                          weir_host_callback([](void*) { called = true; }), static_cast<void*>(nullptr));
                   },
                   [] { return called.load(); }});
  const std::optional<Kernel> iota = kernel_if_any("iota");
  if (iota)
    all.push_back(
        {"kernel_launch",
         [&](const Stream& s) { iota->launch(s, arguments(small, std::int64_t{8}, std::int64_t{70})); },
         [&] { return small.values<std::int64_t>()[7] == 77; }});
  // The memory is freed when the last operation was seen to be done. A layer that checks waits cannot see
  // that.
  if (!judged().layer.library.empty())
    std::erase_if(all, [](const Last& last) { return std::string_view(last.name) != "event_record"; });
  for (const Last& last : all)
    for (const std::uint32_t waiting : {1u, 10u, 100u, 400u}) {
      if (waiting != 10 && &last != &all.front()) continue;
      Stream stream;
      const Event done;
      memory.write(Bytes(4 * 400, 0));
      {
        Gate gate;
        gate.hold(stream);
        for (std::uint32_t i = 0; i < waiting; ++i) fill<std::uint32_t>(stream, memory, 4 * i, 4, i + 1);
        done.record(stream);
        last.submit(stream);
        stream.destroy();
        EXPECT_FALSE(done.done()) << "an event after held work was reached when its stream was destroyed. "
                                     "Look first at what stream_destroy does with the work that is left";
        gate.open();
      }
      done.synchronize();
      const std::vector<std::uint32_t> found = memory.values<std::uint32_t>();
      for (std::uint32_t i = 0; i < waiting; ++i)
        ASSERT_EQ(found[i], i + 1)
            << waiting << " fills of a held stream, an event_record and a " << last.name
            << " waited when it was destroyed; fill " << i
            << " had no effect. driver.h: submitted work completes. Look first at what "
               "stream_destroy does with the work that is left";
      if (last.is_done) {
        ASSERT_TRUE(eventually(last.is_done))
            << "the last operation of a held stream was a " << last.name
            << " when it was destroyed, and it did not complete. Look first at what stream_destroy does with "
               "the work that is left";
      }
      if (HasFailure()) {
        ADD_FAILURE() << "a stream was destroyed whose last operation was a " << last.name << ", after "
                      << waiting << " fills";
        return;
      }
    }
}

}  // namespace
}  // namespace weir::conformance
