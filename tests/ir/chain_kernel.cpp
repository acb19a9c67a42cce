// SPDX-License-Identifier: Apache-2.0
#include "chain_kernel.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::test {

namespace {

using Names = std::vector<std::string>;

struct Array {
  std::string name, type;
  int shape;  // 0: (n), 1: (n, k), 2: (k, n), 3: counters
  std::uint32_t memory;
};

class Chain {
 public:
  explicit Chain(Choices& choices) : c_(choices) {}

  ChainKernel run() {
    static constexpr std::int64_t sizes[] = {1, 2, 5, 17, 4000, 256, 600, 700};
    n_ = sizes[c_.below(8)];
    k_ = 1 + static_cast<std::int64_t>(c_.below(4));
    check_bounds_ = c_.chance(12);
    parameters();
    std::string body =
        "%zero = const 0 : i64\n%one = const 1 : i64\n%two = const 2 : i64\n%three = const 3 : i64\n"
        "%n = extent @p0, 0 : i64\n%k = arg @k : i64\n%far = arg @far : i64\n";
    for (std::size_t loops = 2 + c_.below(7); loops > 0; --loops) body += top();
    std::string text = "weir-ir 1\nkernel \"chain\"";
    if (check_bounds_) text += " check_bounds";
    text += "\n";
    for (const Array& a : arrays_)
      text += "param @" + a.name + " : array<" + a.type + ", " + (a.shape == 1 || a.shape == 2 ? "2" : "1") +
              ">\n";
    out_.text = text + "param @apart : array<f32, 1>\nparam @k : i64\nparam @far : i64\n{\n" + body + "}\n";
    out_.memory.push_back(static_cast<std::uint32_t>(arrays_.size()));
    out_.extents.push_back({n_});
    out_.extents.resize(arrays_.size() + 3);
    return std::move(out_);
  }

  std::int64_t k() const { return k_; }

 private:
  void parameters() {
    add("f32", 0);
    add("i32", 3);
    for (std::size_t more = 3 + c_.below(4); more > 0; --more) {
      static constexpr const char* types[] = {"f32", "vec<f32, 3>", "i32", "f64", "vec<f32, 3>"};
      const int shape = static_cast<int>(c_.below(3));
      add(types[c_.below(5)], shape);
      if (!c_.chance(16)) continue;
      add(arrays_.back().type, shape);
      arrays_.back().memory = static_cast<std::uint32_t>(arrays_.size() - 2);
      out_.memory.back() = arrays_.back().memory;
    }
  }

  void add(const std::string& type, int shape) {
    const auto number = static_cast<std::uint32_t>(arrays_.size());
    arrays_.push_back({"p" + std::to_string(number), type, shape, number});
    out_.memory.push_back(number);
    out_.extents.push_back(shape == 1   ? std::vector{n_, k_}
                           : shape == 2 ? std::vector{k_, n_}
                           : shape == 3 ? std::vector<std::int64_t>{5}
                                        : std::vector{n_});
    if (c_.chance(5)) out_.shifted.push_back(number);
  }

  std::string fresh(const std::string& stem) { return "%" + stem + std::to_string(next_++); }
  std::string line(std::string& code, const std::string& stem, const std::string& operation) {
    const std::string name = fresh(stem);
    code += name + " = " + operation + "\n";
    return name;
  }

  // ---- the chain

  std::string top() {
    switch (c_.below(14)) {
      case 0:
      case 1:
      case 2:
        return reduction();
      case 3:
        return between();
      case 4: {
        if (nested_) return loop();
        nested_ = true;
        std::string code = region();
        nested_ = false;
        return code;
      }
      case 5:
        return repeat();
      default:
        return loop();
    }
  }

  /// A chain of loops as a stream block, beside another one, or alone, which dissolves the region.
  std::string region() {
    const Names outside = known_;
    std::string chain;
    for (std::size_t loops = 1 + c_.below(4); loops > 0; --loops) chain += top();
    known_ = outside;
    if (c_.chance(4)) return "region {\n" + chain + "}\n";
    std::string fill;
    const std::string index = fresh("i");
    const std::string value = line(fill, "f", "cast " + index + " : f32");
    return "region {\n" + chain + "} and {\nparallel (" + index + ") in (%zero to %n) {\n" + fill +
           "store @apart[" + index + "], " + value + "\n}\n}\n";
  }

  /// A number of times that the host knows, or that the device computes, or while a condition holds.
  std::string repeat() {
    const bool outer = nested_;
    const std::size_t depth = repeats_++;
    nested_ = true;
    std::string code, count;
    switch (depth == 0 ? c_.below(6) : c_.below(3)) {
      case 0:
        count = c_.chance(3) ? "%zero" : "%one";
        break;
      case 1:
        count = c_.chance(2) ? "%two" : "%three";
        break;
      case 2:
        count = line(code, "m", "min %k, %three : i64");
        break;
      default: {
        const std::string loaded = line(code, "m", "load @p1[%one] : i32");
        const std::string wide = line(code, "m", "cast " + loaded + " : i64");
        const std::string few = line(code, "m", "rem " + wide + ", %three : i64");
        count = c_.chance(2) ? few : line(code, "m", "add " + few + ", %one : i64");
      }
    }
    const bool conditional = c_.chance(3);
    const std::string number = fresh("q"), local = "$w" + std::to_string(next_++);
    const Names outside = known_;
    code += "local " + local + " : f32\nrepeat (" + number + ") to " + count;
    if (conditional) {
      std::string condition;
      const std::string so_far = line(condition, "g", "get " + local + " : f32");
      const std::string limit = line(condition, "m", "const " + std::to_string(c_.below(4)) + " : f32");
      if (c_.chance(3)) condition += reduction();
      const std::string holds = line(condition, "c", "le " + so_far + ", " + limit + " : bool");
      code += " while {\n" + condition + "yield " + holds + "\n} do";
      known_ = outside;
    }
    std::string body;
    if (c_.chance(2)) known_.push_back(line(body, "f", "cast " + number + " : f32"));
    if (c_.chance(2)) known_.push_back(line(body, "g", "get " + local + " : f32"));
    for (std::size_t loops = 1 + c_.below(3); loops > 0; --loops) body += depth < 2 ? top() : loop();
    const std::string before = line(body, "g", "get " + local + " : f32");
    const std::string after = line(body, "g", "const 1 : f32");
    body += "set " + local + ", " + line(body, "g", "add " + before + ", " + after + " : f32") + "\n";
    code += " {\n" + body + "}\n";
    known_ = outside;
    if (c_.chance(2)) known_.push_back(line(code, "g", "get " + local + " : f32"));
    nested_ = outer;
    --repeats_;
    return code;
  }

  std::string between() {
    std::string code;
    if (c_.chance(2)) {
      line(code, "u", "add %n, %one : i64");
      return code;
    }
    const std::string value = line(code, "s", "const 3 : f32");
    code += "store @p0[%zero], " + value + "\n";
    return code;
  }

  std::string reduction() {
    std::string code;
    const std::string index = fresh("i");
    std::string body;
    const Names outside = known_;
    counts_ = c_.chance(2);
    space_ = {index};
    shape_ = 0;
    written_.clear();
    if (c_.chance(2)) statements(body, 1);
    const std::string value = real(body);
    const std::string result = fresh("r");
    code += result + " = reduce." + (c_.chance(2) ? "max" : "sum") + " (" + index +
            ") in (%zero to %n) : f32 {\n" + body + "yield " + value + "\n}\n";
    known_ = outside;
    known_.push_back(result);
    if (c_.chance(2)) code += "store @p0[%zero], " + result + "\n";
    return code;
  }

  std::string loop() {
    const Names outside = known_;
    shape_ = c_.chance(2) ? last_shape_ : static_cast<int>(c_.below(3));
    last_shape_ = shape_;
    static constexpr const char* spaces[] = {"(%zero to %n)", "(%zero to %n, %zero to %k)",
                                             "(%zero to %k, %zero to %n)"};
    space_.clear();
    for (int d = 0; d < (shape_ == 0 ? 1 : 2); ++d) space_.push_back(fresh("i"));
    written_.clear();
    counts_ = c_.chance(2);
    for (int writes = 1 + static_cast<int>(c_.below(2)); writes > 0; --writes) {
      const Array& a = arrays_[c_.below(arrays_.size())];
      if (a.shape != 3) written_.push_back(a.memory);
    }
    std::string body;
    if (c_.chance(4)) leave(body);
    if (c_.chance(20)) check(body);
    statements(body, 2 + c_.below(3));
    if (c_.chance(3)) overwrite(body);
    write_own(body);
    std::string indices = space_[0] + (space_.size() > 1 ? ", " + space_[1] : "");
    const std::string bounds = c_.chance(12) && shape_ == 0 ? "(%one to %n)" : spaces[shape_];
    known_ = outside;
    return "parallel (" + indices + ") in " + bounds + " {\n" + body + "}\n";
  }

  void leave(std::string& code) {
    const std::string limit = line(code, "c", "lt " + space_[0] + ", %two : bool");
    code += "if " + limit + " {\n" + "continue\n}\n";
  }
  void check(std::string& code) {
    const std::string ok = line(code, "c", "lt " + space_[0] + ", %far : bool");
    code += "assert " + ok + ", \"near\"\n";
  }

  void statements(std::string& code, std::size_t count) {
    for (; count > 0; --count) switch (c_.below(8)) {
        case 0: {  // under a condition
          const std::string condition = line(code, "c", "lt " + real(code) + ", " + real(code) + " : bool");
          code += "if " + condition + " {\n";
          const Names known = known_;
          statements(code, 1);
          write_own(code);
          known_ = known;
          code += "}\n";
          break;
        }
        case 1: {  // a sum in a variable
          const std::string local = "$v" + std::to_string(next_++);
          code += "local " + local + " : f32\n";
          const std::string j = fresh("j");
          code += "for " + j + " = %zero to %k step %one {\n";
          const Names known = known_;
          std::string inside;
          const std::string sum = line(inside, "g", "get " + local + " : f32");
          const std::string added = line(inside, "a", "add " + sum + ", " + real(inside) + " : f32");
          code += inside + "set " + local + ", " + added + "\n";
          if (c_.chance(4)) {
            const std::string stop = line(code, "c", "gt " + added + ", " + added + " : bool");
            code += "if " + stop + " {\n" + (c_.chance(2) ? "break" : "continue") + "\n}\n";
          }
          known_ = known;
          code += "}\n";
          line(code, "g", "get " + local + " : f32");
          break;
        }
        case 2:
          count_up(code);
          break;
        case 3:
          known_.push_back(random(code));
          break;
        case 4:
          constant_loop(code, false);
          break;
        default:
          known_.push_back(real(code));
          break;
      }
  }

  /// A sum over a constant number of iterations, which merged loops write out. A loop inside it has the index
  /// as one of its bounds.
  void constant_loop(std::string& code, bool inside) {
    const std::uint64_t most = inside || n_ > 1000 ? 3 : n_ > 100 ? 6 : 18;  // more than are written out
    const bool over_row = c_.chance(2);
    const auto low = static_cast<std::int64_t>(over_row ? 0 : c_.below(3));
    const std::int64_t count =
        over_row ? k_ : static_cast<std::int64_t>(c_.chance(4) ? c_.below(2) : c_.below(most + 1));
    const auto constant = [&](std::int64_t value) {
      return line(code, "x", "const " + std::to_string(value) + " : i64");
    };
    std::string first = constant(low), last = constant(low + count);
    if (c_.chance(3)) last = line(code, "x", "add " + first + ", " + constant(count) + " : i64");
    const bool triangular = inside && !outer_index_.empty();
    if (triangular) (c_.chance(2) ? first : last) = outer_index_;
    const std::string local = "$v" + std::to_string(next_++), j = fresh("j");
    code += "local " + local + " : f32\nfor " + j + " = " + first + " to " + last + " step %one {\n";
    const Names known = known_;
    const std::string outer_index = std::exchange(outer_index_, j), row_index = row_index_;
    if (over_row && !triangular) row_index_ = j;
    known_.push_back(line(code, "f", "cast " + j + " : f32"));
    if (c_.chance(4)) {  // 0 in each iteration
      const std::string own = "$v" + std::to_string(next_++);
      code += "local " + own + " : f32\n";
      const std::string zero = line(code, "g", "get " + own + " : f32");
      code += "set " + own + ", " + line(code, "a", "add " + zero + ", " + real(code) + " : f32") + "\n";
      known_.push_back(line(code, "g", "get " + own + " : f32"));
    }
    if (!inside && c_.chance(2)) constant_loop(code, true);
    if (c_.chance(3)) write_own(code);
    if (c_.chance(3)) reread(code);
    if (c_.chance(6)) count_up(code);
    if (c_.chance(4)) {
      const std::string condition = line(code, "c", "lt " + real(code) + ", " + real(code) + " : bool");
      code += "if " + condition + " {\n";
      const Names outside = known_;
      write_own(code);
      known_ = outside;
      if (c_.chance(4)) code += c_.chance(2) ? "break\n" : "continue\n";
      code += "}\n";
    }
    add_to(code, local, real(code));
    known_ = known;
    outer_index_ = outer_index;
    row_index_ = row_index;
    code += "}\n";
    known_.push_back(line(code, "g", "get " + local + " : f32"));
  }

  void add_to(std::string& code, const std::string& local, const std::string& value) {
    const std::string sum = line(code, "g", "get " + local + " : f32");
    code += "set " + local + ", " + line(code, "a", "add " + sum + ", " + value + " : f32") + "\n";
  }

  /// Stores that the loop replaces later. In between, something may read them or end the iteration.
  void overwrite(std::string& code) {
    lane_ = c_.below(3);
    write_own(code);
    switch (c_.below(9)) {
      case 6:
      case 7:
        reread(code);
        break;
      case 1: {
        const std::string local = "$v" + std::to_string(next_++);
        code += "local " + local + " : f32\n";
        const std::string condition = line(code, "c", "lt " + real(code) + ", " + real(code) + " : bool");
        code += "if " + condition + " {\n";
        const Names known = known_;
        reread(code);
        add_to(code, local, known_.empty() ? real(code) : known_.back());
        known_ = known;
        code += "}\n";
        known_.push_back(line(code, "g", "get " + local + " : f32"));
        break;
      }
      case 2:
        count_up(code);
        break;
      case 3:
        leave(code);
        break;
      case 4:
        if (c_.chance(4)) check(code);
        break;
      case 5:
        constant_loop(code, false);
        break;
      default:
        break;
    }
    write_own(code);
    lane_.reset();
  }

  void count_up(std::string& code) {
    if (!counts_) return;
    const std::string value = line(code, "n", "cast " + space_[0] + " : i32");
    const std::string five = line(code, "n", "const 5 : i64");
    const std::string place = line(code, "n", "rem " + space_.back() + ", " + five + " : i64");
    line(code, "o", "atomic.add @p1[" + (c_.chance(2) ? place : "%zero") + "], " + value + " : i32");
  }

  std::string random(std::string& code) {
    const std::string key = line(code, "k", "launch_key : u64"),
                      low = line(code, "k", "cast " + key + " : u32");
    const std::string at = line(code, "k", "cast " + space_[0] + " : u32");
    const std::string word = line(code, "k",
                                  "philox." + std::to_string(c_.below(4)) + " " + low + ", " + low + ", " +
                                      at + ", " + at + ", " + low + ", " + low + " : u32");
    const std::string small = line(code, "k", "shr " + word + ", " + word + " : u32");
    return line(code, "k", "cast " + small + " : f32");
  }

  // ---- elements

  std::string own_n() const { return shape_ == 2 ? space_[1] : space_[0]; }
  std::string own_k() const { return shape_ == 1 ? space_[1] : shape_ == 2 ? space_[0] : ""; }

  std::string some_n(std::string& code) {
    switch (c_.below(9)) {
      case 0: {
        const std::string next = line(code, "x", "add " + own_n() + ", %one : i64");
        return line(code, "x", "rem " + next + ", %n : i64");
      }
      case 1:
        return line(code, "x", "div " + own_n() + ", %two : i64");
      case 2:
        return "%zero";
      case 3:
        return line(code, "x", "rem " + own_n() + ", %two : i64");
      case 4: {
        const std::string last = line(code, "x", "sub %n, %one : i64");
        return line(code, "x", "sub " + last + ", " + own_n() + " : i64");
      }
      case 5: {
        const std::string back = line(code, "x", "sub " + own_n() + ", %one : i64");
        return line(code, "x", "max " + back + ", %zero : i64");
      }
      case 6: {
        const std::string away = line(code, "x", "add " + own_n() + ", %far : i64");
        return line(code, "x", "sub " + away + ", %far : i64");
      }
      default:
        return own_n();
    }
  }

  std::string some_k(std::string& code) {
    if (!own_k().empty() && !c_.chance(3)) return own_k();
    if (!row_index_.empty() && !c_.chance(3)) return row_index_;
    if (c_.chance(2)) return "%zero";
    return line(code, "x", "sub %k, %one : i64");
  }

  bool writes(const Array& a) const {
    return std::find(written_.begin(), written_.end(), a.memory) != written_.end();
  }

  std::string place(std::string& code, const Array& a, bool own) {
    const std::string n = own ? own_n() : some_n(code);
    const std::string k = !own || own_k().empty() ? some_k(code) : own_k();
    return a.shape == 0 ? "[" + n + "]" : a.shape == 1 ? "[" + n + ", " + k + "]" : "[" + k + ", " + n + "]";
  }

  static bool is_vector(const Array& a) { return a.type[0] == 'v'; }
  static std::string scalar(const Array& a) { return is_vector(a) ? "f32" : a.type; }
  std::string lane(const Array& a) {
    return is_vector(a) ? "." + std::to_string(lane_.value_or(c_.below(3))) : "";
  }

  // Iterations own an element of an array, or a row where they have one index.
  bool owns(const Array& a) const { return a.shape == 0 ? shape_ == 0 : a.shape != 3; }

  /// A value of type f32.
  std::string real(std::string& code) {
    if (!known_.empty() && c_.chance(3)) return known_[c_.below(known_.size())];
    const Array& a = arrays_[c_.below(arrays_.size())];
    if (a.shape == 3 && !counts_) {
      const std::string counted = line(code, "l", "load @" + a.name + "[%zero] : i32");
      return line(code, "f", "cast " + counted + " : f32");
    }
    if (a.shape == 3 || n_ == 1 || (writes(a) && !owns(a))) {
      const std::string i = line(code, "f", "cast " + space_[0] + " : f32");
      return c_.chance(2) ? i : line(code, "f", "mul " + i + ", " + i + " : f32");
    }
    const std::string at = place(code, a, writes(a));
    const std::string loaded = line(code, "l", "load @" + a.name + at + lane(a) + " : " + scalar(a));
    const std::string f = scalar(a) == "f32" ? loaded : line(code, "f", "cast " + loaded + " : f32");
    return c_.chance(4) ? line(code, "f", "math.sqrt " + f + " : f32") : f;
  }

  void reread(std::string& code) {
    for (const Array& a : arrays_) {
      if (!writes(a) || !owns(a)) continue;
      const std::string loaded =
          line(code, "l", "load @" + a.name + place(code, a, true) + lane(a) + " : " + scalar(a));
      known_.push_back(scalar(a) == "f32" ? loaded : line(code, "f", "cast " + loaded + " : f32"));
    }
  }

  void write_own(std::string& code) {
    for (const Array& a : arrays_) {
      if (!writes(a) || !owns(a)) continue;
      std::string value = line(code, "w", "add " + real(code) + ", " + real(code) + " : f32");
      if (scalar(a) != "f32") value = line(code, "w", "cast " + value + " : " + scalar(a));
      code += "store @" + a.name + place(code, a, true) + lane(a) + ", " + value + "\n";
    }
  }

  Choices& c_;
  ChainKernel out_;
  std::int64_t n_ = 1, k_ = 1;
  bool check_bounds_ = false, nested_ = false;
  std::vector<Array> arrays_;
  Names known_;  // values of type f32
  Names space_;
  std::size_t repeats_ = 0;  // around the current statement
  int shape_ = 0, last_shape_ = 0;
  bool counts_ = false;              // the loop changes the counters, and so does not read them
  std::optional<std::size_t> lane_;  // of vectors, while stores should replace one another
  std::string outer_index_;          // of the constant loop around the statement
  std::string row_index_;            // likewise, if it is an index of each row
  std::vector<std::uint32_t> written_;
  std::size_t next_ = 0;
};

}  // namespace

ChainKernel chain_kernel(Choices& choices) {
  return Chain(choices).run();
}

}  // namespace weir::test
