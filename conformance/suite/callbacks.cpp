// SPDX-License-Identifier: Apache-2.0
// Level 4: host callbacks.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "kernels/gate.hpp"
#include "process/unusual_environment.hpp"

namespace weir::conformance {
namespace {

struct Note {
  std::vector<int>* log;
  int number;
  static void take(void* user) {
    const Note& note = *static_cast<Note*>(user);
    note.log->push_back(note.number);
  }
};

void submit(const Stream& stream, weir_host_callback callback, void* user) {
  call(table().stream_host_callback, weir_stream(stream), callback, user);
}

WEIR_REQUIREMENT(4, 40, Callbacks, RunOnceInOrder,
                 "Callbacks of a stream run once each, in order, with their own user pointer.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  std::vector<int> log;
  std::vector<Note> notes;
  for (int i = 0; i < 200; ++i) notes.push_back({&log, i});
  for (Note& note : notes) submit(stream, Note::take, &note);
  stream.synchronize();
  ASSERT_EQ(log.size(), 200u);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(log[static_cast<std::size_t>(i)], i);
}

WEIR_REQUIREMENT(
    4, 41, Callbacks, SeeTheWorkInFront,
    "A callback runs after earlier work and sees its writes to host memory, also behind 65 pieces "
    "of work.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  constexpr std::uint64_t size = 16u << 20;
  struct Seen {
    const std::uint8_t* host;
    int first = -1, last = -1;
    static void look(void* user) {
      auto& seen = *static_cast<Seen*>(user);
      seen.first = seen.host[0];
      seen.last = seen.host[size - 1];
    }
  };
  const Memory memory(size);
  const HostMemory host(size);
  const Stream stream;
  for (std::uint8_t i = 1; i <= 10; ++i) {
    Seen seen{host.data()};
    fill<std::uint8_t>(stream, memory, 0, size, i);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(memory),
         std::uint64_t{0}, size);
    submit(stream, Seen::look, &seen);
    stream.synchronize();
    ASSERT_EQ(seen.first, i);
    ASSERT_EQ(seen.last, i);
  }
  // Much work of some time each, which is under way when the callback is submitted.
  constexpr std::uint64_t part = 1u << 20;
  Seen seen{host.data()};
  for (std::uint8_t i = 1; i <= 64; ++i)
    fill<std::uint8_t>(stream, memory, part * (i % 16), part, static_cast<std::uint8_t>(100 + i));
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(memory),
       std::uint64_t{0}, std::uint64_t{1});
  submit(stream, Seen::look, &seen);
  stream.synchronize();
  EXPECT_EQ(seen.first, 164)
      << "this byte is what a callback saw in host memory. 64 fills of 1 MiB and a copy of the last one's "
         "first byte to the host were submitted before it; the last fill writes 164. Look first at how many "
         "pieces of work in flight the driver waits for before it calls the callback";
}

WEIR_REQUIREMENT(
    4, 42, Callbacks, WorkBehindWaits,
    "Work after a callback begins when it has returned and sees its writes, also a copy of 1 to 3,000,000 "
    "bytes from anywhere in pinned memory.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  needs(WEIR_CAP_PINNED_MEMORY);  // other memory may be read when the copy is submitted
  constexpr std::uint64_t offsets[] = {0, 1, 8, 64, 1000},
                          sizes[] = {1,    2,    4,      8,      16,     32,      64,       192,
                                     1000, 5000, 40'000, 65'536, 70'000, 300'000, 1u << 20, 3'000'000};
  constexpr std::uint64_t largest = 3'000'000;
  const Memory memory(largest);
  const HostMemory host(1000 + largest);
  std::fill_n(host.data(), 1000 + largest, std::uint8_t{0});
  const Stream stream;
  for (std::uint8_t i = 0; i < std::size(offsets) * std::size(sizes); ++i) {
    const std::uint64_t offset = offsets[i % std::size(offsets)], size = sizes[i / std::size(offsets)];
    struct Write {
      std::uint8_t* at;
      std::uint64_t size;
      std::uint8_t value;
    } write{host.data() + offset, size, static_cast<std::uint8_t>(i + 1)};
    submit(
        stream,
        [](void* user) {
          // A pause long enough for work that does not wait to run ahead.
          for (std::atomic<int> spin{0}; spin.load() < 20'000;) spin.fetch_add(1);
          const Write& asked = *static_cast<Write*>(user);
          std::fill_n(asked.at, asked.size, asked.value);
        },
        &write);
    call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
         static_cast<const void*>(write.at), size);
    stream.synchronize();
    ASSERT_TRUE(same_bytes(memory.read(0, size), Bytes(size, write.value)))
        << "a callback wrote these bytes, and a copy_to_device of " << size << " bytes from offset " << offset
        << " of pinned memory was submitted after it. Look first at when sources of this size are read, and "
           "at how "
           "the driver tells pinned memory from other memory";
  }
}

WEIR_REQUIREMENT(4, 88, Callbacks, RunOnAThreadOfTheDriver,
                 "A callback never runs on the thread that waits for it, whatever is in front of it.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Memory memory(64);
  const Stream stream, other;
  const Event event;
  struct Thread {
    std::thread::id id;
    static void take(void* user) { static_cast<Thread*>(user)->id = std::this_thread::get_id(); }
  };
  for (int round = 0; round < 300; ++round) {
    Thread ran;
    if (round % 3 == 1) fill<std::uint8_t>(stream, memory, 0, 64, 1);
    if (round % 3 == 2) {
      fill<std::uint8_t>(other, memory, 0, 64, 2);
      event.record(other);
      stream.wait(event);
    }
    submit(stream, Thread::take, &ran);
    stream.synchronize();
    ASSERT_NE(ran.id, std::this_thread::get_id())
        << "a callback of round " << round
        << " ran inside stream_synchronize of this thread. driver.h: it runs on a "
        << "thread of the driver, so that it may wait for a lock of the waiting thread. Look first at what a "
           "waiting thread runs itself";
  }
}

WEIR_REQUIREMENT(4, 89, Callbacks, RefusedCallsLeaveHeldWorkAlone,
                 "A stream whose work is held goes on after each kind of refused call, which returns "
                 "WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Memory memory(64), other(64);
  Bytes host(128);
  const std::uint8_t byte = 1;
  const struct {
    const char* name;
    std::function<weir_result(weir_stream)> call;
  } refused[] = {{"copy_to_host past the end",
                  [&](weir_stream s) {
                    return result_of(table().copy_to_host, s, static_cast<void*>(host.data()),
                                     weir_allocation(memory), std::uint64_t{0}, std::uint64_t{65});
                  }},
                 {"copy_to_device past the end",
                  [&](weir_stream s) {
                    return result_of(table().copy_to_device, s, weir_allocation(memory), std::uint64_t{1},
                                     static_cast<const void*>(host.data()), std::uint64_t{64});
                  }},
                 {"copy_on_device past the end",
                  [&](weir_stream s) {
                    return result_of(table().copy_on_device, s, weir_allocation(memory), std::uint64_t{0},
                                     weir_allocation(other), std::uint64_t{60}, std::uint64_t{5});
                  }},
                 {"fill past the end",
                  [&](weir_stream s) {
                    return result_of(table().fill, s, weir_allocation(memory), std::uint64_t{64},
                                     std::uint64_t{1}, static_cast<const void*>(&byte), 1u);
                  }},
                 {"fill with a pattern of 3 bytes",
                  [&](weir_stream s) {
                    return result_of(table().fill, s, weir_allocation(memory), std::uint64_t{0},
                                     std::uint64_t{63}, static_cast<const void*>(host.data()), 3u);
                  }},
                 {"stream_host_callback without a function", [&](weir_stream s) {
                    return result_of(table().stream_host_callback, s, weir_host_callback{},
                                     static_cast<void*>(nullptr));
                  }}};
  for (const auto& [name, refused_call] : refused) {
    const Stream stream;
    Gate gate;
    gate.hold(stream);
    fill<std::uint8_t>(stream, memory, 0, 32, 5);
    EXPECT_EQ(result_name(refused_call(stream)), "WEIR_ERROR_INVALID") << name << " on a held stream";
    constexpr const char* words =
        " on a stream with held work was refused. driver.h: INVALID is returned before anything is "
        "submitted. Look "
        "first at the error that the stream keeps";
    const std::uint8_t six = 6;
    EXPECT_EQ(
        result_name(result_of(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{32},
                              std::uint64_t{32}, static_cast<const void*>(&six), 1u)),
        "WEIR_OK")
        << "for a fill after " << name << words;
    gate.open();
    EXPECT_EQ(result_name(result_of(table().stream_synchronize, weir_stream(stream))), "WEIR_OK")
        << "for stream_synchronize after " << name << words;
    if (HasFailure()) return;
    Bytes expected(64, 5);
    std::fill_n(expected.begin() + 32, 32, std::uint8_t{6});
    EXPECT_TRUE(same_bytes(memory.read(), expected)) << "after " << name << words;
  }
}

WEIR_REQUIREMENT(4, 43, Callbacks, SubmittingReturnsAtOnce,
                 "stream_host_callback returns before its callback has run. 2,000 callbacks behind held work "
                 "all run.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  std::atomic<int> calls{0};
  Gate gate;
  gate.hold(stream);
  for (int i = 0; i < 100; ++i)
    submit(
        stream, [](void* user) { static_cast<std::atomic<int>*>(user)->fetch_add(1); }, &calls);
  EXPECT_EQ(calls.load(), 0);
  {
    const OpensLater later(gate);  // a driver may block before all are submitted
    for (int i = 100; i < 2000; ++i)
      submit(
          stream, [](void* user) { static_cast<std::atomic<int>*>(user)->fetch_add(1); }, &calls);
  }
  stream.synchronize();
  EXPECT_EQ(calls.load(), 2000) << "is the number of callbacks that ran, of 2,000 that were submitted to one "
                                   "stream while it was held. driver.h: a driver may block until there is "
                                   "room. Look first at what stream_host_callback does with a full queue";
}

WEIR_REQUIREMENT(4, 44, Callbacks, OfADestroyedStreamRun,
                 "Callbacks of a stream that is destroyed still run.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  std::atomic<int> calls{0};
  {
    const Stream stream;
    for (int i = 0; i < 10; ++i)
      submit(
          stream, [](void* user) { static_cast<std::atomic<int>*>(user)->fetch_add(1); }, &calls);
  }
  EXPECT_TRUE(eventually([&] { return calls.load() == 10; })) << calls.load() << " of 10 ran";
}

WEIR_REQUIREMENT(4, 45, Callbacks, StandBetweenStreams,
                 "A stream that waits for an event recorded after a callback waits for the callback.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream first, second;
  const Event event;
  std::vector<int> log;
  Note one{&log, 1}, two{&log, 2};
  Gate gate;
  gate.hold(first);
  submit(first, Note::take, &one);
  event.record(first);
  second.wait(event);
  submit(second, Note::take, &two);
  gate.open();
  second.synchronize();
  first.synchronize();
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

WEIR_REQUIREMENT(4, 47, Callbacks, TakeNull, "A callback with a null user pointer is called, with null.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  static std::atomic<int> calls;
  calls = 0;
  const Stream stream;
  const weir_host_callback count = [](void* user) { calls += user ? 100 : 1; };
  call(table().stream_host_callback, weir_stream(stream), count, static_cast<void*>(nullptr));
  stream.synchronize();
  EXPECT_EQ(calls, 1) << "a callback with a null user pointer was submitted once";
}

/// Results that depend on the floating-point environment of the callback that computes them.
struct Computed {
  volatile float found[3] = {};
  volatile long double sum = 0;  // x86-64 computes it with the x87 unit

  static void compute(void* what) {
    const volatile float one = 1, little = 1e-10f, tiny = 1e-38f, ten = 10;
    const volatile long double long_one = 1, part = 0x1p-40L;
    static_cast<Computed*>(what)->sum = long_one + part;
    auto& found = static_cast<Computed*>(what)->found;
    found[0] = one + little;
    found[1] = one - little;
    found[2] = tiny / ten;
  }
  void expect_default(const char* where) const {
    constexpr const char* look =
        ". driver.h: a callback runs in the default floating-point environment. Look first at what the "
        "thread that calls it has inherited, or kept of an earlier callback";
    EXPECT_EQ(found[0], 1.0f) << "1.0f + 1e-10f in " << where << look;
    EXPECT_EQ(found[1], 1.0f) << "1.0f - 1e-10f in " << where << look;
    EXPECT_EQ(found[2], 1e-39f) << "1e-38f / 10.0f in " << where << look;
    EXPECT_EQ(sum - 1, 0x1p-40L) << "1.0L + 0x1p-40L, less 1, in " << where
                                 << "; on x86-64 the control word of the x87 unit sets its precision" << look;
  }
};

WEIR_REQUIREMENT(
    4, 48, Callbacks, HaveTheDefaultFloatingPointEnvironment,
    "A callback runs with rounding to nearest and with denormals, also after one that changed both.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  const auto submit = [&](weir_host_callback callback, Computed* to) {
    call(table().stream_host_callback, weir_stream(stream), callback, static_cast<void*>(to));
  };
  // Drivers with several threads for callbacks choose any of them. One of them usually runs several callbacks
  // in sequence; after a wait, it may be another one.
  const auto expect_default_after = [&](weir_host_callback change, const char* what) {
    Computed later[200];
    for (std::size_t i = 0; i < std::size(later); ++i) {
      submit(change, nullptr);
      if (i % 2) stream.synchronize();
      submit(&Computed::compute, &later[i]);
      if (i % 20 > 15) stream.synchronize();
    }
    stream.synchronize();
    for (const Computed& each : later) each.expect_default(what);
  };
  Computed first;
  submit(&Computed::compute, &first);
  stream.synchronize();
  first.expect_default("a callback");
  expect_default_after([](void*) { leave_the_default_environment(); },
                       "a callback after one that changed its environment");
#if defined(__x86_64__)
  expect_default_after([](void*) { set_x87(0x007f); },  // without a change of the other control word
                       "a callback after one that changed the control word of the x87 unit alone");
#endif
}

WEIR_REQUIREMENT(
    4, 81, FirstCall, CallbacksInheritNoFloatingPointEnvironment,
    "A callback runs with rounding to nearest and with denormals, also if the threads that create its "
    "stream and wait for it use other settings.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  Computed computed;
  {
    const UnusualEnvironment unusual;
    const Stream stream;
    call(table().stream_host_callback, weir_stream(stream), weir_host_callback(&Computed::compute),
         static_cast<void*>(&computed));
    stream.synchronize();
  }
  computed.expect_default("a callback");
}

}  // namespace
}  // namespace weir::conformance
