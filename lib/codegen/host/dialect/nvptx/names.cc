// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/names.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSwitch.h>

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;

// How intrinsics call types.
StringRef type_of(StringRef letters) {
  return llvm::StringSwitch<StringRef>(letters)
      .Case("d", "f64")
      .Case("f", "f32")
      .Case("h", "f16")
      .Case("bf", "bf16")
      .Case("bf16", "bf16")
      .Case("i", "s32")
      .Case("ui", "u32")
      .Case("ll", "s64")
      .Case("ull", "u64")
      .Case("s", "s16")
      .Case("us", "u16")
      .Default("");
}

// "f2i.rz.ftz": a conversion between the types on both sides of the 2.
std::string conversion(StringRef name) {
  auto [types, rest] = name.split('.');
  auto [from, to] = types.split('2');
  if (from == "ff") {  // two floats into a pair
    return "cvt." + rest.str() + "." + to.str() + ".f32";
  }
  if (name == "f2tf32.rna") return "cvt.rna.tf32.f32";
  StringRef source = type_of(from), target = type_of(to);
  if (source.empty() || target.empty()) return "";
  bool from_float = source.starts_with("f") || source.starts_with("b");
  bool to_float = target.starts_with("f") || target.starts_with("b");
  std::string modifiers;
  llvm::SmallVector<StringRef, 4> parts;
  rest.split(parts, '.');
  for (StringRef part : parts) {
    bool rounds = part == "rn" || part == "rz" || part == "rm" || part == "rp";
    modifiers += "." + part.str() + (rounds && from_float && !to_float ? "i" : "");
  }
  return "cvt" + modifiers + "." + target.str() + "." + source.str();
}

// Those whose names follow no rule.
std::string by_name(StringRef name) {
  static const llvm::StringMap<StringRef> kNames = {{"prmt", "prmt.b32"},
                                                    {"fns", "fns.b32"},
                                                    {"sqrt.f", "sqrt.rn.f32"},
                                                    {"saturate.f", "cvt.sat.f32.f32"},
                                                    {"saturate.ftz.f", "cvt.ftz.sat.f32.f32"},
                                                    {"saturate.d", "cvt.sat.f64.f64"},
                                                    {"mul24.i", "mul24.lo.s32"},
                                                    {"mul24.ui", "mul24.lo.u32"},
                                                    {"bf2h.rn", "cvt.rn.f16.bf16"},
                                                    {"bf2h.rn.ftz", "cvt.rn.ftz.f16.bf16"},
                                                    {"nanosleep", "nanosleep.u32"},
                                                    {"membar.cta", "membar.cta"},
                                                    {"membar.gl", "membar.gl"},
                                                    {"membar.sys", "membar.sys"},
                                                    {"fence.sc.cluster", "fence.sc.cluster"},
                                                    {"activemask", "activemask.b32"},
                                                    {"exit", "exit"},
                                                    {"cp.async.commit.group", "cp.async.commit_group"},
                                                    {"cp.async.wait.group", "cp.async.wait_group"},
                                                    {"cp.async.wait.all", "cp.async.wait_all"},
                                                    {"setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.inc"},
                                                    {"setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.dec"}};
  return kNames.lookup(name).str();
}

// "mulhi.ui", "sad.ll": an operation and a type.
std::string integer(StringRef name) {
  auto [operation, letters] = name.split('.');
  StringRef type = type_of(letters);
  if (type.empty() || type.starts_with("f")) return "";
  if (operation == "mulhi") return "mul.hi." + type.str();
  return operation == "sad" ? "sad." + type.str() : "";
}

// "mbarrier.arrive.drop.shared": pointers say themselves where they lead.
std::string barrier_in_memory(StringRef name) {
  const bool copies = name.consume_front("cp.async.");
  if (!name.consume_front("mbarrier.")) return "";
  name.consume_back(".shared");
  std::string operation = name.str();
  for (StringRef two : {"arrive.drop", "test.wait", "pending.count"}) {
    if (name.starts_with(two)) operation[two.find('.')] = '_';
  }
  return (copies ? "cp.async.mbarrier." : "mbarrier.") + operation + ".b64";
}

// "ceil.ftz.f" and its like are conversions of a type to itself.
std::string integral(StringRef name) {
  auto [operation, rest] = name.split('.');
  StringRef rounding = llvm::StringSwitch<StringRef>(operation)
                           .Case("ceil", "rpi")
                           .Case("floor", "rmi")
                           .Case("trunc", "rzi")
                           .Case("round", "rni")
                           .Default("");
  if (rounding.empty()) return "";
  bool flushes = rest.consume_front("ftz.");
  StringRef type = type_of(rest);
  if (type.empty()) return "";
  return ("cvt." + rounding + (flushes ? ".ftz." : ".") + type + "." + type).str();
}

// "fma.rn.ftz.f", "fmax.nan.xorsign.abs.bf16x2": named like the instruction, but for the type and a few parts.
std::string arithmetic(StringRef name) {
  llvm::SmallVector<StringRef, 6> parts;
  name.split(parts, '.');
  StringRef operation = llvm::StringSwitch<StringRef>(parts[0])
                            .Case("fmin", "min")
                            .Case("fmax", "max")
                            .Case("fabs", "abs")
                            .Cases("add", "mul", "fma", "div", "rcp", "sqrt", "rsqrt", parts[0])
                            .Cases("ex2", "lg2", "sin", "cos", "tanh", "abs", "neg", parts[0])
                            .Default("");
  if (operation.empty() || parts.size() < 2) return "";
  std::string result = operation.str();
  for (StringRef part : llvm::ArrayRef(parts).drop_front().drop_back()) {
    result += part == "nan" ? ".NaN" : "." + part.str();
  }
  StringRef type = parts.back();
  return result + "." + (type == "f" ? "f32" : type == "d" ? "f64" : type.str());
}

bool is_conversion(StringRef name) {
  StringRef types = name.split('.').first;
  if (!types.contains('2') || types == "ex2" || types == "lg2") return false;
  return !name.ends_with(".lo") && !name.ends_with(".hi");
}

}  // namespace

std::string ptx_name_of(StringRef intrinsic) {
  if (std::string name = by_name(intrinsic); !name.empty()) return name;
  if (is_conversion(intrinsic)) return conversion(intrinsic);
  for (auto* rule : {barrier_in_memory, integral, integer, arithmetic}) {
    if (std::string name = rule(intrinsic); !name.empty()) return name;
  }
  return "";
}

}  // namespace mneme::codegen::host
