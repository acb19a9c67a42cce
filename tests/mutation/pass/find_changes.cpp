// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include "changes.hpp"

namespace weir::mutation {

using namespace llvm;

const char* name_of(Kind kind) {
  static constexpr const char* names[] = {"call",       "result",   "compare", "branch",
                                          "arithmetic", "constant", "store",   "case"};
  return names[static_cast<unsigned>(kind)];
}

namespace {

using Make = decltype(Change::make);

std::string text_of(const Constant& constant) {
  if (constant.getType()->isIntegerTy(1)) return constant.isNullValue() ? "false" : "true";
  std::string text;
  raw_string_ostream out(text);
  if (const auto* integer = dyn_cast<ConstantInt>(&constant)) {
    integer->getValue().print(out, true);
  } else {
    constant.printAsOperand(out, false);
  }
  return text;
}

const char* sign_of(CmpInst::Predicate predicate) {
  switch (predicate) {
    case CmpInst::ICMP_EQ:
    case CmpInst::FCMP_OEQ:
    case CmpInst::FCMP_UEQ:
      return "==";
    case CmpInst::ICMP_NE:
    case CmpInst::FCMP_ONE:
    case CmpInst::FCMP_UNE:
      return "!=";
    case CmpInst::ICMP_UGT:
    case CmpInst::ICMP_SGT:
    case CmpInst::FCMP_OGT:
    case CmpInst::FCMP_UGT:
      return ">";
    case CmpInst::ICMP_UGE:
    case CmpInst::ICMP_SGE:
    case CmpInst::FCMP_OGE:
    case CmpInst::FCMP_UGE:
      return ">=";
    case CmpInst::ICMP_ULT:
    case CmpInst::ICMP_SLT:
    case CmpInst::FCMP_OLT:
    case CmpInst::FCMP_ULT:
      return "<";
    case CmpInst::ICMP_ULE:
    case CmpInst::ICMP_SLE:
    case CmpInst::FCMP_OLE:
    case CmpInst::FCMP_ULE:
      return "<=";
    default:
      return "another comparison";
  }
}

bool is_relational(CmpInst::Predicate predicate) {
  const StringRef sign = sign_of(predicate);
  return sign.starts_with("<") || sign.starts_with(">");
}

/// The operation in place of `operation`; none that fails for some operands.
Instruction::BinaryOps other_operation(Instruction::BinaryOps operation) {
  switch (operation) {
    case Instruction::Add:
      return Instruction::Sub;
    case Instruction::Sub:
      return Instruction::Add;
    case Instruction::Mul:
      return Instruction::Add;
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
      return Instruction::Mul;
    case Instruction::Shl:
      return Instruction::LShr;
    case Instruction::LShr:
    case Instruction::AShr:
      return Instruction::Shl;
    case Instruction::And:
      return Instruction::Or;
    case Instruction::Or:
      return Instruction::And;
    case Instruction::Xor:
      return Instruction::Or;
    case Instruction::FAdd:
      return Instruction::FSub;
    case Instruction::FSub:
      return Instruction::FAdd;
    case Instruction::FMul:
      return Instruction::FAdd;
    case Instruction::FDiv:
      return Instruction::FMul;
    default:
      return operation;
  }
}

/// A number one away from it; false and true for each other. Null for other constants.
Constant* next_constant(const Constant* constant) {
  if (const auto* number = dyn_cast<ConstantInt>(constant); number && number->getBitWidth() <= 64) {
    APInt value = number->getValue();
    if (value.getBitWidth() == 1 || (value.getBitWidth() == 8 && value.ule(1))) {
      value = value ^ APInt(value.getBitWidth(), 1);
    } else if (value.isNegative() && !value.isMinSignedValue()) {
      value -= 1;
    } else {
      value += 1;
    }
    return ConstantInt::get(constant->getContext(), value);
  }
  if (const auto* number = dyn_cast<ConstantFP>(constant)) {
    APFloat value = number->getValueAPF();
    value.add(APFloat(value.getSemantics(), 1), APFloat::rmNearestTiesToEven);
    if (value.bitwiseIsEqual(number->getValueAPF())) return nullptr;
    return ConstantFP::get(constant->getContext(), value);
  }
  return nullptr;
}

/// Values that have changes of their own where they are made.
bool is_changed_at_its_origin(const Value* value) {
  if (const auto* cast = dyn_cast<CastInst>(value)) value = cast->getOperand(0);
  if (const auto* call = dyn_cast<CallBase>(value)) return Callee(*call).result_replaceable();
  if (isa<PHINode>(value)) return value->getType()->isIntegerTy(1);  // of && and ||
  return isa<CmpInst>(value) || isa<BinaryOperator>(value) || isa<Constant>(value);
}

const AllocaInst* local_variable(const Value* address) {
  return dyn_cast<AllocaInst>(address->stripInBoundsConstantOffsets());
}

/// Whether a local variable of this name is the compiler's: what is left to clean up, and whether an object
/// is returned.
bool is_generated(StringRef name) {
  for (const char* prefix : {"cleanup.", "saved_stack", "exn.", "ehselector", "nrvo"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

/// Whether the operation is a local variable's step by one. A step backwards, or none, is mostly a loop
/// without end, whose judgement takes time and says little.
bool counts(const BinaryOperator& operation) {
  const auto* step = dyn_cast<ConstantInt>(operation.getOperand(1));
  return step && (step->isOne() || step->isMinusOne()) && isa<LoadInst>(operation.getOperand(0)) &&
         operation.hasOneUse() && isa<StoreInst>(operation.user_back()) &&
         local_variable(cast<StoreInst>(operation.user_back())->getPointerOperand());
}

class Search {
 public:
  Search(Function& function, const Files& files) : function_(function), files_(files) {
    for (const BasicBlock& block : function) {
      for (const Instruction& instruction : block) {
        if (const auto* store = dyn_cast<StoreInst>(&instruction)) {
          first_store_.insert({store->getPointerOperand()->stripPointerCasts(), store});
        }
      }
    }
    // The member functions C1 and C2 of constructors begin with the members' values.
    constructs_ = function.getName().contains("C1E") || function.getName().contains("C2E");
  }

  std::vector<Change> run() {
    const auto own = own_blocks(function_);
    for (BasicBlock& block : function_) {
      if (!own.contains(&block)) continue;
      for (Instruction& instruction : block) {
        const auto place = files_.place(instruction);
        if (!place) continue;
        const std::size_t before = found_.size();
        visit(instruction);
        for (std::size_t i = before; i < found_.size(); ++i) found_[i].place = *place;
      }
    }
    return std::move(found_);
  }

 private:
  void visit(Instruction& at) {
    if (auto* call = dyn_cast<CallBase>(&at)) return visit_call(*call);
    if (auto* compare = dyn_cast<CmpInst>(&at)) return visit_compare(*compare);
    if (auto* operation = dyn_cast<BinaryOperator>(&at)) return visit_operation(*operation);
    if (auto* store = dyn_cast<StoreInst>(&at)) return visit_store(*store);
    if (auto* branch = dyn_cast<BranchInst>(&at)) return visit_branch(*branch);
    if (auto* choice = dyn_cast<SwitchInst>(&at)) return visit_switch(*choice);
    if (isa<AtomicRMWInst>(at)) return visit_constant(at, 1);
    if (auto* result = dyn_cast<ReturnInst>(&at); result && result->getReturnValue()) {
      visit_constant(at, 0);
      // Several returns are stores to one variable, each with its own changes.
      const auto* load = dyn_cast<LoadInst>(result->getReturnValue());
      if (!load || !load->getPointerOperand()->getName().starts_with("retval"))
        visit_origin(at, 0, "the result");
    }
    if (isa<SelectInst>(at)) {
      visit_constant(at, 1);
      visit_constant(at, 2);
    }
    if (auto* phi = dyn_cast<PHINode>(&at); phi && !phi->getType()->isIntegerTy(1)) {
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        if (isa<BranchInst>(phi->getIncomingBlock(i)->getTerminator())) visit_constant(at, i);
      }
    }
  }

  void add(Kind kind, Instruction& at, Change::Part part, unsigned operand, std::string text, Make make) {
    found_.push_back({kind, &at, part, operand, std::move(make), std::move(text)});
  }
  void add_value(Kind kind, Instruction& at, Change::Part part, unsigned operand, const std::string& what,
                 Constant* value) {
    add(kind, at, part, operand, what + " is " + (value->getType()->isPointerTy() ? "null" : text_of(*value)),
        [value](IRBuilder<>&, Value*) { return value; });
  }
  void add_removal(Kind kind, Instruction& at, std::string text) {
    add(kind, at, Change::Part::whole, 0, std::move(text), {});
  }

  void visit_constant(Instruction& at, unsigned operand, unsigned bound = 0) {
    const auto* constant = dyn_cast<Constant>(at.getOperand(operand));
    Constant* next = constant ? next_constant(constant) : nullptr;
    if (!next) return;
    if (bound && cast<ConstantInt>(next)->getValue().uge(bound)) {
      next = ConstantInt::get(next->getType(), cast<ConstantInt>(constant)->getValue() - 1);
    }
    add(Kind::constant, at, Change::Part::operand, operand, text_of(*constant) + " is " + text_of(*next),
        [next](IRBuilder<>&, Value*) { return next; });
  }

  /// A value that has no change where it comes from, such as that of a variable.
  void visit_origin(Instruction& at, unsigned operand, const std::string& what) {
    Value* value = at.getOperand(operand);
    Type* type = value->getType();
    if (is_changed_at_its_origin(value) ||
        !(type->isIntegerTy() || type->isPointerTy() || type->isFloatingPointTy()))
      return;
    if (type->isPointerTy()) {
      const bool never_null = function_.hasRetAttribute(Attribute::NonNull) ||
                              function_.hasRetAttribute(Attribute::Dereferenceable);
      if (!isa<ReturnInst>(at) || never_null) return;
    }
    add_value(Kind::result, at, Change::Part::operand, operand, what, Constant::getNullValue(type));
    if (type->isIntegerTy(1))
      add_value(Kind::result, at, Change::Part::operand, operand, what, ConstantInt::getTrue(type));
  }

  void visit_call(CallBase& call) {
    const Callee callee(call);
    if (callee.removable()) {
      if (isa<MemIntrinsic>(call)) {
        // The first copy to a variable is its initialisation.
        if (!local_variable(call.getArgOperand(0))) add_removal(Kind::store, call, "no copy");
      } else if (call.use_empty()) {
        add_removal(Kind::call, call, "no call of " + callee.name());
      }
    }
    Type* type = call.getType();
    const auto* invoke = dyn_cast<InvokeInst>(&call);
    const bool has_place = !invoke || invoke->getNormalDest()->getSinglePredecessor();
    if (!call.use_empty() && callee.result_replaceable() && has_place && !call.isMustTailCall()) {
      const auto add_result = [&](Constant* value) {
        add_value(Kind::result, call, Change::Part::result, 0, callee.name() + "()", value);
      };
      if (type->isIntegerTy()) {
        add_result(ConstantInt::get(type, 0));
        add_result(ConstantInt::get(type, 1));
      } else if (type->isPointerTy()) {
        if (!callee.foreign() && !call.hasRetAttr(Attribute::NonNull) &&
            !call.hasRetAttr(Attribute::Dereferenceable)) {
          add_result(Constant::getNullValue(type));
        }
      } else if (type->isFloatingPointTy()) {
        add_result(Constant::getNullValue(type));
      } else if (type->isStructTy()) {
        add(Kind::result, call, Change::Part::result, 0, callee.name() + "() is empty",
            [type](IRBuilder<>&, Value*) { return Constant::getNullValue(type); });
      }
    }
    if (!callee.arguments_replaceable()) return;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      if (!call.paramHasAttr(i, Attribute::ImmArg)) visit_constant(call, i);
    }
  }

  void visit_compare(CmpInst& compare) {
    const auto predicate = compare.getPredicate();
    const auto add_predicate = [&](CmpInst::Predicate other) {
      add(Kind::compare, compare, Change::Part::result, 0,
          std::string(sign_of(predicate)) + " is " + sign_of(other),
          [&compare, other](IRBuilder<>& builder, Value*) {
            return builder.CreateCmp(other, compare.getOperand(0), compare.getOperand(1));
          });
    };
    add_predicate(compare.getInversePredicate());
    if (is_relational(predicate))
      add_predicate(CmpInst::isStrictPredicate(predicate) ? compare.getNonStrictPredicate()
                                                          : compare.getStrictPredicate());
    if (compare.getOperand(0)->getType()->isPointerTy()) return;
    // x < 8 with another number is x <= 8.
    const bool equals_the_bound = predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_ULT ||
                                  predicate == CmpInst::ICMP_SGE || predicate == CmpInst::ICMP_UGE;
    if (!equals_the_bound) visit_constant(compare, 1);
  }

  void visit_operation(BinaryOperator& operation) {
    const auto opcode = operation.getOpcode();
    if (operation.getType()->isIntegerTy(1)) {
      // `!x`, where neither x nor the branch has a change of its own.
      const bool branches = operation.hasOneUse() && isa<BranchInst>(operation.user_back());
      if (opcode == Instruction::Xor && !branches && !is_changed_at_its_origin(operation.getOperand(0))) {
        add(Kind::arithmetic, operation, Change::Part::result, 0, "no negation",
            [&operation](IRBuilder<>&, Value*) { return operation.getOperand(0); });
      }
      return;
    }
    const auto other = other_operation(opcode);
    if (!counts(operation) && other != opcode) {
      add(Kind::arithmetic, operation, Change::Part::result, 0,
          std::string(Instruction::getOpcodeName(opcode)) + " is " + Instruction::getOpcodeName(other),
          [&operation, other](IRBuilder<>& builder, Value*) {
            return builder.CreateBinOp(other, operation.getOperand(0), operation.getOperand(1));
          });
    }
    const bool shifts = operation.isShift();
    visit_constant(operation, 0);
    visit_constant(operation, 1, shifts ? operation.getType()->getIntegerBitWidth() : 0);
  }

  void visit_store(StoreInst& store) {
    const Value* value = store.getValueOperand();
    if (isa<Argument>(value) && local_variable(store.getPointerOperand()))
      return;  // of the calling convention
    if (value->stripPointerCasts()->getName().starts_with("_ZTV") || isa<GEPOperator>(value))
      return;  // tables of functions
    const AllocaInst* variable = local_variable(store.getPointerOperand());
    const StringRef name = variable ? variable->getName() : "";
    if (is_generated(name)) return;
    visit_constant(store, 0);
    if (name.starts_with("retval")) return visit_origin(store, 0, "the result");
    for (const char* temporary : {"__", "ref.tmp", "agg.tmp", "undef.agg", "coerce", "tmp"}) {
      if (name.starts_with(temporary)) return;
    }
    if (const auto* operation = dyn_cast<BinaryOperator>(value); operation && counts(*operation)) return;
    const bool initialises =
        constructs_ ||
        (variable && first_store_.lookup(store.getPointerOperand()->stripPointerCasts()) == &store);
    // A variable without its first value is undefined, and compilers use that.
    if (!initialises) {
      add_removal(Kind::store, store, "no assignment");
    } else if (!value->getType()->isPointerTy()) {
      visit_origin(store, 0, "the first value");
    }
  }

  void visit_branch(BranchInst& branch) {
    if (branch.isUnconditional()) return;
    const Value* condition = branch.getCondition();
    if (const auto* negation = dyn_cast<BinaryOperator>(condition)) condition = negation->getOperand(0);
    if (isa<CmpInst>(condition) || isa<Constant>(condition)) return;
    const auto* load =
        dyn_cast<LoadInst>(isa<CastInst>(condition) ? cast<CastInst>(condition)->getOperand(0) : condition);
    if (load && is_generated(load->getPointerOperand()->getName())) return;
    if (const auto* call = dyn_cast<CallBase>(condition); call && Callee(*call).result_replaceable()) return;
    add(Kind::branch, branch, Change::Part::operand, 0, "negated",
        [](IRBuilder<>& builder, Value* old) { return builder.CreateNot(old); });
  }

  void visit_switch(SwitchInst& choice) {
    if (!isa<IntegerType>(choice.getCondition()->getType())) return;
    // A value of no case, for the cases that are left out.
    ConstantInt* other = nullptr;
    for (std::uint64_t value = 0; !other; ++value) {
      auto* candidate = cast<ConstantInt>(ConstantInt::get(choice.getCondition()->getType(), value));
      if (choice.findCaseValue(candidate) == choice.case_default()) other = candidate;
      if (value > 4096) return;
    }
    for (const auto& one : choice.cases()) {
      if (one.getCaseSuccessor() == choice.getDefaultDest()) continue;
      ConstantInt* value = one.getCaseValue();
      add(Kind::choice, choice, Change::Part::operand, 0, "no case " + text_of(*value),
          [value, other](IRBuilder<>& builder, Value* old) {
            return builder.CreateSelect(builder.CreateICmpEQ(old, value), other, old);
          });
    }
  }

  Function& function_;
  const Files& files_;
  DenseMap<const Value*, const StoreInst*> first_store_;
  bool constructs_ = false;
  std::vector<Change> found_;
};

}  // namespace

std::vector<Change> find_changes(Function& function, const Files& files) {
  return Search(function, files).run();
}

}  // namespace weir::mutation
