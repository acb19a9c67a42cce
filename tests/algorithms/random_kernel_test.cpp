// SPDX-License-Identifier: Apache-2.0
// Random kernels of loops, reductions, variables and algorithms, against the same steps on the host.
// WEIR_RANDOM_KERNELS=COUNT and WEIR_RANDOM_SEED=N choose others.
#include <numeric>
#include <optional>

#include "support.hpp"

namespace weir::test {
namespace {

constexpr std::int64_t elements = 700;

struct Step {
  enum Kind {
    loop,
    short_loop,
    reduction,
    variable,
    branch,
    local,
    chain,
    scan,
    sort,
    select,
    sized_sort,
    count
  };
  Kind kind;
  std::uint32_t a, b, constant;
};

std::vector<Step> random_steps(std::uint32_t seed) {
  std::mt19937 bits(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(bits() % n); };
  std::vector<Step> steps(4 + below(10));
  for (Step& step : steps)
    step = {static_cast<Step::Kind>(below(Step::count)), below(3), below(3), below(1000)};
  return steps;
}

std::string text_of(const std::vector<Step>& steps) {
  static constexpr const char* names[] = {"loop",   "short_loop", "reduction", "variable",
                                          "branch", "local",      "chain",     "scan",
                                          "sort",   "select",     "sized_sort"};
  std::string text;
  for (const Step& step : steps)
    text += std::string(names[step.kind]) + " " + std::to_string(step.a) + " " + std::to_string(step.b) +
            " " + std::to_string(step.constant) + "\n";
  return text;
}

using Numbers32 = std::vector<std::uint32_t>;

/// What a kernel of these steps does.
struct Model {
  explicit Model(const Numbers32& start) : arrays{start, start, start}, list(start.size(), 0) {}

  void run(const Step& step) {
    Numbers32 &a = arrays[step.a], &b = arrays[step.b];
    const std::uint32_t c = step.constant;
    switch (step.kind) {
      case Step::loop:
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] * c + std::uint32_t(i) + variable;
        break;
      case Step::short_loop:
        for (std::size_t i = 0; i + c % 50 < a.size(); ++i) a[i] ^= b[i] + value;
        break;
      case Step::reduction:
        value = std::accumulate(a.begin(), a.end(), c);
        break;
      case Step::variable:
        variable = variable * (c | 1) + value;
        break;
      case Step::branch:
        if (variable & 1)
          variable ^= value + c;
        else
          variable += c;
        break;
      case Step::local:
        words[variable % 4] = std::uint16_t(value);
        variable += words[c % 4];
        break;
      case Step::chain:
        chained = std::int64_t(a.size()) * c - 3;
        variable += std::uint32_t(chained);
        break;
      case Step::scan: {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) b[i] = std::exchange(sum, sum + a[i]);
        break;
      }
      case Step::sort:
        std::ranges::sort(a);
        if (c % 2) std::ranges::reverse(a);
        break;
      case Step::select:
        count = 0;
        for (const std::uint32_t x : a)
          if (x % 7 > c % 7) list[std::size_t(count++)] = x;
        break;
      case Step::sized_sort:
        std::sort(list.begin(), list.begin() + count);
        break;
      case Step::count:
        break;
    }
  }

  Numbers32 arrays[3];
  Numbers32 list;
  std::int64_t count = 0, chained = 0;
  std::uint32_t value = 1, variable = 5;
  std::uint16_t words[4] = {};
};

using Numbers32View = View<std::uint32_t>;

auto make_kernel(const std::vector<Step>& steps) {
  return Kernel("random",
                with_constants([steps](Numbers32View x, Numbers32View y, Numbers32View z, Numbers32View list,
                                       View<bool> keep, View<std::int64_t> count, Numbers32View out) {
                  const Numbers32View arrays[] = {x, y, z};
                  const Index n = x.size();
                  std::optional<Value<std::uint32_t>> value(1u);
                  std::optional<Index> chained(Index(0));
                  Var<std::uint32_t> variable = 5u;
                  LocalArray<std::uint16_t, 4> words;
                  for (const Step& step : steps) {
                    const Numbers32View &a = arrays[step.a], &b = arrays[step.b];
                    const std::uint32_t c = step.constant;
                    switch (step.kind) {
                      case Step::loop:
                        range_for(n, [&](Index i) { a[i] = b[i] * c + cast<std::uint32_t>(i) + variable; });
                        break;
                      case Step::short_loop:
                        range_for(n - c % 50, [&](Index i) { a[i] = a[i] ^ (b[i] + *value); });
                        break;
                      case Step::reduction:
                        value.emplace(reduce_sum(n, [&](Index i) { return a[i]; }) + c);
                        break;
                      case Step::variable:
                        variable = variable * (c | 1) + *value;
                        break;
                      case Step::branch:
                        if_((variable & 1u) == 1u, [&] { variable = variable ^ (*value + c); }).else_([&] {
                          variable += c;
                        });
                        break;
                      case Step::local:
                        words[variable % 4u] = cast<std::uint16_t>(*value);
                        variable += cast<std::uint32_t>(words[c % 4]);
                        break;
                      case Step::chain:
                        chained.emplace(n * c - 3);
                        variable += cast<std::uint32_t>(*chained);
                        break;
                      case Step::scan:
                        exclusive_scan(a, b);
                        break;
                      case Step::sort:
                        sort(a, c % 2 ? SortOrder::descending : SortOrder::ascending);
                        break;
                      case Step::select:
                        range_for(n, [&](Index i) { keep[i] = a[i] % 7u > c % 7; });
                        compact(a, keep, list, count);
                        break;
                      case Step::sized_sort:
                        sort(list, SortOrder::ascending, count);
                        break;
                      case Step::count:
                        break;
                    }
                  }
                  out[0] = *value;
                  out[1] = variable;
                  for (std::uint32_t w = 0; w < 4; ++w) out[2 + w] = cast<std::uint32_t>(words[w]);
                  out[6] = cast<std::uint32_t>(*chained);
                }));
}

/// Sorts leave unspecified keys after those that they sort.
Numbers32 first(Numbers32 list, std::int64_t count) {
  list.resize(std::size_t(count));
  return list;
}

void check(std::uint32_t seed) {
  const std::vector<Step> steps = random_steps(seed);
  SCOPED_TRACE(testing::Message() << "WEIR_RANDOM_SEED=" << seed << "\n" << text_of(steps));
  const Numbers32 start = random_values<std::uint32_t>(elements, seed);
  Model model(start);
  for (const Step& step : steps) model.run(step);

  const Stream stream = tested().create_stream();
  const auto x = upload(stream, start), y = upload(stream, start), z = upload(stream, start),
             list = tested().array<std::uint32_t>(stream, elements);
  const auto keep = tested().array<bool>(stream, elements);
  const auto count = tested().array<std::int64_t>(stream, 1);
  const auto out = tested().array<std::uint32_t>(stream, 7);
  list.fill(stream, 0);
  count.fill(stream, 0);
  const auto kernel = make_kernel(steps);
  EXPECT_EQ(Program::parse(kernel.ir()).text(), kernel.ir());
  if (seed % 3 == 0) {
    GraphBuilder builder(tested());
    builder.launch(kernel, x, y, z, list, keep, count, out);
    builder.build().launch(stream);
  } else {
    kernel(stream, x, y, z, list, keep, count, out);
  }
  EXPECT_EQ(x.to_host(stream), model.arrays[0]);
  EXPECT_EQ(y.to_host(stream), model.arrays[1]);
  EXPECT_EQ(z.to_host(stream), model.arrays[2]);
  EXPECT_EQ(count.to_host(stream)[0], model.count);
  EXPECT_EQ(first(list.to_host(stream), model.count), first(model.list, model.count));
  const Numbers32 expected{model.value,
                           model.variable,
                           model.words[0],
                           model.words[1],
                           model.words[2],
                           model.words[3],
                           std::uint32_t(model.chained)};
  EXPECT_EQ(out.to_host(stream), expected);
}

std::uint32_t number(const char* variable, std::uint32_t usual) {
  const char* word = std::getenv(variable);
  return word ? std::uint32_t(std::strtoul(word, nullptr, 10)) : usual;
}

TEST(AlgorithmsInRandomKernels, DoWhatTheHostDoes) {
  const std::uint32_t begin = number("WEIR_RANDOM_SEED", 1), count = number("WEIR_RANDOM_KERNELS", 40);
  for (std::uint32_t seed = begin; seed < begin + count && !HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace weir::test
