// SPDX-License-Identifier: Apache-2.0
// Launches with struct arrays: one kernel for all layouts, in regions, graphs, on streams, and when debugged.
#include "on_threads.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using Launches = InLayout;
WEIR_IN_LAYOUTS(Launches);

constexpr std::size_t particle_count = 50;

void advance(std::vector<Particle>& particles) {
  for (Particle& p : particles) {
    p.mass += 1;
    p.weights[2] = p.mass;
  }
}

Kernel<void(View<Particle>)> make_advance() {
  return {"advance", [](View<Particle> p) {
            range_for(p.size(), [&](Index i) { p[i][&Particle::mass] += 1; });
            range_for(p.size(), [&](Index i) { p[i][&Particle::weights][2] = p[i][&Particle::mass]; });
          }};
}

TEST(Launch, TracesTheLambdaOnceForAllLayouts) {
  const Stream stream = tested().create_stream();
  static int traced = 0;
  const Kernel kernel{"counted", [](View<Particle> p, Value<float> by) {
                        ++traced;
                        range_for(p.size(), [&](Index i) { p[i][&Particle::mass] *= by; });
                      }};
  for (int round = 0; round < 2; ++round) {
    for (const Layout& layout : layouts()) {
      std::vector<Particle> expected = make_particles(particle_count);
      const StructArray<Particle> array = upload(stream, expected, layout);
      kernel(stream, array, 4.0f);
      for (Particle& p : expected) p.mass *= 4;
      EXPECT_EQ(array.to_host(stream), expected);
    }
  }
  EXPECT_EQ(traced, 1);
}

TEST(Launch, TakesArraysOfSeveralLayoutsAndOtherParameters) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{
      "several", [](Value<float> a, View<const Particle> p, View<float> x, View<Nested> n, Value<double> b) {
        range_for(p.size(), [&](Index i) {
          x[i] = a * p[i][&Particle::mass];
          n[i][&Nested::energy] = b + p[i][&Particle::inner][&Nested::energy];
        });
      }};
  const std::vector<Particle> particles = make_particles(particle_count);
  for (const Layout& one : layouts()) {
    for (const Layout& other : layouts()) {
      const StructArray<Particle> p = upload(stream, particles, one);
      const StructArray<Nested> n(stream, particle_count, other);
      const auto x = tested().array<float>(stream, particle_count);
      kernel(stream, 2.0f, p, x, n, 0.5);
      const auto energies = n.to_host(stream);
      const auto masses = x.to_host(stream);
      for (std::size_t i = 0; i < particle_count; ++i) {
        EXPECT_EQ(masses[i], 2 * particles[i].mass);
        EXPECT_EQ(energies[i].energy, 0.5 + particles[i].inner.energy);
      }
    }
  }
}

TEST_P(Launches, BlocksOfARegionUseDifferentMembers) {
  const Kernel kernel{"region", [](View<Particle> p) {
                        stream_parallel([&] {
                          range_for(p.size(), [&](Index i) { p[i][&Particle::mass] += 1; });
                          range_for(p.size(), [&](Index i) { p[i][&Particle::flags] = 1; });
                        });
                        stream_parallel([&] {
                          range_for(p.size(), [&](Index i) {
                            p[i][&Particle::alive] = p[i][&Particle::inner][&Nested::cell][0][0] > 0;
                          });
                        });
                        range_for(p.size(), [&](Index i) {
                          if_(p[i][&Particle::alive],
                              [&] { p[i][&Particle::weights][0] = p[i][&Particle::mass]; });
                        });
                      }};
  std::vector<Particle> expected = make_particles(particle_count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  for (int round = 0; round < 3; ++round) {
    kernel(stream, array);
    for (Particle& p : expected) {
      p.mass += 1;
      p.flags = 1;
      p.alive = p.inner.cell[0][0] > 0;
      if (p.alive) p.weights[0] = p.mass;
    }
  }
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Launches, MergeLoopsOverDifferentMembers) {
  const Kernel kernel{"merged", [](View<Particle> p) {
                        range_for(p.size(), [&](Index i) { p[i][&Particle::mass] += 1; });
                        range_for(p.size(),
                                  [&](Index i) { p[i][&Particle::flags] = p[i][&Particle::flags] + 1; });
                      }};
  std::vector<Particle> expected = make_particles(particle_count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  kernel(stream, array);
  if (tested().driver() == "cpu") {
    EXPECT_EQ(stream.last_launch().why_no_graph, WhyNoGraph::one_task);
  }
  for (Particle& p : expected) {
    p.mass += 1;
    ++p.flags;
  }
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Launches, TakeOneArrayTwice) {
  const Kernel kernel{"twice", [](View<Particle> a, View<const Particle> b) {
                        range_for(a.size(), [&](Index i) { a[i][&Particle::mass] = cast<float>(i); });
                        range_for(a.size(), [&](Index i) {
                          a[i][&Particle::weights][1] = b[a.size() - 1 - i][&Particle::mass];
                        });
                      }};
  const StructArray<Particle> one = upload(stream, make_particles(particle_count), layout),
                              other = upload(stream, make_particles(particle_count), layout);
  kernel(stream, one, other);
  kernel(stream, one, one);
  const std::vector<Particle> found = one.to_host(stream);
  for (std::size_t i = 0; i < particle_count; ++i)
    EXPECT_EQ(found[i].weights[1], static_cast<float>(particle_count - 1 - i));
}

TEST_P(Launches, AreRecordedInGraphs) {
  const auto kernel = make_advance();
  std::vector<Particle> expected = make_particles(particle_count);
  const StructArray<Particle> array = upload(stream, expected, layout), copy(stream, particle_count, layout),
                              other = upload(stream, expected, layout);
  GraphBuilder builder(tested());
  const auto node = builder.launch(kernel, array);
  builder.copy(copy.bytes(), array.bytes());
  Graph graph = builder.build();
  for (int run = 0; run < 3; ++run) {
    graph.launch(stream);
    advance(expected);
  }
  EXPECT_EQ(array.to_host(stream), expected);
  EXPECT_EQ(copy.to_host(stream), expected);
  graph.update(node, other);
  graph.launch(stream);
  std::vector<Particle> once = make_particles(particle_count);
  advance(once);
  EXPECT_EQ(other.to_host(stream), once);
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Launches, OfGraphsOutliveTheKernel) {
  std::vector<Particle> expected = make_particles(particle_count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  GraphBuilder builder(tested());
  builder.launch(make_advance(), array);
  const Graph graph = builder.build();
  graph.launch(stream);
  advance(expected);
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Launches, FollowTheOrderOfTheirStream) {
  const auto kernel = make_advance();
  const Stream other = tested().create_stream();
  for (int round = 0; round < 5; ++round) {
    std::vector<Particle> expected = make_particles(particle_count);
    StructArray<Particle> array = upload(stream, expected, layout);
    const StructArray<Particle> result(other, particle_count, layout);
    kernel(stream, array);
    kernel(stream, array);
    other.wait(stream);
    result.copy_from(other, array);
    array = {};  // freed after the copy
    advance(expected);
    advance(expected);
    EXPECT_EQ(result.to_host(other), expected);
  }
}

TEST_P(Launches, AreDebuggedInTheInterpreter) {
  const Kernel kernel{"debugged",
                      [](View<Particle> p) {
                        range_for(p.size(), [&](Index i) {
                          p[i][&Particle::mass] += 1;
                          p[i][&Particle::weights][2] = p[i][&Particle::mass];
                        });
                      },
                      KernelOptions{.debug = true}};
  std::vector<Particle> expected = make_particles(particle_count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  kernel(stream, array);
  advance(expected);
  EXPECT_EQ(array.to_host(stream), expected);
  kernel.program().debug(false);
  kernel(stream, array);
  advance(expected);
  EXPECT_EQ(array.to_host(stream), expected);
  GraphBuilder builder(tested());
  const auto node = builder.launch(kernel, array);
  Graph graph = builder.build();
  kernel.program().debug();
  graph.launch(stream);
  graph.update(node, array);
  graph.launch(stream);
  advance(expected);
  advance(expected);
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Launches, FindWrongIndicesInTheInterpreter) {
  const Kernel kernel{"wrong", [](View<Particle> p, Value<std::int64_t> i, Value<std::int64_t> k) {
                        range_for(1, [&](Index) { p[i][&Particle::weights][k] = 1; });
                      }};
  const StructArray<Particle> array = upload(stream, make_particles(17), layout);
  kernel(stream, array, 0, 0);
  kernel.program().debug();
  kernel(stream, array, 16, 3);
  EXPECT_EQ(array.to_host(stream)[16].weights[3], 1);
  for (const auto& [i, k] : {std::pair{17, 0}, {-1, 0}, {0, 4}, {0, -1}}) {
    const Error error = thrown_by([&] { kernel(stream, array, i, k); });
    EXPECT_EQ(error.code(), ErrorCode::assertion) << i << " " << k;
  }
  EXPECT_EQ(array.to_host(stream)[0].weights[0], 1);
}

// The checks that a layout adds may end threads before barriers that depend on elements.
TEST_P(Launches, OfGroupsWhoseBarriersDependOnElements) {
  for (const KernelOptions& options :
       {KernelOptions(), KernelOptions{.check_bounds = true}, KernelOptions{.debug = true}}) {
    const Kernel kernel{"rounds",
                        [](View<const std::int32_t> rounds, View<Particle> p) {
                          group_for(groups(rounds.size()), threads<8>, [&](Index g, Index t) {
                            Shared<float, 8> s;
                            Var<float> sum = p[g * 8 + t][&Particle::mass];
                            for_(0, rounds[g], [&](Index) {
                              s[t] = sum;
                              barrier();
                              sum += s[7 - t];
                              barrier();
                            });
                            p[g * 8 + t][&Particle::weights][t % 4] = sum;
                          });
                        },
                        options};
    std::vector<Particle> expected = make_particles(24);
    const StructArray<Particle> array = upload(stream, expected, layout);
    const std::vector<std::int32_t> rounds{2, 0, 1};
    kernel(stream, tested().array_of<std::int32_t>(stream, rounds), array);
    for (std::size_t g = 0; g < 3; ++g) {
      float sums[8];
      for (std::size_t t = 0; t < 8; ++t) sums[t] = expected[g * 8 + t].mass;
      for (std::int32_t r = 0; r < rounds[g]; ++r) {
        float before[8];
        std::copy_n(sums, 8, before);
        for (std::size_t t = 0; t < 8; ++t) sums[t] += before[7 - t];
      }
      for (std::size_t t = 0; t < 8; ++t) expected[g * 8 + t].weights[t % 4] = sums[t];
    }
    EXPECT_EQ(array.to_host(stream), expected) << options.check_bounds << options.debug;
  }
}

TEST(Launch, WorksFromSeveralThreadsWithDifferentLayouts) {
  for (int round = 0; round < rounds_of(5); ++round) {
    const auto kernel = make_advance();
    on_threads(8, [&](int t) {
      const Stream stream = tested().create_stream();
      std::vector<Particle> expected = make_particles(particle_count);
      const Layout layout = layouts()[static_cast<std::size_t>(t) % layouts().size()];
      const StructArray<Particle> array = upload(stream, expected, layout);
      for (int launch = 0; launch < 3; ++launch) {
        kernel(stream, array);
        advance(expected);
      }
      EXPECT_EQ(array.to_host(stream), expected);
    });
  }
}

TEST(Launch, CountsRandomNumbersTogetherForAllLayouts) {
  const Stream stream = tested().create_stream();
  const auto draw = [&](const Layout& first, const Layout& second) {
    const Kernel kernel{"draw", [](View<Particle> p) {
                          range_for(p.size(), [&](Index i) { p[i][&Particle::mass] = random<float>(); });
                        }};
    const StructArray<Particle> a = upload(stream, make_particles(8), first),
                                b = upload(stream, make_particles(8), second);
    kernel(stream, a);
    kernel(stream, b);
    std::vector<float> masses;
    for (const Particle& p : a.to_host(stream)) masses.push_back(p.mass);
    for (const Particle& p : b.to_host(stream)) masses.push_back(p.mass);
    return masses;
  };
  const auto expected = draw(Layout::struct_of_arrays(), Layout::struct_of_arrays());
  EXPECT_NE(expected[0], expected[8]);
  EXPECT_EQ(draw(Layout::array_of_structs(), Layout::struct_of_arrays()), expected);
  EXPECT_EQ(draw(Layout::struct_of_arrays(), Layout::blocks(4)), expected);
}

TEST_P(Launches, CheckBounds) {
  const Kernel kernel{"checked",
                      [](View<Particle> p, Value<std::int64_t> i, Value<std::int64_t> k) {
                        range_for(1, [&](Index) { p[i][&Particle::weights][k] = 1; });
                      },
                      KernelOptions{.check_bounds = true, .parameter_names = {"particles", "i", "k"}}};
  const StructArray<Particle> array = upload(stream, make_particles(17), layout);
  kernel(stream, array, 16, 3);
  EXPECT_EQ(array.to_host(stream)[16].weights[3], 1);
  for (const auto& [i, k] : {std::pair{17, 0}, {-1, 0}, {0, 4}, {0, -1}}) {
    const Error error = thrown_by([&] {
      kernel(stream, array, i, k);
      stream.synchronize();
    });
    EXPECT_EQ(error.code(), ErrorCode::assertion) << i << " " << k;
    EXPECT_EQ(error.kernel(), "checked");
    EXPECT_THAT(error.what(), HasSubstr("member 5 of the struct array 'particles'"));
  }
}

}  // namespace
}  // namespace weir::test
