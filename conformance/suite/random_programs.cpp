// SPDX-License-Identifier: Apache-2.0
// Level 8: random programs of streams and events, compared with a sequential model.
#include <array>
#include <functional>
#include <random>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

constexpr std::size_t buffer_count = 8;
constexpr std::uint64_t words = 512;  // of 8 bytes, in each buffer
using Words = std::vector<std::int64_t>;

/// The buffers of a program, on the device and in the model.
struct Buffers {
  std::vector<Memory> device;
  std::vector<Words> model;

  explicit Buffers(std::mt19937& random) {
    for (std::size_t i = 0; i < buffer_count; ++i) {
      Words values(words);
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(random());
      device.push_back(Memory::of(values));
      model.push_back(std::move(values));
    }
  }
};

/// One step, with its operation and operands. The model has already run it.
struct Step {
  enum class Kind { fill, copy, iota, scale_add } kind;
  std::size_t to, from;
  std::uint64_t to_word, from_word, count;
  std::int64_t value;
};

Step random_step(std::mt19937& random, bool kernels) {
  auto below = [&](std::uint64_t n) { return static_cast<std::uint64_t>(random() % n); };
  Step step{};
  step.kind = static_cast<Step::Kind>(below(kernels ? 4 : 2));
  step.to = below(buffer_count);
  step.from = (step.to + 1 + below(buffer_count - 1)) % buffer_count;
  step.count = 1 + below(words);
  step.to_word = below(words - step.count + 1);
  step.from_word = below(words - step.count + 1);
  step.value = static_cast<std::int64_t>(random() % 1000);
  return step;
}

void run_on_model(const Step& step, std::vector<Words>& model) {
  for (std::uint64_t i = 0; i < step.count; ++i) {
    std::int64_t& to = model[step.to][step.to_word + i];
    const std::int64_t from = model[step.from][step.from_word + i];
    switch (step.kind) {
      case Step::Kind::fill:
        to = step.value;
        break;
      case Step::Kind::copy:
        to = from;
        break;
      case Step::Kind::iota:
        to = step.value + static_cast<std::int64_t>(i);
        break;
      case Step::Kind::scale_add:
        to = static_cast<std::int64_t>(static_cast<std::uint64_t>(step.value) *
                                           static_cast<std::uint64_t>(from) +
                                       static_cast<std::uint64_t>(to));
        break;
    }
  }
}

bool reads_from(const Step& step) {
  return step.kind == Step::Kind::copy || step.kind == Step::Kind::scale_add;
}

/// A step in words, for messages: "copy_on_device of words 3 to 9 of buffer 2 to words 0 to 6 of buffer 1".
std::string text_of(const Step& step) {
  const auto range = [&](std::size_t buffer, std::uint64_t word) {
    return "words " + std::to_string(word) + " to " + std::to_string(word + step.count - 1) + " of buffer " +
           std::to_string(buffer);
  };
  const std::string to = range(step.to, step.to_word), from = range(step.from, step.from_word);
  const std::string value = std::to_string(step.value);
  switch (step.kind) {
    case Step::Kind::fill:
      return "fill of " + to + " with " + value;
    case Step::Kind::copy:
      return "copy_on_device of " + from + " to " + to;
    case Step::Kind::iota:
      return "kernel_launch of iota, which stores " + value + " and the numbers after it to " + to;
    case Step::Kind::scale_add:
      return "kernel_launch of scale_add, which adds " + value + " times " + from + " to " + to;
  }
  return {};
}

/// Compares the buffers with the model. `place` says where step i was submitted: "on stream 2".
void expect_equal(const Buffers& buffers, std::uint32_t seed, const std::vector<Step>& steps,
                  const std::function<std::string(std::size_t)>& place) {
  for (std::size_t i = 0; i < buffer_count; ++i) {
    const Words found = buffers.device[i].values<std::int64_t>();
    const auto [seen, wanted] = std::ranges::mismatch(found, buffers.model[i]);
    if (seen == found.end()) continue;
    const auto word = static_cast<std::uint64_t>(seen - found.begin());
    std::size_t last = steps.size();
    while (last-- > 0)
      if (steps[last].to == i && steps[last].to_word <= word &&
          word - steps[last].to_word < steps[last].count)
        break;
    std::string history = "no step wrote it";
    if (last < steps.size()) {
      history = "the last step that wrote it is step " + std::to_string(last) + " " + place(last) + ": " +
                text_of(steps[last]);
      if (reads_from(steps[last]))
        for (std::size_t k = last; k-- > 0;)
          if (steps[k].to == steps[last].from) {
            history += "; the last one before that wrote to the buffer it reads is step " +
                       std::to_string(k) + " " + place(k) + ": " + text_of(steps[k]);
            break;
          }
    }
    FAIL()
        << "the program of seed " << seed << " of " << steps.size() << " steps ran; word " << word
        << " of buffer " << i << " is " << *seen << " instead of " << *wanted
        << ", as if the steps had run one "
        << "by one; " << history
        << ". Either steps ran in another order, or stream_synchronize returned before the last of them had "
           "ended. Look first at stream_wait_event, or for a graph at its dependencies: steps that share a "
           "buffer are ordered by them. Then look at when the run of a graph and a piece of work count as "
           "complete";
  }
}

struct Kernels {
  Kernel iota{"iota"}, scale_add{"scale_add"};
};

Arguments arguments_of(const Step& step, const Buffers& buffers) {
  Arguments values;
  values.add(buffers.device[step.to], 8 * step.to_word);
  if (step.kind == Step::Kind::scale_add) values.add(buffers.device[step.from], 8 * step.from_word);
  return values.add(static_cast<std::int64_t>(step.count)).add(step.value);
}

void submit(const Step& step, const Buffers& buffers, const Stream& stream, const Kernels* kernels) {
  switch (step.kind) {
    case Step::Kind::fill:
      fill(stream, buffers.device[step.to], 8 * step.to_word, 8 * step.count, step.value);
      break;
    case Step::Kind::copy:
      call(table().copy_on_device, weir_stream(stream), weir_allocation(buffers.device[step.to]),
           8 * step.to_word, weir_allocation(buffers.device[step.from]), 8 * step.from_word, 8 * step.count);
      break;
    case Step::Kind::iota:
      kernels->iota.launch(stream, arguments_of(step, buffers), 1 + step.count % 5);
      break;
    case Step::Kind::scale_add:
      kernels->scale_add.launch(stream, arguments_of(step, buffers), 1 + step.count % 5);
      break;
  }
}

/// Runs steps on several streams. Events order two of them exactly where they use one buffer and one of them
/// writes.
void run_on_streams(std::uint32_t seed, int steps, const Kernels* kernels) {
  constexpr std::size_t stream_count = 5;
  std::mt19937 random(seed);
  Buffers buffers(random);
  std::vector<Stream> streams(stream_count);
  std::vector<Event> events(stream_count);  // the event after each stream's last step
  struct Use {
    int writer = -1;                           // the stream that wrote last
    std::array<bool, stream_count> readers{};  // streams that have read since the last write
  };
  std::array<Use, buffer_count> uses;
  std::vector<Step> all;
  std::vector<std::size_t> places;
  for (int i = 0; i < steps; ++i) {
    const Step step = random_step(random, kernels != nullptr);
    const std::size_t s = random() % stream_count;
    all.push_back(step);
    places.push_back(s);
    std::array<bool, stream_count> before{};
    auto after_writer = [&](std::size_t buffer) {
      if (uses[buffer].writer >= 0) before[static_cast<std::size_t>(uses[buffer].writer)] = true;
    };
    after_writer(step.to);
    for (std::size_t r = 0; r < stream_count; ++r) before[r] = before[r] || uses[step.to].readers[r];
    if (reads_from(step)) after_writer(step.from);
    for (std::size_t other = 0; other < stream_count; ++other)
      if (before[other] && other != s) streams[s].wait(events[other]);
    submit(step, buffers, streams[s], kernels);
    run_on_model(step, buffers.model);
    events[s].record(streams[s]);
    uses[step.to] = {static_cast<int>(s), {}};
    if (reads_from(step)) uses[step.from].readers[s] = true;
    switch (random() % 40) {  // unrelated calls in between
      case 0:
        streams[s].flush();
        break;
      case 1:
        streams[s].done();
        break;
      case 2:
        streams[s].synchronize();
        break;
      case 3:
        events[s].done();
        break;
      case 4:  // work of the destroyed stream continues, and the event still marks its end
        streams[s] = Stream();
        streams[s].wait(events[s]);
        break;
      default:
        break;
    }
  }
  for (const Event& event : events) event.synchronize();
  for (const Stream& stream : streams) stream.synchronize();
  expect_equal(buffers, seed, all, [&](std::size_t i) { return "on stream " + std::to_string(places[i]); });
}

/// The number of random programs.
std::uint32_t seeds(std::uint32_t usual) {
  return judged().thorough ? 20 * usual : usual;
}

WEIR_REQUIREMENT(8, 01, RandomPrograms, OfCopiesAndFills,
                 "Random programs of fills and copies over five streams, ordered by events where they must "
                 "be, end as if run one by one.") {
  for (std::uint32_t seed = 1; seed <= seeds(40); ++seed) run_on_streams(seed, 400, nullptr);
}

WEIR_REQUIREMENT(8, 02, RandomPrograms, OfKernels,
                 "Random programs of kernels, fills and copies over five streams end as if run one by one.") {
  const Kernels kernels;
  for (std::uint32_t seed = 1; seed <= seeds(40); ++seed) run_on_streams(seed, 400, &kernels);
}

/// The same steps as one graph, in which each depends on those that it must follow, some of them through up
/// to three empty nodes.
void run_as_graph(std::uint32_t seed, int steps, const Kernels* kernels) {
  std::mt19937 random(seed);
  Buffers buffers(random);
  GraphNodes nodes;
  struct Use {
    std::vector<std::uint32_t> writer, readers;
  };
  std::array<Use, buffer_count> uses;
  std::vector<Step> all;
  std::vector<std::uint32_t> places;
  for (int i = 0; i < steps; ++i) {
    const Step step = random_step(random, kernels != nullptr);
    std::vector<std::uint32_t> after = uses[step.to].writer;
    after.insert(after.end(), uses[step.to].readers.begin(), uses[step.to].readers.end());
    if (reads_from(step))
      after.insert(after.end(), uses[step.from].writer.begin(), uses[step.from].writer.end());
    std::ranges::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (std::uint32_t empty_nodes = random() % 8; empty_nodes > 4; --empty_nodes) {
      const std::uint32_t join = nodes.empty();
      nodes.depend(join, after);
      after = {join};
    }
    std::uint32_t index = 0;
    const weir_allocation to = buffers.device[step.to], from = buffers.device[step.from];
    switch (step.kind) {
      case Step::Kind::fill:
        index = nodes.fill(to, 8 * step.to_word, 8 * step.count, step.value);
        break;
      case Step::Kind::copy:
        index = nodes.copy_on_device(to, 8 * step.to_word, from, 8 * step.from_word, 8 * step.count);
        break;
      case Step::Kind::iota:
        index = nodes.kernel(kernels->iota, arguments_of(step, buffers), 2);
        break;
      case Step::Kind::scale_add:
        index = nodes.kernel(kernels->scale_add, arguments_of(step, buffers), 2);
        break;
    }
    nodes.depend(index, after);
    uses[step.to] = {{index}, {}};
    if (reads_from(step)) uses[step.from].readers.push_back(index);
    all.push_back(step);
    places.push_back(index);
  }
  const Graph graph = nodes.make();
  const Stream stream;
  for (int run = 0; run < 3; ++run) {
    launch(graph, stream);
    for (const Step& step : all) run_on_model(step, buffers.model);
  }
  stream.synchronize();
  expect_equal(buffers, seed, all, [&](std::size_t i) { return "(node " + std::to_string(places[i]) + ")"; });
}

WEIR_REQUIREMENT(8, 03, RandomPrograms, OfGraphs,
                 "Random graphs, launched three times, end as if their nodes ran one by one.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernels kernels;
  for (std::uint32_t seed = 1; seed <= seeds(30); ++seed) run_as_graph(seed, 150, &kernels);
}

}  // namespace
}  // namespace weir::conformance
