// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/choices.h"

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Attributes.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "bundle/arguments.h"

namespace mneme::codegen {
namespace {

// In LLVM's order of writing them.
constexpr const char* kFastMath[] = {"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"};

llvm::SmallVector<llvm::StringRef> parts(llvm::StringRef text, char between) {
  llvm::SmallVector<llvm::StringRef> parts, trimmed;
  text.split(parts, between, -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    if (part = part.trim(); !part.empty()) trimmed.push_back(part);
  }
  return trimmed;
}

std::unique_ptr<llvm::MCSubtargetInfo> processors_of(const std::string& target) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  const char* triple = target.starts_with("host:")  ? "x86_64-unknown-linux-gnu"
                       : target.starts_with("hip:") ? "amdgcn-amd-amdhsa"
                                                    : "nvptx64-nvidia-cuda";
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) throw Error::of(Exit::kMissing, "this LLVM has no back end for {}: {}", target, error);
  return std::unique_ptr<llvm::MCSubtargetInfo>(found->createMCSubtargetInfo(triple, "", ""));
}

}  // namespace

std::string normal_fast_math(const std::string& flags) {
  std::set<std::string> given;
  for (llvm::StringRef flag : parts(flags, ',')) {
    if (flag == "fast") {
      given.insert(std::begin(kFastMath), std::end(kFastMath));
    } else if (std::ranges::find(kFastMath, flag) != std::end(kFastMath)) {
      given.insert(flag.str());
    } else {
      throw Error::of("takes fast, or some of {}, not '{}'", fmt::join(kFastMath, ", "), flag.str());
    }
  }
  return fmt::format("{}", fmt::join(given, ","));
}

std::string normal_attributes(const std::string& attributes) {
  std::map<std::string, std::string> given;  // by name
  for (llvm::StringRef attribute : parts(attributes, ' ')) {
    auto [name, value] = attribute.split('=');
    llvm::Attribute::AttrKind kind = llvm::Attribute::getAttrKindFromName(name);
    if (attribute.contains('=')) {
      if (kind != llvm::Attribute::None || name.empty()) {
        throw Error::of("takes attributes such as noinline or key=value, not '{}'", attribute.str());
      }
    } else if (kind == llvm::Attribute::None || !llvm::Attribute::isEnumAttrKind(kind) ||
               !llvm::Attribute::canUseAsFnAttr(kind)) {
      throw Error::of("takes attributes of functions that LLVM knows, or key=value, not '{}'", attribute.str());
    }
    given[name.str()] = attribute.str();
  }
  std::vector<std::string> list;
  for (auto& [name, attribute] : given) list.push_back(attribute);
  return fmt::format("{}", fmt::join(list, " "));
}

std::string normal_features(const std::string& features, const std::string& target) {
  std::vector<std::string> list;
  std::unique_ptr<llvm::MCSubtargetInfo> processors = processors_of(target);
  for (llvm::StringRef feature : parts(features, ',')) {
    llvm::StringRef name = feature.drop_front();
    bool known = llvm::any_of(processors->getAllProcessorFeatures(),
                              [&](const llvm::SubtargetFeatureKV& one) { return name == one.Key; });
    if ((feature[0] != '+' && feature[0] != '-') || !known) {
      throw Error::of("takes features that LLVM knows of {}, such as +{}, not '{}'", target,
                      target.starts_with("host:")  ? "avx2 or -fma"
                      : target.starts_with("hip:") ? "wavefrontsize32"
                                                   : "ptx83",
                      feature.str());
    }
    std::erase_if(list, [&](const std::string& before) { return llvm::StringRef(before).drop_front() == name; });
    list.push_back(feature.str());
  }
  return fmt::format("{}", fmt::join(list, ","));
}

void check_cpu(const std::string& cpu, const std::string& target) {
  if (processors_of(target)->isCPUStringValid(cpu)) return;
  throw Error::of("takes a processor that LLVM knows, such as znver4, not '{}'", cpu);
}

namespace {

// As C++ has them.
bool is_name(llvm::StringRef text) {
  auto in_name = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
  };
  return !text.empty() && !llvm::isDigit(text[0]) && llvm::all_of(text, in_name);
}

// ": out, in, n": in their order.
std::string names_of(const bundle::KernelInfo& kernel) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const std::string& name = kernel.arguments[i].name;
    names.push_back(name.empty() ? std::to_string(i) + " without a name" : name);
  }
  bool known = std::ranges::any_of(kernel.arguments, [](const auto& argument) { return !argument.name.empty(); });
  return known ? fmt::format(": {}", fmt::join(names, ", ")) : "; their names are not known";
}

}  // namespace

std::string normal_arguments(const std::string& arguments) {
  if (arguments.empty() || arguments == "all") return arguments;
  std::set<unsigned> numbers;
  std::set<std::string> names;
  for (llvm::StringRef part : parts(arguments, ',')) {
    unsigned number = 0;
    if (!part.getAsInteger(10, number)) {
      numbers.insert(number);
    } else if (is_name(part)) {
      names.insert(part.str());
    } else {
      throw Error::of("takes all, or arguments by name or by number, counted from 0, such as n,alpha or 0,2; not '{}'",
                      part.str());
    }
  }
  std::vector<std::string> all(names.begin(), names.end());
  std::ranges::transform(numbers, std::inserter(all, all.begin()),
                         [](unsigned number) { return std::to_string(number); });
  return fmt::format("{}", fmt::join(all, ","));
}

std::string numbered_arguments(const bundle::KernelInfo& kernel, const std::string& arguments) {
  if (arguments.empty() || arguments == "all") return arguments;
  std::string numbered;
  for (llvm::StringRef part : parts(arguments, ',')) {
    auto named = std::ranges::find(kernel.arguments, part.str(), &bundle::Argument::name);
    if (!numbered.empty()) numbered += ',';
    numbered += named == kernel.arguments.end() ? part.str() : std::to_string(named - kernel.arguments.begin());
  }
  return normal_arguments(numbered);
}

std::vector<size_t> arguments_named(const bundle::KernelInfo& kernel, const std::string& given) {
  std::vector<size_t> named;
  const std::string arguments = numbered_arguments(kernel, given);
  if (arguments == "all") {
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const bundle::Argument& argument = kernel.arguments[i];
      if (argument.kind != "pointer" && !bundle::holds_handle(kernel, argument)) named.push_back(i);
    }
    return named;
  }
  for (llvm::StringRef part : parts(arguments, ',')) {
    size_t number = 0;
    if (part.getAsInteger(10, number) || number >= kernel.arguments.size()) {
      throw Error::of("kernel '{}' has no argument {}: it has {}, counted from 0{}", kernel.demangled, part.str(),
                      kernel.arguments.size(), names_of(kernel));
    }
    if (bundle::holds_handle(kernel, kernel.arguments[number])) {
      throw Error::of(
          "argument {} of kernel '{}' is not a constant: it holds the handle of a texture or a surface, which is "
          "another one in each process",
          number, kernel.demangled);
    }
    named.push_back(number);
  }
  return named;
}

}  // namespace mneme::codegen
