// SPDX-License-Identifier: Apache-2.0
// Measures the driver through its raw table, and oneTBB where it has an equivalent. Not a test.
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "support.hpp"

using namespace cpu_test;
using Clock = std::chrono::steady_clock;

static double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

/// The median over `rounds` of the time per call; each round makes `calls` calls.
static double median(int rounds, int calls, const std::function<void()>& body) {
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) {
    const auto began = Clock::now();
    for (int i = 0; i < calls; ++i) body();
    times.push_back(microseconds(Clock::now() - began) / calls);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

int main(int argc, char**) {
  const weir_driver_table& t = table();
  Stream s;
  weir_status status = new_status();
  for (std::uint32_t blocks : {1u, 2u, 16u, 1024u}) {
    weir_launch launch = launch_of(kernels().nothing, blocks);
    double ours = 1e9, theirs = 1e9, flushed = 1e9;
    for (int i = 0; i < 3; ++i) {
      pause_briefly();
      ours = std::min(ours, median(101, 1000, [&] {
        t.kernel_launch(s, &launch, &status);
        t.stream_synchronize(s, &status);
      }));
      pause_briefly();
      flushed = std::min(flushed, median(101, 1000, [&] {
        t.kernel_launch(s, &launch, &status);
        t.stream_flush(s, &status);
        t.stream_synchronize(s, &status);
      }));
      pause_briefly();
      theirs = std::min(theirs, median(101, 1000, [&] {
        tbb::parallel_for(0u, blocks, [](unsigned i) { asm volatile("" : : "r"(i)); });
      }));
    }
    std::printf("launch and wait, %4u empty blocks: %7.3f us (with a flush %.3f); tbb::parallel_for %7.3f us; ratio %.2f\n",
                blocks, ours, flushed, theirs, ours / theirs);
  }
  {
    Gate gate;
    gate.close(s);
    weir_launch launch = launch_of(kernels().add, 1);
    Memory memory(64);
    const AddArguments arguments{memory.as<std::uint32_t>(), 1};
    launch.arguments = &arguments;
    launch.argument_bytes = sizeof arguments;
    std::printf("enqueue on a busy (gated) stream: %.3f us\n",
                median(51, 1000, [&] { t.kernel_launch(s, &launch, &status); }));
    gate.open();
    s.synchronize();
    std::vector<double> times;
    for (int r = 0; r < 51; ++r) {
      s.launch(kernels().spin, SpinArguments{300'000});
      const auto began = Clock::now();
      for (int i = 0; i < 500; ++i) t.kernel_launch(s, &launch, &status);
      times.push_back(microseconds(Clock::now() - began) / 500);
      s.synchronize();
    }
    std::sort(times.begin(), times.end());
    std::printf("enqueue on a stream that is running: %.3f us\n", times[25]);
    Event e;
    std::printf("event record: %.3f us\n", median(51, 1000, [&] { t.event_record(e, s, &status); }));
    std::printf("event create and destroy: %.3f us\n", median(51, 1000, [&] { Event x; }));
    std::printf("stream create and destroy: %.3f us\n", median(51, 1000, [&] { Stream x; }));
  }
  {
    Stream side[3];
    Event fork, join[3];
    weir_launch launch = launch_of(kernels().nothing, 1);
    auto region = [&](bool wait) {
      t.event_record(fork, s, &status);
      for (auto& x : side) t.stream_wait_event(x, fork, &status);
      t.kernel_launch(s, &launch, &status);
      for (int i = 0; i < 3; ++i) {
        t.kernel_launch(side[i], &launch, &status);
        t.event_record(join[i], side[i], &status);
        t.stream_wait_event(s, join[i], &status);
      }
      if (wait) t.stream_synchronize(s, &status);
    };
    pause_briefly();
    std::printf("fork and join of 4, waited for: %.3f us\n", median(101, 500, [&] { region(true); }));
    pause_briefly();
    std::printf("fork and join of 4, 100 in a row, then waited for: %.3f us each\n", median(101, 1, [&] {
                                                                                        for (int i = 0; i < 100; ++i)
                                                                                          region(false);
                                                                                        s.synchronize();
                                                                                      }) / 100);
  }
  {
    weir_launch launch = launch_of(kernels().nothing, 1);
    for (int idle : {0, 20}) {
      std::vector<double> times;
      for (int i = 0; i < 300; ++i) {
        if (idle) pause_briefly();
        Event e;
        const auto began = Clock::now();
        t.kernel_launch(s, &launch, &status);
        e.record(s);
        while (!e.done()) {}
        times.push_back(microseconds(Clock::now() - began));
        if (idle && i == 50) break;
      }
      std::sort(times.begin(), times.end());
      std::printf("polling for deferred tiny work, %2d ms between: median %.1f us, 99%% %.1f us, worst %.1f us\n", idle,
                  times[times.size() / 2], times[times.size() * 99 / 100], times.back());
    }
  }
  {
    Stream four[4];
    const SpinArguments work{5'000'000};
    for (bool host_waits : {true, false}) {
      const double serial = median(3, 1, [&] {
        for (int i = 0; i < 4; ++i) four[0].launch(kernels().spin, work);
        four[0].synchronize();
      });
      const double parallel = median(9, 1, [&] {
        for (auto& x : four) x.launch(kernels().spin, work);
        for (auto& x : four)
          if (host_waits)
            x.synchronize();
          else
            while (!x.done()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      });
      std::printf("4 one-block kernels of 5 ms on 4 streams (%s): %.2fx of one at a time\n",
                  host_waits ? "host waits" : "host polls", serial / parallel);
    }
  }
  if (argc > 1) {
    const std::uint64_t n = 32u << 20;
    Memory a(n * 4), b(n * 4), c(n * 4);
    const float one = 1;
    for (weir_allocation m : {weir_allocation(a), weir_allocation(b), weir_allocation(c)})
      call(t.fill, weir_stream(s), m, std::uint64_t{0}, n * 4, static_cast<const void*>(&one), 4u);
    s.synchronize();
    float *pa = a.as<float>(), *pb = b.as<float>(), *pc = c.as<float>();
    for (std::uint64_t per : {4096u, 65536u, 1u << 20}) {
      double ours = 1e9, theirs = 1e9;
      for (int i = 0; i < 5; ++i) {
        ours = std::min(ours, median(7, 1, [&] {
          s.launch(kernels().triad, TriadArguments{pa, pb, pc, per}, static_cast<std::uint32_t>(n / per));
          s.synchronize();
        }));
        theirs = std::min(theirs, median(7, 1, [&] {
#pragma omp parallel for
          for (std::uint64_t j = 0; j < n; ++j) pa[j] = pb[j] + 3.0f * pc[j];
        }));
      }
      std::printf("triad, 32 Mi elements, %7llu per block: %.1f GB/s; OpenMP %.1f GB/s; ratio %.3f\n",
                  static_cast<unsigned long long>(per), n * 12 / ours / 1e3, n * 12 / theirs / 1e3, theirs / ours);
    }
  }
}
