// SPDX-License-Identifier: Apache-2.0
#include "bits_comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <weir/program.hpp>
#include <weir/weir.hpp>

#include "bits_inputs.hpp"
#include "ir/evaluate.hpp"
#include "ir/literals.hpp"
#include "ir/parser.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

std::uint64_t element(const std::vector<std::byte>& bytes, ScalarType type, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size_of(type), size_of(type));
  return bits;
}

/// Each byte of a result before it is computed: not 0, which stray vectors often contain, and a valid bool.
constexpr std::byte untouched{1};

/// Runs one kernel at a time on a device; its inputs stay on the device.
class Runner {
 public:
  Runner(const std::string& device, std::size_t count)
      : stream_(open(device).create_stream()), count_(count) {}

  std::vector<std::vector<std::byte>> run(const std::vector<Operation>& operations, bool fresh,
                                          LoopForm form = LoopForm::line) {
    const Program program = Program::parse(kernel_text(operations, form));
    const std::vector<std::int64_t> extents = shape_of(form, count_);
    std::vector<LaunchArgument> arguments;
    std::vector<AnyArray> arrays;
    arrays.reserve(operations.size() + 17);
    for (const auto& input : kernel_inputs(operations)) {
      if (fresh) {
        arrays.push_back(upload(input, extents));
        arguments.push_back({&arrays.back(), nullptr, ElementType{input.first}});
      } else {
        arguments.push_back({&kept(input, extents), nullptr, ElementType{input.first}});
      }
    }
    const std::size_t first = arrays.size();
    for (const Operation& operation : operations) {
      arrays.emplace_back(stream_, ElementType{operation.result}, extents);
      arguments.push_back({&arrays.back(), nullptr, ElementType{operation.result}});
      if (form == LoopForm::edges || form == LoopForm::branches)
        arrays.back().copy_from_bytes(stream_, std::vector(arrays.back().size_bytes(), untouched));
    }
    const std::size_t end = arrays.size();
    if (form == LoopForm::branches) {
      std::vector<std::byte> skipped(count_);
      for (std::size_t i = 0; i < count_; ++i)
        if (!is_computed(form, i, count_)) skipped[i] = std::byte(1 + i % 255);
      arrays.emplace_back(stream_, ElementType{ScalarType::u8}, extents).copy_from_bytes(stream_, skipped);
      arguments.push_back({&arrays.back(), nullptr, ElementType{ScalarType::u8}});
    }
    const std::int64_t none = 0;
    if (form != LoopForm::line) arguments.push_back({nullptr, &none, ElementType{ScalarType::i64}});
    program.launch(stream_, arguments);
    std::vector<std::vector<std::byte>> results;
    for (std::size_t k = first; k < end; ++k) {
      results.emplace_back(arrays[k].size_bytes());
      arrays[k].copy_to_bytes(stream_, results.back());
    }
    // The arrays after atomics count as results too.
    for (std::size_t k = 0; fresh && k < first; ++k) {
      results.emplace_back(arrays[k].size_bytes());
      arrays[k].copy_to_bytes(stream_, results.back());
    }
    return results;
  }

 private:
  using Input = std::pair<ScalarType, unsigned>;

  AnyArray upload(const Input& input, const std::vector<std::int64_t>& extents) const {
    AnyArray array(stream_, ElementType{input.first}, extents);
    array.copy_from_bytes(stream_, operands(input.first, count_, input.second));
    return array;
  }
  AnyArray& kept(const Input& input, const std::vector<std::int64_t>& extents) {
    const auto key = std::pair{input, extents};
    const auto found = inputs_.find(key);
    return found != inputs_.end() ? found->second
                                  : inputs_.emplace(key, upload(input, extents)).first->second;
  }

  Stream stream_;
  std::size_t count_;
  std::map<std::pair<Input, std::vector<std::int64_t>>, AnyArray> inputs_;
};

/// Counts the differences of `found` from `expected`, and reports the first one.
void compare(const Operation& operation, const std::string& what, ScalarType type,
             const std::vector<std::byte>& found, const std::vector<std::byte>& expected, Tally& tally) {
  const std::size_t count = found.size() / size_of(type);
  tally.values += count;
  if (found == expected) return;
  std::size_t different = 0, first = 0;
  for (std::size_t i = count; i-- > 0;) {
    const std::uint64_t a = element(found, type, i), b = element(expected, type, i);
    if (a == b || (ir::is_nan(type, a) && ir::is_nan(type, b))) continue;  // the bits of a NaN are unspecified
    ++different;
    first = i;
  }
  if (different == 0) return;
  tally.differences += different;
  std::string given;
  for (unsigned k = 0; k < operation.operands.size(); ++k)
    given +=
        " " + std::string(to_string(operation.operands[k])) + " " +
        hexadecimal(element(operands(operation.operands[k], first + 1, k), operation.operands[k], first));
  const std::lock_guard lock(tally.mutex);
  ADD_FAILURE() << operation.words << what << " differs for " << different << " of " << count << " values; of"
                << given << " it is " << hexadecimal(element(found, type, first)) << ", expected "
                << hexadecimal(element(expected, type, first));
}

void compare_devices(const std::vector<Operation>& operations, std::size_t count, std::size_t per_kernel,
                     bool fresh, Tally& tally) {
  // Several kernels are compiled, run and compared at once.
  const unsigned workers = std::min(8u, std::max(1u, std::thread::hardware_concurrency() / 2));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    try {
      Runner device(tested_device(), count), cpu("cpu", count);
      for (;;) {
        const std::size_t begin = next.fetch_add(per_kernel);
        if (begin >= operations.size()) return;
        const std::vector<Operation> part(
            operations.begin() + std::ptrdiff_t(begin),
            operations.begin() + std::ptrdiff_t(std::min(begin + per_kernel, operations.size())));
        const auto found = device.run(part, fresh), expected = cpu.run(part, fresh);
        for (std::size_t k = 0; k < part.size(); ++k) {
          compare(part[k], "", part[k].result, found[k], expected[k], tally);
          ++tally.operations;
        }
        for (std::size_t k = part.size(); k < found.size(); ++k)
          compare(part[0], ", what it leaves in memory,", part[0].operands.at(0), found[k], expected[k],
                  tally);
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(tally.mutex);
      ADD_FAILURE() << error.what();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < workers; ++i) threads.emplace_back(work);
}

/// The statements of one operation, for the host's evaluator.
class Evaluator {
 public:
  explicit Evaluator(const Operation& operation) : kernel_(ir::parse(kernel_text({operation}), "<bits>")) {
    const ir::Statement& loop = kernel_.body.statements.back();
    for (const ir::Statement& s : loop.bodies.at(0).statements) {
      if (s.op == ir::Op::load)
        arguments_.push_back(s.result);
      else if (s.op != ir::Op::store)
        statements_.push_back(&s);
      if (s.op != ir::Op::store) types_.resize(std::max(types_.size(), std::size_t{s.result} + 1));
      if (s.op != ir::Op::store) types_[s.result] = s.type;
    }
    values_.resize(types_.size());
    // Loads are in the order of kernel_inputs().
    std::size_t k = 0;
    for (const auto& input : kernel_inputs({operation})) place_[input.second] = arguments_.at(k++);
  }

  bool can_evaluate() const {
    return std::all_of(statements_.begin(), statements_.end(),
                       [](const ir::Statement* s) { return ir::is_host_evaluable(*s); });
  }

  std::uint64_t operator()(std::span<const std::uint64_t> operands) {
    for (unsigned k = 0; k < operands.size(); ++k) values_[place_.at(k)] = operands[k];
    for (const ir::Statement* s : statements_) {
      if (s->op == ir::Op::constant) {
        values_[s->result] = s->immediate;
        continue;
      }
      ScalarType types[8];
      std::uint64_t bits[8];
      const std::size_t count = s->operands.size();
      for (std::size_t k = 0; k < count; ++k) {
        types[k] = types_[s->operands[k]];
        bits[k] = values_[s->operands[k]];
      }
      values_[s->result] = ir::evaluate_operation(*s, {types, count}, {bits, count});
    }
    return values_[statements_.back()->result];
  }

 private:
  ir::Kernel kernel_;
  std::vector<const ir::Statement*> statements_;
  std::vector<ir::ValueId> arguments_;
  std::map<unsigned, ir::ValueId> place_;  // by operand
  std::vector<ScalarType> types_;
  std::vector<std::uint64_t> values_;
};

/// The results of the host's evaluator for `count` operands.
std::vector<std::byte> evaluated(const Operation& operation, std::size_t count) {
  std::vector<std::vector<std::byte>> given;
  for (unsigned k = 0; k < operation.operands.size(); ++k)
    given.push_back(operands(operation.operands[k], count, k));
  std::vector<std::byte> expected(count * size_of(operation.result));
  std::vector<std::uint64_t> bits(given.size());
  Evaluator evaluate(operation);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < given.size(); ++k) bits[k] = element(given[k], operation.operands[k], i);
    const std::uint64_t r = evaluate(bits);
    std::memcpy(expected.data() + i * size_of(operation.result), &r, size_of(operation.result));
  }
  return expected;
}

/// Sets the elements that a loop of the form does not compute to what they are before.
std::vector<std::byte> only_computed(std::vector<std::byte> bytes, ScalarType type, LoopForm form) {
  const std::size_t count = bytes.size() / size_of(type);
  for (std::size_t i = 0; i < count; ++i)
    if (!is_computed(form, i, count)) std::memset(bytes.data() + i * size_of(type), int(untouched), size_of(type));
  return bytes;
}

}  // namespace

bool on_cpu() {
  return open(tested_device()).driver() == "cpu";
}

std::size_t wanted_count() {
  if (const char* text = std::getenv("WEIR_BITS_COUNT")) return std::strtoull(text, nullptr, 10);
  return on_cpu() ? std::size_t{1} << 17 : std::size_t{1} << 24;
}

std::string hexadecimal(std::uint64_t bits) {
  char words[24];
  std::snprintf(words, sizeof words, "%#llx", static_cast<unsigned long long>(bits));
  return words;
}

void compare_forms(const std::vector<Operation>& operations, std::size_t count, std::size_t per_kernel,
                   std::span<const LoopForm> forms, Tally& tally) {
  Runner device(tested_device(), count), cpu("cpu", count);
  for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
    const std::vector<Operation> part(
        operations.begin() + std::ptrdiff_t(begin),
        operations.begin() + std::ptrdiff_t(std::min(begin + per_kernel, operations.size())));
    // The CPU computes what the evaluator cannot.
    std::vector<std::vector<std::byte>> expected(part.size());
    for (std::size_t n = 0; n < part.size(); ++n)
      if (Evaluator(part[n]).can_evaluate()) expected[n] = evaluated(part[n], count);
    if (std::ranges::any_of(expected, [](const auto& bytes) { return bytes.empty(); })) {
      std::vector<std::vector<std::byte>> computed = cpu.run(part, false);
      for (std::size_t n = 0; n < part.size(); ++n)
        if (expected[n].empty()) expected[n] = std::move(computed[n]);
    }
    for (const LoopForm form : forms) {
      const auto found = device.run(part, false, form);
      for (std::size_t n = 0; n < part.size(); ++n) {
        compare(part[n], ", in the form " + std::string(to_string(form)) + ",", part[n].result, found[n],
                only_computed(expected[n], part[n].result, form), tally);
        ++tally.operations;
      }
    }
  }
}

void summary(const char* what, const Tally& tally) {
  std::printf("[   BITS   ] %s: %llu operations, %llu values, %llu differences, %s\n", what,
              static_cast<unsigned long long>(tally.operations),
              static_cast<unsigned long long>(tally.values),
              static_cast<unsigned long long>(tally.differences),
              on_cpu() ? "cpu against the host's evaluator" : (tested_device() + " against cpu").c_str());
}

void check(const char* what, const std::vector<Operation>& operations, std::size_t count,
           std::size_t per_kernel, bool fresh) {
  Tally tally;
  if (!on_cpu()) {
    compare_devices(operations, count, per_kernel, fresh, tally);
  } else if (fresh) {
    GTEST_SKIP() << what << ": needs another device than the CPU to compare; set WEIR_DEVICE";
  } else {
    constexpr LoopForm line[] = {LoopForm::line};
    compare_forms(operations, count, per_kernel, line, tally);
  }
  summary(what, tally);
  EXPECT_EQ(tally.differences, 0u);
}

}  // namespace weir::test
