// SPDX-License-Identifier: Apache-2.0
// LLVM functions that passes have rewritten for targets with few operations return the bits that LLVM's own
// operations return on this machine.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::test {
namespace {

using Words = std::array<std::uint64_t, 2>;
using PassRun = std::function<llvm::PreservedAnalyses(llvm::Function&)>;
using InstructionTest = std::function<bool(const llvm::Instruction&)>;

/// A function that computes %r of %x, %y and %z. Each is an integer of up to 128 bits in two words.
struct Sample {
  std::string type, statements, result;
  std::string expected = "";  // statements that LLVM itself gets right, if those above are not such
};

bool is_real(const std::string& type) {
  return type == "float" || type == "double" || type == "half";
}
unsigned bits_of(const std::string& type) {
  return type == "double"  ? 64
         : type == "float" ? 32
         : type == "half"  ? 16
                           : unsigned(std::stoul(type.substr(1)));
}
std::string integer(unsigned bits) {
  return "i" + std::to_string(bits);
}

/// Statements that read operand `name` from words `at` and `at + 1` of %in.
std::string read(const std::string& name, unsigned at, const std::string& type) {
  const unsigned bits = bits_of(type);
  const auto word = [&](unsigned number, const std::string& to) {
    return "  %" + to + "p = getelementptr i64, ptr %in, i64 " + std::to_string(number) + "\n  %" + to +
           " = load i64, ptr %" + to + "p\n";
  };
  std::string text = word(at, name + "0");
  const std::string own = is_real(type) ? name + "b" : name;
  const std::string as = integer(bits);
  if (bits > 64)
    text += word(at + 1, name + "1") + "  %" + name + "2 = zext i64 %" + name + "0 to " + as + "\n  %" +
            name + "3 = zext i64 %" + name + "1 to " + as + "\n  %" + name + "4 = shl " + as + " %" + name +
            "3, 64\n  %" + own + " = or " + as + " %" + name + "2, %" + name + "4\n";
  else
    text += "  %" + own + " = " +
            (bits == 64 ? "or i64 %" + name + "0, 0" : "trunc i64 %" + name + "0 to " + as) + "\n";
  if (is_real(type)) text += "  %" + name + " = bitcast " + as + " %" + own + " to " + type + "\n";
  return text;
}

/// Statements that store %r in two words at %out.
std::string written(const std::string& type) {
  const unsigned bits = bits_of(type);
  const std::string as = integer(bits);
  std::string text = is_real(type) ? "  %rb = bitcast " + type + " %r to " + as + "\n" : "";
  const std::string r = is_real(type) ? "%rb" : "%r";
  if (bits > 64)
    text += "  %r0 = trunc " + as + " " + r + " to i64\n  %r1 = lshr " + as + " " + r +
            ", 64\n  %r2 = trunc " + as + " %r1 to i64\n";
  else
    text += "  %r0 = " + (bits == 64 ? "or i64 " + r + ", 0" : "zext " + as + " " + r + " to i64") +
            "\n  %r2 = or i64 0, 0\n";
  return text +
         "  store i64 %r0, ptr %out\n  %out1 = getelementptr i64, ptr %out, i64 1\n"
         "  store i64 %r2, ptr %out1\n  ret void\n";
}

std::string function_text(std::size_t number, const Sample& operation, bool expected) {
  const std::string& statements =
      expected && !operation.expected.empty() ? operation.expected : operation.statements;
  return "define void @f" + std::to_string(number) + "(ptr %in, ptr %out) {\nentry:\n" +
         read("x", 0, operation.type) + read("y", 2, operation.type) + read("z", 4, operation.type) +
         statements + written(operation.result) + "}\n";
}

template <class Printed>
std::string printed(const Printed& what) {
  std::string words;
  llvm::raw_string_ostream(words) << what;
  return words;
}

/// The functions' machine code, after a pass if there is one.
class Machine {
 public:
  Machine(const std::vector<Sample>& operations, const PassRun& pass, const InstructionTest& may_remain) {
    static const bool ready = [] {
      return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    }();
    EXPECT_TRUE(ready);
    std::string text;
    for (std::size_t k = 0; k < operations.size(); ++k) text += function_text(k, operations[k], !pass);
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::SMDiagnostic wrong;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, wrong, *context);
    if (!module) throw std::runtime_error(wrong.getMessage().str() + ": " + wrong.getLineContents().str());
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit_->getDataLayout());
    for (llvm::Function& f : *module)
      if (pass && !f.isDeclaration()) {
        const std::string before = printed(f);
        // LLVM keeps what it knows of a function only if nothing has changed.
        EXPECT_EQ(pass(f).areAllPreserved(), before == printed(f)) << before;
        check(f, operations[std::stoul(f.getName().drop_front().str())], may_remain);
      }
    EXPECT_FALSE(llvm::verifyModule(*module));
    llvm::cantFail(jit_->addIRModule({std::move(module), std::move(context)}));
    for (std::size_t k = 0; k < operations.size(); ++k)
      functions_.push_back(llvm::cantFail(jit_->lookup("f" + std::to_string(k))).toPtr<Function>());
  }

  Words operator()(std::size_t number, const std::array<Words, 3>& operands) const {
    Words result{};
    functions_[number](operands[0].data(), result.data());
    return result;
  }

 private:
  using Function = void (*)(const std::uint64_t*, std::uint64_t*);

  static void check(const llvm::Function& f, const Sample& operation, const InstructionTest& may_remain) {
    for (const llvm::Instruction& i : llvm::instructions(f)) {
      if (may_remain(i)) continue;
      ADD_FAILURE() << "left:" << printed(i) << "\nof " << operation.type << ":\n" << operation.statements;
    }
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::vector<Function> functions_;
};

bool is_nan(const std::string& type, const Words& words) {
  if (type == "float") return std::isnan(std::bit_cast<float>(std::uint32_t(words[0])));
  return type == "double" && std::isnan(std::bit_cast<double>(words[0]));
}

const std::vector<std::uint64_t>& edges() {
  static const std::vector<std::uint64_t> numbers = [] {
    std::vector<std::uint64_t> all{
        0x0123456789abcdef, 0xfedcba9876543210, 0x8000000000000001, 5, 6, 7, 31, 33, 63, 65};
    for (const unsigned bit : {0u, 1u, 4u, 7u, 8u, 12u, 15u, 16u, 23u, 24u, 31u, 32u, 47u, 62u, 63u})
      for (const std::uint64_t away : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
        all.push_back((std::uint64_t{1} << bit) + away);
    all.insert(all.end(), {~std::uint64_t{0}, ~std::uint64_t{1}, ~std::uint64_t{0} << 32});
    const std::set<std::uint64_t> once(all.begin(), all.end());
    return std::vector<std::uint64_t>(once.begin(), once.end());
  }();
  return numbers;
}

/// The bits of numbers at which conversions and roundings change.
template <class T, class Bits>
std::vector<std::uint64_t> real_edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> numbers{T(0),
                         L::denorm_min(),
                         L::min() - L::denorm_min(),
                         L::min(),
                         T(0.25),
                         T(0.5),
                         T(1),
                         T(1.5),
                         T(2.5),
                         T(3.5),
                         T(127.5),
                         T(254.5),
                         L::max(),
                         L::infinity(),
                         L::quiet_NaN(),
                         L::signaling_NaN()};
  for (const int exponent : {0, 1, 7, 8, 15, 16, 22, 23, 24, 31, 32, 51, 52, 53, 62, 63, 64, 65})
    for (const T away : {T(-1), T(-0.5), T(0), T(0.5), T(1)})
      numbers.push_back(std::ldexp(T(1), exponent) + away);
  for (const int exponent : {0, 31, 32, 63, 64})
    numbers.push_back(std::nextafter(std::ldexp(T(1), exponent), T(0)));
  numbers.push_back(std::nextafter(T(0.5), T(0)));
  std::vector<std::uint64_t> bits;
  for (const T number : numbers)
    for (const T sign : {T(1), T(-1)}) bits.push_back(std::bit_cast<Bits>(std::copysign(number, sign)));
  return bits;
}

std::vector<Words> operands_of(const std::string& type) {
  std::vector<Words> operands;
  if (type == "float") {
    for (const std::uint64_t bits : real_edges<float, std::uint32_t>()) operands.push_back({bits, 0});
  } else if (type == "double") {
    for (const std::uint64_t bits : real_edges<double, std::uint64_t>()) operands.push_back({bits, 0});
  } else {
    const std::vector<std::uint64_t>& all = edges();
    for (std::size_t k = 0; k < all.size(); ++k) {
      operands.push_back({all[k], all[(7 * k + 3) % all.size()]});
      if (bits_of(type) > 64) operands.push_back({all[(11 * k + 5) % all.size()], all[k]});
    }
  }
  return operands;
}

void compare_code(const std::vector<Sample>& operations, const PassRun& pass,
                  const InstructionTest& may_remain) {
  const Machine found(operations, pass, may_remain), expected(operations, {}, may_remain);
  for (std::size_t k = 0; k < operations.size(); ++k) {
    const Sample& operation = operations[k];
    const std::vector<Words> operands = operands_of(operation.type);
    const bool three = operation.statements.find("%z") != std::string::npos;
    int wrong = 0;
    for (std::size_t a = 0; a < operands.size(); ++a)
      for (std::size_t b = 0; b < operands.size(); ++b)
        for (std::size_t c = 0; c < (three ? operands.size() : 1u); c += 5) {
          const std::array<Words, 3> in{operands[a], operands[b], operands[c]};
          const Words is = found(k, in), should = expected(k, in);
          if (is == should || (is_nan(operation.result, is) && is_nan(operation.result, should))) continue;
          if (++wrong > 1) continue;
          ADD_FAILURE() << operation.type << " " << in[0][0] << ":" << in[0][1] << ", " << in[1][0] << ":"
                        << in[1][1] << ", " << in[2][0] << ": found " << is[0] << ":" << is[1]
                        << ", expected " << should[0] << ":" << should[1] << " of\n"
                        << operation.statements;
        }
  }
}

std::string call(const std::string& result, const std::string& name, const std::string& arguments) {
  return "  %r = call " + result + " @llvm." + name + "(" + arguments + ")\n";
}

PassRun run_of(auto pass) {
  return [pass](llvm::Function& f) mutable {
    llvm::FunctionAnalysisManager analyses;
    llvm::PassBuilder().registerFunctionAnalyses(analyses);
    return pass.run(f, analyses);
  };
}

/// Intrinsics of integers that have operands of one type.
std::vector<Sample> integer_intrinsics(unsigned bits, bool with_bytes) {
  const std::string t = integer(bits);
  const std::string x = t + " %x", xy = x + ", " + t + " %y", xyz = xy + ", " + t + " %z";
  std::vector<Sample> operations;
  for (const std::string name :
       {"smin", "smax", "umin", "umax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"})
    operations.push_back({t, call(t, name + "." + t, xy), t});
  for (const std::string name : {"fshl", "fshr"}) operations.push_back({t, call(t, name + "." + t, xyz), t});
  for (const std::string name : {"abs", "ctlz", "cttz"})
    operations.push_back({t, call(t, name + "." + t, x + ", i1 false"), t});
  for (const std::string name : {"ctpop", "bitreverse"})
    operations.push_back({t, call(t, name + "." + t, x), t});
  if (with_bytes && bits % 16 == 0) operations.push_back({t, call(t, "bswap." + t, x), t});
  for (const std::string name : {"ucmp", "scmp"})
    for (const std::string to : {"i8", "i32"})
      operations.push_back({t, call(to, name + "." + to + "." + t, xy), to});
  return operations;
}

bool is_call_of(const llvm::Instruction& i, std::initializer_list<llvm::Intrinsic::ID> wanted) {
  const auto* called = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return called && std::find(wanted.begin(), wanted.end(), called->getIntrinsicID()) != wanted.end();
}

/// Whether BasicOperations leaves an instruction.
bool is_basic(const llvm::Instruction& i) {
  if (!llvm::isa<llvm::IntrinsicInst>(i)) return true;
  if (i.getType()->isIntegerTy(32))
    return is_call_of(i, {llvm::Intrinsic::ctpop, llvm::Intrinsic::ctlz, llvm::Intrinsic::cttz,
                          llvm::Intrinsic::bitreverse});
  return is_call_of(i, {llvm::Intrinsic::fabs, llvm::Intrinsic::minimumnum, llvm::Intrinsic::maximumnum}) ||
         (i.getType()->isFloatTy() && is_call_of(i, {llvm::Intrinsic::trunc, llvm::Intrinsic::roundeven}));
}

TEST(BasicOperations, OfIntegersHaveTheBitsOfTheIntrinsics) {
  std::vector<Sample> operations;
  for (const unsigned bits : {8u, 16u, 32u, 64u}) {
    const std::vector<Sample> more = integer_intrinsics(bits, true);
    operations.insert(operations.end(), more.begin(), more.end());
    const std::string t = integer(bits);
    for (const std::string name : {"uadd", "usub", "sadd", "ssub", "umul"}) {
      const std::string both = "  %both = call {" + t + ", i1} @llvm." + name + ".with.overflow." + t + "(" +
                               t + " %x, " + t + " %y)\n";
      operations.push_back({t, both + "  %r = extractvalue {" + t + ", i1} %both, 0\n", t});
      operations.push_back({t, both + "  %r = extractvalue {" + t + ", i1} %both, 1\n", "i1"});
    }
    operations.push_back({t,
                          "  %e = call " + t + " @llvm.expect." + t + "(" + t + " %x, " + t +
                              " 3)\n  %r = add " + t + " %e, %y\n",
                          t});
  }
  compare_code(operations, run_of(codegen::BasicOperations()), is_basic);
}

TEST(BasicOperations, OfFloatsHaveTheBitsOfTheIntrinsics) {
  std::vector<Sample> operations;
  for (const std::string t : {"float", "double"}) {
    const std::string suffix = t == "float" ? "f32" : "f64", x = t + " %x";
    for (const std::string name : {"trunc", "roundeven", "round", "rint", "nearbyint"})
      operations.push_back({t, call(t, name + "." + suffix, x), t});
    operations.push_back({t, call(t, "copysign." + suffix, x + ", " + t + " %y"), t});
    operations.push_back({t, call(t, "fmuladd." + suffix, x + ", " + t + " %y, " + t + " %x"), t,
                          "  %p = fmul " + t + " %x, %y\n  %r = fadd " + t + " %p, %x\n"});
    for (const unsigned bits : {8u, 16u, 32u, 64u})
      for (const std::string name : {"fptosi", "fptoui"})
        operations.push_back(
            {t, call(integer(bits), name + ".sat." + integer(bits) + "." + suffix, x), integer(bits)});
    for (unsigned mask = 1; mask < 1024; mask += mask < 16 ? 1 : 37)
      operations.push_back(
          {t, call("i1", "is.fpclass." + suffix, x + ", i32 " + std::to_string(mask)), "i1"});
    for (unsigned bit = 1; bit < 1024; bit *= 2)
      operations.push_back({t, call("i1", "is.fpclass." + suffix, x + ", i32 " + std::to_string(bit)), "i1"});
  }
  compare_code(operations, run_of(codegen::BasicOperations()), is_basic);
}

TEST(BasicOperations, LeavesNoHints) {
  const std::string hints = R"(  %slot = alloca i64
  call void @llvm.lifetime.start.p0(ptr %slot)
  store i64 %x, ptr %slot
  call void @llvm.sideeffect()
  call void @llvm.donothing()
  %holds = icmp eq i64 %x, %x
  call void @llvm.assume(i1 %holds)
  %r = load i64, ptr %slot
  call void @llvm.lifetime.end.p0(ptr %slot)
)";
  compare_code({{"i64", hints, "i64"}}, run_of(codegen::BasicOperations()), is_basic);
}

/// Operations of LLVM's instructions, in which no result is undefined.
std::vector<Sample> integer_instructions(unsigned bits) {
  const std::string t = integer(bits);
  std::vector<Sample> operations;
  const auto binary = [&](const std::string& op, const std::string& y) {
    return "  %r = " + op + " " + t + " %x, " + y + "\n";
  };
  for (const std::string op : {"add", "sub", "mul", "and", "or", "xor"}) {
    operations.push_back({t, binary(op, "%y"), t});
    operations.push_back({t, binary(op, op == "and" ? "5" : "-3"), t});
  }
  for (const std::string op : {"shl", "lshr", "ashr"}) {
    std::set<unsigned> amounts{0, 1, bits / 2, bits - 1};
    for (const unsigned by : {31u, 32u, 33u, 63u, 64u, 65u})
      if (by < bits) amounts.insert(by);
    for (const unsigned by : amounts) operations.push_back({t, binary(op, std::to_string(by)), t});
    const std::string low = std::to_string(std::bit_floor(bits) - 1);
    operations.push_back({t, "  %by = and " + t + " %y, " + low + "\n" + binary(op, "%by"), t});
    if (bits > 96)
      operations.push_back(
          {t, "  %few = and " + t + " %y, 31\n  %by = or " + t + " %few, 64\n" + binary(op, "%by"), t});
    if (bits == 128) continue;
    // The result is extended, so that wrong bits above it show.
    operations.push_back({t,
                          "  %by = and " + t + " %y, 3\n  %s = " + op + " " + t + " %x, %by\n  %e = sext " +
                              t + " %s to " + integer(bits + 1) + "\n  %g = icmp slt " + integer(bits + 1) +
                              " %e, 0\n  %r = zext i1 %g to i64\n",
                          "i64"});
  }
  for (const std::string op : {"lshr", "ashr"})  // a shift that loses no bit would be undone
    operations.push_back({t, "  %s = " + op + " " + t + " %x, 3\n  %r = shl " + t + " %s, 3\n", t});
  for (const std::string condition : {"eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"}) {
    operations.push_back({t, "  %r = icmp " + condition + " " + t + " %x, %y\n", "i1"});
    operations.push_back(
        {t, "  %s = add " + t + " %x, %y\n  %r = icmp " + condition + " " + t + " %s, 7\n", "i1"});
    operations.push_back(
        {t, "  %s = sub " + t + " %x, %y\n  %r = icmp " + condition + " " + t + " %s, -7\n", "i1"});
  }
  const std::string condition = "  %c = icmp ult " + t + " %x, %y\n";
  operations.push_back(
      {t, condition + "  %s = select i1 %c, " + t + " %x, " + t + " %z\n  %r = add " + t + " %s, %y\n", t});
  operations.push_back(
      {t, condition + "  %s = select i1 %c, " + t + " -5, " + t + " %z\n  %r = xor " + t + " %s, %y\n", t});
  operations.push_back(
      {t, "  %s = mul " + t + " %x, %y\n  %f = freeze " + t + " %s\n  %r = lshr " + t + " %f, 1\n", t});
  operations.push_back({t, "  %u = and " + t + " undef, 0\n  %r = sub " + t + " %u, %y\n", t});
  operations.push_back({t, condition + "  %e = zext i1 %c to " + t + "\n  %r = sub " + t + " %x, %e\n", t});
  operations.push_back({t, condition + "  %e = sext i1 %c to " + t + "\n  %r = sub " + t + " %x, %e\n", t});
  operations.push_back({t, condition + "  %e = sext i1 %c to " + t + "\n  %r = lshr " + t + " %e, 1\n", t});
  operations.push_back({t, "  %s = mul " + t + " %x, %y\n  %r = trunc " + t + " %s to i1\n", "i1"});
  for (const unsigned to : {5u, 8u, 16u, 24u, 32u, 40u, 64u, 100u, 128u})
    for (const std::string op : {"zext", "sext", "trunc"}) {
      if (to == bits || (op == "trunc") != (to < bits)) continue;
      const std::string type = integer(to);
      operations.push_back(
          {t, "  %s = sub " + t + " %x, %y\n  %r = " + op + " " + t + " %s to " + type + "\n", type});
      operations.push_back(
          {t, "  %s = " + op + " " + t + " %x to " + type + "\n  %r = mul " + type + " %s, 3\n", type});
    }
  // The value of the loop's last round and of the one before.
  operations.push_back({t, R"(  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
  %p = phi T [%x, %entry], [%q, %loop]
  %o = phi T [-2, %entry], [%p, %loop]
  %q = add T %p, %y
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 5
  br i1 %more, label %loop, label %end
end:
  %a = xor T %q, %p
  %r = sub T %a, %o
)",
                        t});
  std::string& loop = operations.back().statements;
  for (std::size_t at; (at = loop.find(" T ")) != loop.npos;) loop.replace(at, 3, " " + t + " ");
  return operations;
}

/// Divisions, and conversions to floats, of integers of up to 64 bits.
std::vector<Sample> divisions(unsigned bits) {
  const std::string t = integer(bits);
  std::vector<Sample> operations;
  const std::string divisor = "  %m = and " + t + " %y, " +
                              std::to_string((std::uint64_t{1} << (bits - 2)) - 1) + "\n  %d = or " + t +
                              " %m, 3\n  %n = sub " + t + " 0, %d\n";
  for (const std::string op : {"udiv", "urem", "sdiv", "srem"})
    operations.push_back({t, "  %r = " + op + " " + t + " %x, 3\n", t});
  for (const std::string op : {"udiv", "urem", "sdiv", "srem"})
    for (const std::string by : {"%d", "%n"}) {
      operations.push_back({t, divisor + "  %r = " + op + " " + t + " %x, " + by + "\n", t});
      operations.push_back(
          {t, divisor + "  %q = " + op + " " + t + " %x, " + by + "\n  %r = sext " + t + " %q to i65\n",
           "i65"});
    }
  for (const std::string op : {"sitofp", "uitofp"}) {
    operations.push_back(
        {t, "  %s = add " + t + " %x, %y\n  %r = " + op + " " + t + " %s to double\n", "double"});
    operations.push_back({t, "  %r = " + op + " " + t + " %x to float\n", "float"});
  }
  return operations;
}

bool has_type_of_memory(const llvm::Type* type) {
  const unsigned bits = type->isIntegerTy() ? type->getIntegerBitWidth() : 64;
  return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

TEST(SplitIntegers, ComputesWhatIntegersWithoutATypeCompute) {
  std::vector<Sample> operations;
  const auto add = [&](const std::vector<Sample>& more) {
    operations.insert(operations.end(), more.begin(), more.end());
  };
  for (const unsigned bits : {5u, 12u, 24u, 33u, 63u, 65u, 96u, 128u}) add(integer_instructions(bits));
  for (const unsigned bits : {5u, 12u, 24u, 33u, 63u}) add(divisions(bits));
  compare_code(operations, run_of(codegen::SplitIntegers()), [](const llvm::Instruction& i) {
    return has_type_of_memory(i.getType()) && std::all_of(i.op_begin(), i.op_end(), [](const llvm::Use& use) {
             return has_type_of_memory(use->getType());
           });
  });
}

/// Whether WideIntegers leaves an instruction: what moves or converts a narrow integer, or has none.
bool is_wide(const llvm::Instruction& i) {
  const auto narrow = [](const llvm::Type* type) {
    return type->isIntegerTy() && !type->isIntegerTy(1) && type->getIntegerBitWidth() < 32;
  };
  if (llvm::isa<llvm::CastInst, llvm::StoreInst>(i)) return true;
  return !narrow(i.getType()) &&
         std::none_of(i.op_begin(), i.op_end(), [&](const llvm::Use& use) { return narrow(use->getType()); });
}

TEST(WideIntegers, ComputeWhatNarrowOnesCompute) {
  std::vector<Sample> operations;
  const auto add = [&](const std::vector<Sample>& more) {
    operations.insert(operations.end(), more.begin(), more.end());
  };
  for (const unsigned bits : {5u, 8u, 13u, 16u, 24u}) {
    add(integer_instructions(bits));
    add(divisions(bits));
    add(integer_intrinsics(bits, bits == 16));
    const std::string t = integer(bits);
    operations.push_back({t, R"(  %s = add T %x, %y
  switch T %s, label %none [
    T 1, label %one
    T -1, label %all
  ]
one:
  br label %end
all:
  br label %end
none:
  br label %end
end:
  %r = phi i64 [1, %one], [2, %all], [3, %none]
)",
                          "i64"});
    std::string& text = operations.back().statements;
    for (std::size_t at; (at = text.find("T ")) != text.npos;) text.replace(at, 2, t + " ");
  }
  for (const std::string t : {"float", "double"})
    for (const unsigned bits : {8u, 16u}) {
      const std::string suffix = (t == "float" ? ".f32" : ".f64"), to = integer(bits);
      for (const std::string name : {"fptosi", "fptoui"}) {
        operations.push_back({t, call(to, name + ".sat." + to + suffix, t + " %x"), to});
        const std::string few = t + " 3.0, " + t + " -2.0";
        operations.push_back({t,
                              "  %c = fcmp olt " + t + " %x, %y\n  %few = select i1 %c, " + t + " 3.0, " + t +
                                  " 100.0\n  %r = " + name + " " + t + " %few to " + to + "\n",
                              to});
      }
    }
  compare_code(operations, run_of(codegen::WideIntegers(codegen::WideIntegers::Conversions::plain)), is_wide);
}

/// Statements after which %`name` is the smaller or larger of two floats: a number before a NaN, -0 before
/// +0.
std::string ordered(const std::string& name, bool larger, const std::string& a, const std::string& b,
                    const std::string& t) {
  const std::string as = t == "float" ? "i32" : "i64", top = t == "float" ? "31" : "63", n = "%" + name + ".";
  std::string text;
  for (const auto& [key, v] : {std::pair{n + "a", a}, {n + "b", b}})
    text += "  " + key + "0 = bitcast " + t + " " + v + " to " + as + "\n  " + key + "1 = ashr " + as + " " +
            key + "0, " + top + "\n  " + key + "2 = lshr " + as + " " + key + "1, 1\n  " + key + "3 = xor " +
            as + " " + key + "0, " + key + "2\n  " + key + "4 = fcmp uno " + t + " " + v + ", 0.0\n";
  return text + "  " + n + "0 = icmp s" + (larger ? "gt " : "lt ") + as + " " + n + "a3, " + n + "b3\n  " +
         n + "1 = select i1 " + n + "0, " + t + " " + a + ", " + t + " " + b + "\n  " + n + "2 = select i1 " +
         n + "b4, " + t + " " + a + ", " + t + " " + n + "1\n  " + "%" + name + " = select i1 " + n + "a4, " +
         t + " " + b + ", " + t + " " + n + "2\n";
}

std::string extreme(const std::string& name, bool larger, const std::string& a, const std::string& b,
                    const std::string& t) {
  return "  %" + name + " = call " + t + " @llvm." + (larger ? "maximum" : "minimum") + "num." +
         (t == "float" ? "f32" : "f64") + "(" + t + " " + a + ", " + t + " " + b + ")\n";
}

std::string chosen(const std::string& name, const std::string& comparison, const std::string& yes,
                   const std::string& no, const std::string& t) {
  return "  %" + name + "c = fcmp " + comparison + "\n  %" + name + " = select i1 %" + name + "c, " + t +
         " " + yes + ", " + t + " " + no + "\n";
}

bool is_no_maximum(const llvm::Instruction& i) {
  return !is_call_of(i, {llvm::Intrinsic::maximumnum});
}

TEST(ClampByBits, ClampsAsMaximaAndSelectionsDo) {
  std::vector<Sample> kept, operations;
  for (const std::string t : {"float", "double"}) {
    const std::string by_one = chosen("m", "olt " + t + " %x, 1.0", "%x", "1.0", t);
    const std::string by_five = by_one + chosen("n", "olt " + t + " 5.0, %m", "5.0", "%m", t);
    for (const std::string& zero : {std::string("0.0"), std::string("-0.0")})
      for (const auto& [before, v] : {std::pair{by_one, std::string("%m")}, {by_five, "%n"}}) {
        operations.push_back(
            {t, before + extreme("r", true, v, zero, t), t, before + ordered("r", true, v, zero, t)});
        operations.push_back(
            {t, before + extreme("r", true, zero, v, t), t, before + ordered("r", true, zero, v, t)});
        for (const std::string& other : {std::string("0.0"), std::string("-0.0")}) {
          operations.push_back({t, before + chosen("r", "ogt " + t + " " + v + ", " + other, v, zero, t), t});
          operations.push_back({t, before + chosen("r", "olt " + t + " " + other + ", " + v, v, zero, t), t});
        }
        kept.push_back({t, before + chosen("r", "oge " + t + " " + v + ", " + zero, v, zero, t), t});
        kept.push_back({t, before + chosen("r", "ogt " + t + " " + v + ", " + zero, zero, v, t), t});
      }
    operations.push_back({t, extreme("r", true, "%x", "-0.0", t), t, ordered("r", true, "%x", "-0.0", t)});
    operations.push_back({t, chosen("r", "ogt " + t + " %x, -0.0", "%x", "-0.0", t), t});
    kept.push_back({t, chosen("r", "ogt " + t + " %x, 0.0", "%x", "0.0", t), t});
    for (const std::string to : {"i32", "i64"})
      operations.push_back(
          {t, by_one + call(to, "fptoui.sat." + to + (t == "float" ? ".f32" : ".f64"), t + " %m"), to});
  }
  compare_code(operations, run_of(codegen::ClampByBits()), is_no_maximum);
  compare_code(kept, run_of(codegen::ClampByBits()), is_no_maximum);
}

TEST(MinMaxBySelect, OrdersZerosAndDropsNans) {
  std::vector<Sample> operations;
  for (const std::string t : {"float", "double"})
    for (const bool larger : {false, true}) {
      for (const auto& [a, b] : std::initializer_list<std::pair<std::string, std::string>>{
               {"%x", "%y"}, {"%x", "3.0"}, {"3.0", "%x"}, {"%x", "0.0"}, {"-0.0", "%x"}, {"%x", "-0.0"}})
        operations.push_back({t, extreme("r", larger, a, b, t), t, ordered("r", larger, a, b, t)});
      const std::string vector = "<4 x " + t + ">";
      std::string text = "  %v0 = insertelement " + vector + " poison, " + t + " %x, i64 0\n";
      for (const std::string lane : {"1", "2", "3"})
        text += "  %v" + lane + " = insertelement " + vector + " %v" + std::to_string(std::stoi(lane) - 1) +
                ", " + t + " " +
                (lane == "1"   ? "%y"
                 : lane == "2" ? "%z"
                               : "%x") +
                ", i64 " + lane + "\n";
      operations.push_back({t,
                            text + call(t,
                                        std::string("vector.reduce.f") + (larger ? "max" : "min") + ".v4" +
                                            (t == "float" ? "f32" : "f64"),
                                        vector + " %v3"),
                            t, ordered("m", larger, "%x", "%y", t) + ordered("r", larger, "%m", "%z", t)});
    }
  compare_code(operations, run_of(codegen::MinMaxBySelect()),
               [](const llvm::Instruction& i) { return !llvm::isa<llvm::IntrinsicInst>(i); });
}

TEST(OrderedSelects, CompareWithZerosIncludingEquality) {
  std::vector<Sample> zeros, others;
  for (const std::string t : {"float", "double"})
    for (const std::string predicate : {"olt", "ogt", "ult", "ugt"}) {
      for (const std::string& zero : {std::string("0.0"), std::string("-0.0")}) {
        for (const std::string& compared :
             {predicate + " " + t + " %x, " + zero, predicate + " " + t + " " + zero + ", %x"}) {
          zeros.push_back({t, chosen("r", compared, "%x", zero, t), t});
          zeros.push_back({t, chosen("r", compared, zero, "%x", t), t});
          others.push_back({t, chosen("r", compared, "%x", "%y", t), t});
          others.push_back({t, chosen("r", compared, zero, "%y", t), t});
        }
      }
      others.push_back({t, chosen("r", predicate + " " + t + " %x, 1.0", "%x", "1.0", t), t});
      others.push_back({t, chosen("r", predicate + " " + t + " %x, %y", "%x", "%y", t), t});
    }
  for (const std::string predicate : {"oeq", "one", "ole", "oge", "ule", "uge", "ord", "uno"})
    others.push_back({"float", chosen("r", predicate + " float %x, 0.0", "%x", "0.0", "float"), "float"});
  compare_code(zeros, run_of(codegen::OrderedSelects()), [](const llvm::Instruction& i) {
    const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&i);
    return !compare || (compare->getPredicate() != llvm::CmpInst::FCMP_OLT &&
                        compare->getPredicate() != llvm::CmpInst::FCMP_OGT &&
                        compare->getPredicate() != llvm::CmpInst::FCMP_ULT &&
                        compare->getPredicate() != llvm::CmpInst::FCMP_UGT);
  });
  const PassRun pass = run_of(codegen::OrderedSelects());
  compare_code(
      others,
      [&](llvm::Function& f) {
        const std::string before = printed(f);
        const llvm::PreservedAnalyses kept = pass(f);
        EXPECT_EQ(before, printed(f));
        return kept;
      },
      [](const llvm::Instruction&) { return true; });
}

TEST(IntegerSelects, SelectTheBitsOfFloats) {
  std::vector<Sample> operations;
  for (const auto& [a, b] : {std::pair{"-1.0", "-0.0"}, {"-0.0", "3.0"}, {"-0.0", "0.0"}})
    operations.push_back({"float", chosen("r", "olt float %x, %y", a, b, "float"), "float"});
  compare_code(operations, run_of(codegen::IntegerSelects()), [](const llvm::Instruction& i) {
    return !llvm::isa<llvm::SelectInst>(i) || i.getType()->isIntegerTy(32);
  });
  compare_code({{"float", chosen("r", "olt float %x, %y", "-1.0", "0.0", "float"), "float"},
                {"float", chosen("r", "olt float %x, %y", "%x", "-0.0", "float"), "float"},
                {"double", chosen("r", "olt double %x, %y", "-1.0", "-0.0", "double"), "double"}},
               run_of(codegen::IntegerSelects()), [](const llvm::Instruction& i) {
                 return !llvm::isa<llvm::SelectInst>(i) || !i.getType()->isIntegerTy();
               });
}

TEST(SignsByBits, AreIntegersWhereBitsAreRead) {
  std::vector<Sample> operations, kept;
  for (const std::string t : {"float", "double"}) {
    const std::string as = t == "float" ? "i32" : "i64";
    const std::string absolute =
        "  %a = call " + t + " @llvm.fabs." + (t == "float" ? "f32" : "f64") + "(" + t + " %x)\n";
    const std::string negation = "  %a = fneg " + t + " %x\n",
                      read = "  %r = bitcast " + t + " %b to " + as + "\n";
    for (const std::string& first : {absolute, negation}) {
      operations.push_back({t, first + "  %r = bitcast " + t + " %a to " + as + "\n", as});
      operations.push_back({t, first + "  %b = freeze " + t + " %a\n" + read, as});
      operations.push_back({t, first + chosen("b", "olt " + t + " %y, 0.0", "%a", "%y", t) + read, as});
      kept.push_back({t, first + "  %r = fcmp olt " + t + " %a, 2.0\n", "i1"});
    }
  }
  const auto is_sign = [](const llvm::Instruction& i) {
    return i.getOpcode() == llvm::Instruction::FNeg || is_call_of(i, {llvm::Intrinsic::fabs});
  };
  compare_code(operations, run_of(codegen::SignsByBits()),
               [&](const llvm::Instruction& i) { return !is_sign(i); });
  compare_code(kept, run_of(codegen::SignsByBits()), [](const llvm::Instruction& i) {
    return i.getOpcode() != llvm::Instruction::Xor && i.getOpcode() != llvm::Instruction::And;
  });
}

TEST(MultiplyAdds, KeepTheBitsOfIntegersAndRoundOnce) {
  std::vector<Sample> operations;
  for (const std::string t : {"i32", "i64"}) {
    const auto line = [&](const std::string& name, const std::string& op, const std::string& a,
                          const std::string& b) {
      return "  %" + name + " = " + op + " " + t + " " + a + ", " + b + "\n";
    };
    operations.push_back({t, line("s", "add", "%x", "1") + line("r", "mul", "%s", "%y"), t});
    operations.push_back({t, line("s", "add", "%x", "1") + line("r", "mul", "%y", "%s"), t});
    operations.push_back({t, line("s", "add", "%x", "2") + line("r", "mul", "%s", "%y"), t});
    for (const std::string order : {"%x, %y", "%y, %x"})
      operations.push_back({t,
                            "  %p = mul " + t + " " + order + "\n" + line("s", "add", "%x", "%z") +
                                line("q", "mul", "%s", "%y") + line("r", "xor", "%p", "%q"),
                            t});
    // The product belongs to a path that need not be taken.
    operations.push_back({t,
                          "  %c = icmp slt " + t + " %x, 5\n  br i1 %c, label %some, label %end\nsome:\n" +
                              line("p", "mul", "%x", "%y") + "  br label %end\nend:\n  %v = phi " + t +
                              " [%p, %some], [7, %entry]\n" + line("s", "add", "%x", "%z") +
                              line("q", "mul", "%s", "%y") + line("r", "xor", "%v", "%q"),
                          t});
  }
  compare_code(operations, run_of(codegen::MultiplyAdds()), [](const llvm::Instruction&) { return true; });
  operations.clear();
  for (const std::string t : {"float", "double"}) {
    const std::string product = "  %p = fmul contract " + t + " %x, %y\n", minus = "  %n = fneg " + t + " ";
    const auto fused = [&](const std::string& a, const std::string& c) {
      return call(t, std::string("fma.") + (t == "float" ? "f32" : "f64"),
                  t + " " + a + ", " + t + " %y, " + t + " " + c);
    };
    operations.push_back({t, product + "  %r = fadd contract " + t + " %p, %z\n", t, fused("%x", "%z")});
    operations.push_back({t, product + "  %r = fadd contract " + t + " %z, %p\n", t, fused("%x", "%z")});
    operations.push_back(
        {t, product + "  %r = fsub contract " + t + " %p, %z\n", t, minus + "%z\n" + fused("%x", "%n")});
    operations.push_back(
        {t, product + "  %r = fsub contract " + t + " %z, %p\n", t, minus + "%x\n" + fused("%n", "%z")});
  }
  compare_code(operations, run_of(codegen::MultiplyAdds()), [](const llvm::Instruction& i) {
    return i.getOpcode() != llvm::Instruction::FAdd && i.getOpcode() != llvm::Instruction::FSub;
  });
  compare_code(
      {{"float",
        "  %p = fmul contract float %x, %y\n  %s = fadd contract float %p, %z\n  %r = fdiv float %s, %p\n",
        "float"},
       {"float", "  %p = fmul float %x, %y\n  %r = fadd float %p, %z\n", "float"},
       {"float", "  %p = fmul contract float %x, %y\n  %r = fadd float %p, %z\n", "float"}},
      run_of(codegen::MultiplyAdds()),
      [](const llvm::Instruction& i) { return !is_call_of(i, {llvm::Intrinsic::fma}); });
}

// A division that would trap is in a branch that is not taken.
TEST(InvariantDivisions, LeaveTheLoopWithoutATrap) {
  std::vector<Sample> operations;
  for (const unsigned bits : {32u, 64u})
    for (const std::string op : {"udiv", "urem", "sdiv", "srem"}) {
      const std::string t = integer(bits), least = bits == 32 ? "-2147483648" : "-9223372036854775808";
      const std::string is_least = op[0] == 's' ? "  %b1 = icmp eq T %x, LEAST\n  %b2 = icmp eq T %y, -1\n"
                                                : "  %b1 = icmp ne T 0, 0\n  %b2 = icmp eq T 0, 0\n";
      std::string text =
          "  br label %loop\nloop:\n  %k = phi i64 [0, %entry], [%k1, %next]\n"
          "  %s = phi T [0, %entry], [%s1, %next]\n  %b0 = icmp eq T %y, 0\n" +
          is_least +
          "  %b3 = and i1 %b1, %b2\n  %bad = or i1 %b0, %b3\n  br i1 %bad, label %next, label %divides\n"
          "divides:\n  %dividend = add T %x, 0\n  %q = OP T %dividend, %y\n  br label %next\n"
          "next:\n  %v = phi T [%q, %divides], [7, %loop]\n  %s1 = add T %s, %v\n  %k1 = add i64 %k, 1\n"
          "  %more = icmp ult i64 %k1, 3\n  br i1 %more, label %loop, label %end\nend:\n  %r = add T %s1, "
          "0\n";
      for (const auto& [from, to] : {std::pair{std::string(" T "), " " + t + " "},
                                     {std::string("LEAST"), least},
                                     {std::string("OP"), op}})
        for (std::size_t at; (at = text.find(from)) != text.npos;) text.replace(at, from.size(), to);
      operations.push_back({t, text, t});
    }
  compare_code(operations, run_of(codegen::InvariantDivisions()), [](const llvm::Instruction& i) {
    return i.getParent()->getName() != "divides" || i.isTerminator();
  });
}

}  // namespace
}  // namespace weir::test
