// SPDX-License-Identifier: Apache-2.0
// The same kernels on two drivers in one process: Vulkan against CUDA on one GPU, and Mesa's CPU device
// against the CPU driver.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.hpp"
#include "device.hpp"
#include "gpu/kernels.hpp"

namespace weir::bench::vulkan {
namespace {

using gpu::Body;

/// Two devices of two drivers, of one GPU or CPU.
struct Devices {
  Device ours, peer;
};

Devices with_cuda() {
  if (is_cpu()) throw Skipped(device().name() + " is a CPU");
  try {
    (void)open("cuda");
  } catch (const std::exception& error) {
    throw Skipped(std::string("no CUDA device: ") + error.what());
  }
  for (const Device& one : devices())
    if (one.driver() == "cuda" && one.info().uuid == device().info().uuid) return {device(), one};
  throw Skipped("no CUDA device has the UUID of " + device().name());
}

/// Mesa's Vulkan device for the CPU, and the CPU driver's.
Devices with_cpu() {
  for (const Device& one : devices())
    if (one.driver() == "vulkan" && one.info().kind == DeviceKind::cpu) return {one, open("cpu")};
  throw Skipped("Vulkan lists no CPU; add Mesa's lvp_icd to VK_DRIVER_FILES");
}

template <class Data, class Run>
Sides sides(const std::shared_ptr<Data>& ours, const std::shared_ptr<Data>& theirs, int repeats, Run run,
            std::function<void()> compare) {
  const auto timed = [=](const std::shared_ptr<Data>& data) {
    return [=] {
      return per_run(
          repeats, [&] { run(*data); }, [&] { data->stream.synchronize(); });
    };
  };
  return {.ours = timed(ours), .peer = timed(theirs), .check = std::move(compare)};
}

/// Equal on all devices, unlike a generator's numbers, which depend on earlier launches.
Value<std::uint32_t> scrambled(const Index& i) {
  const Value<std::uint32_t> x = cast<std::uint32_t>(i) * 2654435761u;
  const Value<std::uint32_t> y = (x ^ (x >> 15u)) * 2246822519u;
  return y ^ (y >> 13u);
}

const auto& fill_fractions() {
  static const Kernel kernel{"fractions", [](View<float> x) {
                               range_for(x.size(),
                                         [&](Index i) { x[i] = cast<float>(scrambled(i) >> 8u) * 0x1p-24f; });
                             }};
  return kernel;
}

struct Triad {
  Stream stream;
  Array<float> a, b, c;
  Triad(const Device& on, std::int64_t n)
      : stream(on.create_stream()),
        a(on.array<float>(stream, n)),
        b(on.array<float>(stream, n)),
        c(on.array<float>(stream, n)) {
    fill_fractions()(stream, b);
    fill_fractions()(stream, c);
  }
};

Sides triad_sides(const Devices& on, std::int64_t n) {
  auto ours = std::make_shared<Triad>(on.ours, n), theirs = std::make_shared<Triad>(on.peer, n);
  return sides(
      ours, theirs, 10, [](const Triad& x) { gpu::triad()(x.stream, x.a, x.b, x.c, 3.0f); },
      [=] { gpu::expect_equal(ours->a, theirs->a, 0, "triad"); });
}

struct Stencil {
  Stream stream;
  Array<float, 2> in, out;
  Stencil(const Device& on, std::int64_t n)
      : stream(on.create_stream()), in(on.array<float>(stream, n, n)), out(on.array<float>(stream, n, n)) {
    fill_fractions()(stream, in.flat());
    out.fill(stream, 0.0f);
  }
};

Sides stencil_sides(const Devices& on, std::int64_t n) {
  auto ours = std::make_shared<Stencil>(on.ours, n), theirs = std::make_shared<Stencil>(on.peer, n);
  return sides(
      ours, theirs, 10, [](const Stencil& x) { gpu::stencil()(x.stream, x.out, x.in); },
      [=] { gpu::expect_equal(ours->out.flat(), theirs->out.flat(), 0, "stencil"); });
}

struct Bodies {
  Stream stream;
  Array<Body> start, pull;
  Bodies(const Device& on, int n)
      : stream(on.create_stream()), start(on.array<Body>(stream, n)), pull(on.array<Body>(stream, n)) {
    start.copy_from(stream, gpu::start_of_bodies(n));
  }
};

Sides nbody_sides(const Devices& on, int n) {
  auto ours = std::make_shared<Bodies>(on.ours, n), theirs = std::make_shared<Bodies>(on.peer, n);
  return sides(
      ours, theirs, 2, [](const Bodies& x) { gpu::nbody()(x.stream, x.pull, x.start, 1e-3f); },
      [=] {
        const std::vector<Body> a = ours->pull.to_host(ours->stream),
                                b = theirs->pull.to_host(theirs->stream);
        for (std::size_t i = 0; i < a.size(); i += a.size() / 64)
          for (std::size_t c = 0; c < 3; ++c) gpu::expect_close(a[i][c], b[i][c], 1e-2, "nbody");
      });
}

struct Histogram {
  Stream stream;
  Array<std::uint32_t> keys, counts;
  mutable std::uint64_t runs = 0;
  Histogram(const Device& on, std::int64_t n, std::uint32_t bins)
      : stream(on.create_stream()),
        keys(on.array<std::uint32_t>(stream, n)),
        counts(on.array<std::uint32_t>(stream, bins)) {
    static const Kernel draw{
        "keys", [](View<std::uint32_t> x) { range_for(x.size(), [&](Index i) { x[i] = scrambled(i); }); }};
    draw(stream, keys);
    counts.fill(stream, 0u);
  }
};

Sides histogram_sides(const Devices& on, std::int64_t n, std::uint32_t bins) {
  auto ours = std::make_shared<Histogram>(on.ours, n, bins),
       theirs = std::make_shared<Histogram>(on.peer, n, bins);
  return sides(
      ours, theirs, 5,
      [=](const Histogram& x) {
        gpu::histogram()(x.stream, x.counts, x.keys, bins - 1);
        ++x.runs;
      },
      [=] {
        on.ours.synchronize(), on.peer.synchronize();
        gpu::expect_equal_counts(ours->counts, ours->runs, theirs->counts, theirs->runs);
      });
}

void add_against_cuda(const char* name, Sides (*prepare)(const Devices&)) {
  add({.name = name,
       .peer = "the CUDA driver",
       .bar = at_least<900>(),
       .prepare = [=] { return prepare(with_cuda()); },
       .samples = 21});
}

Bar reported() {
  return {"reported", [](double ours, double peer) { return peer / ours; }, [](double) { return true; }};
}

void add_against_cpu(const char* name, Sides (*prepare)(const Devices&)) {
  add({.name = name,
       .peer = "the CPU driver",
       .bar = reported(),
       .prepare = [=] { return prepare(with_cpu()); },
       .samples = 7});
}

}  // namespace

void add_driver_cases() {
  add_against_cuda("triad_3_GiB", [](const Devices& on) { return triad_sides(on, std::int64_t{1} << 28); });
  add_against_cuda("stencil_5_point_16384x16384", [](const Devices& on) { return stencil_sides(on, 16384); });
  add_against_cuda("nbody_65536_fast", [](const Devices& on) { return nbody_sides(on, 1 << 16); });
  add_against_cuda("histogram_256_bins",
                   [](const Devices& on) { return histogram_sides(on, std::int64_t{1} << 27, 256); });
  add_against_cuda("histogram_1_Mi_bins",
                   [](const Devices& on) { return histogram_sides(on, std::int64_t{1} << 27, 1 << 20); });
  add_against_cpu("cpu_triad_192_MiB",
                  [](const Devices& on) { return triad_sides(on, std::int64_t{1} << 24); });
  add_against_cpu("cpu_nbody_4096_fast", [](const Devices& on) { return nbody_sides(on, 4096); });
}

}  // namespace weir::bench::vulkan
