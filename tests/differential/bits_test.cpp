// SPDX-License-Identifier: Apache-2.0
// The device in WEIR_DEVICE produces the CPU's bits for every operation, conversion and math function in
// portable mode, over combinations of special values and over random ones. On the CPU, operations are
// compared with the host's evaluator instead, over fewer values.
//
// WEIR_BITS_COUNT=N compares N values per math function instead of 2^24, and fewer of the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <weir/compile.hpp>
#include <weir/error.hpp>
#include <weir/program.hpp>
#include <weir/weir.hpp>

#include "bits_cases.hpp"
#include "bits_inputs.hpp"
#include "ir/evaluate.hpp"
#include "ir/parser.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

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

std::uint64_t element(const std::vector<std::byte>& bytes, ScalarType type, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size_of(type), size_of(type));
  return bits;
}

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
    arrays.reserve(operations.size() + 16);
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
      if (margins_of(form).first > 0) arrays.back().fill_zero(stream_);
    }
    const std::int64_t none = 0;
    if (form != LoopForm::line) arguments.push_back({nullptr, &none, ElementType{ScalarType::i64}});
    program.launch(stream_, arguments);
    std::vector<std::vector<std::byte>> results;
    for (std::size_t k = first; k < arrays.size(); ++k) {
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

struct Tally {
  std::atomic<std::uint64_t> operations{0}, values{0}, differences{0};
  std::mutex mutex;
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
    if (a == b || (is_nan(type, a) && is_nan(type, b))) continue;
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

/// Clears the elements that a loop of the form does not write.
std::vector<std::byte> without_margins(std::vector<std::byte> bytes, ScalarType type, LoopForm form) {
  const auto [begin, end] = margins_of(form);
  std::memset(bytes.data(), 0, begin * size_of(type));
  std::memset(bytes.data() + bytes.size() - end * size_of(type), 0, end * size_of(type));
  return bytes;
}

/// Compares every form of loop on the tested device with the host's evaluator. For operations that it cannot
/// evaluate, the reference is a line on the CPU.
void compare_forms(const std::vector<Operation>& operations, std::size_t count, std::size_t per_kernel,
                   std::span<const LoopForm> forms, Tally& tally) {
  Runner device(tested_device(), count), cpu("cpu", count);
  for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
    const std::vector<Operation> part(
        operations.begin() + std::ptrdiff_t(begin),
        operations.begin() + std::ptrdiff_t(std::min(begin + per_kernel, operations.size())));
    std::vector<std::vector<std::byte>> expected = cpu.run(part, false);
    for (std::size_t n = 0; n < part.size(); ++n)
      if (Evaluator(part[n]).can_evaluate()) expected[n] = evaluated(part[n], count);
    for (const LoopForm form : forms) {
      const auto found = device.run(part, false, form);
      for (std::size_t n = 0; n < part.size(); ++n) {
        compare(part[n], ", in the form " + std::string(to_string(form)) + ",", part[n].result, found[n],
                without_margins(expected[n], part[n].result, form), tally);
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
           std::size_t per_kernel, bool fresh = false) {
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

TEST(Bits, EveryOperationIsGeneratedForGpus) {
  const auto generate = [](const std::vector<Operation>& operations, std::size_t per_kernel) {
    for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
      const auto end = std::min(begin + per_kernel, operations.size());
      const Program program = Program::parse(kernel_text(
          {operations.begin() + std::ptrdiff_t(begin), operations.begin() + std::ptrdiff_t(end)}));
      for (const CompileTarget& target :
           {CompileTarget{"ptx", "sm_90", "+ptx80", "no_alias,index32,aligned,device_local"},
            CompileTarget{"hsaco", "gfx942", "", "no_alias,index32,aligned,device_local"}}) {
        const std::string text = compile_to_text(program, target, "asm");
        EXPECT_EQ(text.find(".approx"), std::string::npos) << operations[begin].words;
        EXPECT_EQ(text.find(".ftz"), std::string::npos) << operations[begin].words;
      }
    }
  };
  generate(arithmetic(), 16);
  generate(conversions(), 16);
  generate(functions(), 4);
  generate(atomics(), 1);
}

std::vector<Operation> all_chains() {
  std::vector<Operation> all;
  for (const ScalarType type :
       {ScalarType::i8, ScalarType::u8, ScalarType::i16, ScalarType::u16, ScalarType::f32}) {
    std::vector<Operation> some = chains(type);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

/// Calls `f` with kernels of `operations`, with the given number in each.
template <class F>
void for_each_kernel(const std::vector<Operation>& operations, std::size_t per_kernel, F&& f) {
  for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
    const auto end = std::min(begin + per_kernel, operations.size());
    f(Program::parse(
        kernel_text({operations.begin() + std::ptrdiff_t(begin), operations.begin() + std::ptrdiff_t(end)})));
  }
}

/// Instructions that compute with 8 or 16 bits: all with such a type except those that move and convert.
std::set<std::string> narrow_arithmetic(const std::string& ptx) {
  static const std::set<std::string> harmless{"ld", "st", "mov", "cvt", ""};
  std::set<std::string> found;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string instruction;
    words >> instruction;
    if (instruction.starts_with("@")) words >> instruction;
    if (harmless.contains(instruction.substr(0, instruction.find('.')))) continue;
    for (const char* type : {".b8", ".s8", ".u8", ".b16", ".s16", ".u16", "16x2"})
      if (instruction.find(type) != std::string::npos) found.insert(instruction);
  }
  return found;
}

// ptxas 12.8 to 13.3 uses the sign of a 16-bit maximum as a comparison: tests/evidence/ptxas-minmax.md.
// proves R36
TEST(Bits, IntegersOfEightAndSixteenBitsAreComputedInThirtyTwoOnPtx) {
  std::set<std::string> found;
  const auto look = [&](const std::vector<Operation>& operations,
                        std::initializer_list<const char*> assumptions) {
    for_each_kernel(operations, 64, [&](const Program& program) {
      for (const char* assume : assumptions)
        found.merge(narrow_arithmetic(compile_to_text(program, {"ptx", "sm_90", "+ptx80", assume}, "asm")));
    });
  };
  const auto without_halves = [](std::vector<Operation> operations) {
    std::erase_if(operations, [](const Operation& o) {  // selp.b16 moves one of two halves
      return o.words.ends_with(": f16") && o.operands.at(0) == ScalarType::boolean;
    });
    return operations;
  };
  look(without_halves(arithmetic()), {"", "no_alias,index32,aligned,device_local"});
  look(without_halves(conversions()), {"", "no_alias,index32,aligned,device_local"});
  look(chains(ScalarType::i8), {"no_alias,index32,aligned,device_local"});
  look(chains(ScalarType::i16), {"no_alias,index32,aligned,device_local"});
  look(chains(ScalarType::u16), {"no_alias,index32,aligned,device_local"});
  EXPECT_THAT(found, testing::IsEmpty());
}

// LLVM 22 lowers llvm.maximumnum of scalars incorrectly with vfpclass: tests/evidence/llvm-maximumnum.md.
// Nothing else that kernels compute needs the instruction. proves R36
TEST(Bits, MinimaAndMaximaDoNotClassifyOnProcessorsWithAvx512) {
  std::vector<Operation> operations = chains(ScalarType::f32);
  for (const std::vector<Operation>& more : {chains(ScalarType::f64), arithmetic(), conversions()})
    operations.insert(operations.end(), more.begin(), more.end());
  for_each_kernel(operations, 64, [&](const Program& program) {
    for (const char* features : {"+prefer-256-bit", "-prefer-256-bit"}) {
      const std::string text = compile_to_text(program, {"elf-x86_64", "x86-64-v4", features, ""}, "asm");
      EXPECT_EQ(text.find("vfpclass"), std::string::npos);
    }
  });
}

TEST(Bits, ChainsOfTwoOperationsAreTheSame) {
  check("chains", all_chains(), wanted_count() / 64, 64);
}

// A new operation that is missing from all lists fails here.
// proves R36
TEST(Bits, EveryOperationOfTheIrIsInALoopOfEachForm) {
  std::set<std::string> listed;
  for (const auto& list : {arithmetic(), conversions(), functions(), atomics()})
    for (const Operation& operation : list) {
      const std::string word = operation.words.substr(0, operation.words.find(' '));
      listed.insert(word.substr(0, word.find('.')));
      listed.insert(word);
    }
  // Sources, memory and control are in every kernel of this file, or in loop_test, memory_test and
  // reduce_test.
  const std::set<std::string> structure{"const",    "arg",    "extent", "launch_key", "load",       "store",
                                        "local",    "get",    "set",    "temp.load",  "temp.store", "if",
                                        "while",    "for",    "break",  "continue",   "yield",      "assert",
                                        "parallel", "reduce", "region"};
  const std::string operations[] = {
#define WEIR_OP(name, mnemonic, operands, bodies, result) mnemonic,
#include "ir/ops.def"
#undef WEIR_OP
  };
  for (const std::string& mnemonic : operations)
    EXPECT_NE(listed.contains(mnemonic), structure.contains(mnemonic)) << mnemonic;
  const std::string functions[] = {
#define WEIR_MATH(name, operands) "math." #name,
#include "ir/math.def"
#undef WEIR_MATH
  };
  for (const std::string& function : functions) EXPECT_TRUE(listed.contains(function)) << function;
}

// proves R36
TEST(Bits, FormsOfLoopsAreLoweredInDifferentWays) {
  const Operation operation{"max %0, %1 : f32", {ScalarType::f32, ScalarType::f32}, ScalarType::f32};
  const auto lowered = [&](LoopForm form, const char* assume) {
    const Program program = Program::parse(kernel_text({operation}, form));
    return compile_to_text(program, {"hsaco", "gfx942", "", assume}, "llvm");
  };
  const auto has = [](const std::string& text, const char* block) {
    return text.find("\n" + std::string(block) + ":") != std::string::npos;
  };
  constexpr const char* all = "no_alias,index32,aligned,device_local";
  EXPECT_NE(lowered(LoopForm::line, all).find("packet"), std::string::npos);
  EXPECT_NE(lowered(LoopForm::edges, all).find("packet"), std::string::npos);
  EXPECT_TRUE(has(lowered(LoopForm::single, all), "packet.edge"));
  EXPECT_TRUE(has(lowered(LoopForm::tiles, all), "tile"));
  EXPECT_FALSE(has(lowered(LoopForm::tiles, ""), "packet"));
  EXPECT_EQ(lowered(LoopForm::branches, all).find("packet"), std::string::npos);
  EXPECT_EQ(lowered(LoopForm::line, "").find("packet"), std::string::npos);
}

/// All operations in every form of loop, except atomics, which change their operands, and functions.
// proves R36
TEST(Bits, OperationsAreTheSameInEveryLowering) {
  Tally tally;
  const std::size_t count = std::max<std::size_t>(wanted_count() / (on_cpu() ? 16 : 128) / 32 * 32, 96);
  compare_forms(arithmetic(), count, 8, loop_forms, tally);
  compare_forms(conversions(), count, 8, loop_forms, tally);
  summary("lowerings", tally);
  EXPECT_EQ(tally.differences, 0u);
}

// Vector variants of functions compared with scalar ones.
// proves R36
TEST(Bits, FunctionsAreTheSameInEveryLowering) {
  if (!on_cpu()) GTEST_SKIP() << "functions: GPUs have no vector variants of them";
  Tally tally;
  constexpr LoopForm forms[] = {LoopForm::single, LoopForm::edges};
  compare_forms(functions(), std::max<std::size_t>(wanted_count() / 64 / 32 * 32, 96), 2, forms, tally);
  summary("functions", tally);
  EXPECT_EQ(tally.differences, 0u);
}

TEST(Bits, ArithmeticIsTheSame) {
  check("arithmetic", arithmetic(), wanted_count() / 16, 8);
}

TEST(Bits, ConversionsAreTheSame) {
  check("conversions", conversions(), wanted_count() / 16, 8);
}

TEST(Bits, AtomicsAreTheSame) {
  check("atomics", atomics(), wanted_count() / 16, 1, true);
}

TEST(Bits, MathFunctionsAreTheSame) {
  check("math functions", functions(), wanted_count(), 1);
}

/// Reductions of every kind and type, over one, two and three dimensions, with sizes that leave lanes and
/// chunks partly filled.
TEST(Bits, ReductionsAreTheSame) {
  if (on_cpu()) GTEST_SKIP() << "reductions: needs another device than the CPU to compare; set WEIR_DEVICE";
  Tally tally;
  Stream streams[] = {open(tested_device()).create_stream(), open("cpu").create_stream()};
  const std::vector<std::vector<std::int64_t>> shapes{
      {0},    {1},     {63},        {64},      {65},      {1023},      {1024},
      {1025}, {70000}, {5'000'011}, {3, 1000}, {1000, 3}, {777, 1301}, {40, 50, 60}};
  for (const char* type : {"i8", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "bool"})
    for (const char* kind : {"sum", "min", "max", "any", "all"}) {
      const bool boolean = std::string(type) == "bool";
      if (boolean != (kind[0] == 'a')) continue;
      for (const auto& shape : shapes) {
        const std::string rank = std::to_string(shape.size());
        std::string indices, bounds, list, extents;
        for (std::size_t d = 0; d < shape.size(); ++d) {
          const std::string n = std::to_string(d), comma = d ? ", " : "";
          indices += comma + "%i" + n;
          bounds += comma + "%zero to %n" + n;
          extents += "  %n" + n + " = extent @x, " + n + " : i64\n";
        }
        const std::string text = "weir-ir 1\nkernel \"reduce\"\n  param @x : array<" + std::string(type) +
                                 ", " + rank + ">\n  param @r : array<" + type +
                                 ", 1>\n{\n  %zero = const 0 : i64\n" + extents + "  %s = reduce." + kind +
                                 " (" + indices + ") in (" + bounds + ") : " + type +
                                 " {\n    %v = load @x[" + indices + "] : " + type +
                                 "\n    yield %v\n  }\n  store @r[%zero], %s\n}\n";
        const Program program = Program::parse(text);
        ScalarType scalar = ScalarType::boolean;
        for (int t = 0; t <= int(ScalarType::f64); ++t)
          if (to_string(ScalarType(t)) == type) scalar = ScalarType(t);
        std::size_t count = 1;
        for (const std::int64_t extent : shape) count *= std::size_t(extent);
        std::vector<std::byte> values(count * size_of(scalar));
        std::vector<std::byte> all = operands(scalar, count + 90000, 0);
        std::memcpy(values.data(), all.data() + 90000 * size_of(scalar),
                    values.size());  // without special values
        std::uint64_t result[2] = {};
        for (int k = 0; k < 2; ++k) {
          const std::int64_t one[] = {1};
          AnyArray x(streams[k], ElementType{scalar}, shape), r(streams[k], ElementType{scalar}, one);
          x.copy_from_bytes(streams[k], values);
          const LaunchArgument arguments[] = {{&x, nullptr, {}}, {&r, nullptr, {}}};
          program.launch(streams[k], arguments);
          r.copy_to_bytes(streams[k],
                          std::as_writable_bytes(std::span(&result[k], 1)).first(size_of(scalar)));
        }
        tally.values += count;
        ++tally.operations;
        if (result[0] == result[1] || (is_nan(scalar, result[0]) && is_nan(scalar, result[1]))) continue;
        ++tally.differences;
        ADD_FAILURE() << "reduce." << kind << " of " << count << " " << type << " in " << rank
                      << " dimensions is " << hexadecimal(result[0]) << ", expected "
                      << hexadecimal(result[1]);
      }
    }
  summary("reductions", tally);
}

}  // namespace
}  // namespace weir::test
