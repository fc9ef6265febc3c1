// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/compilation.h"

#include <llvm/IR/Metadata.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "command.h"
#include "objects/source.h"
#include "pass/driver_command.h"
#include "pass/kernel_functions.h"
#include "recorded_command.h"

namespace mneme::inject {
namespace {

namespace fs = std::filesystem;

constexpr char kCarried[] = "mneme.compilations";
constexpr std::string_view kUnitsId = "-cuid=";

bool wants_source() {
  const char* wanted = std::getenv(kEmbedSource);
  return wanted && std::string_view(wanted) == "1";
}

// The files that line markers name ("# 1 \"a.h\" 1"), each once, in their order.
std::vector<std::string> files_in(const std::string& preprocessed) {
  std::vector<std::string> files;
  std::set<std::string> met;
  std::istringstream lines(preprocessed);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# ") || line.size() < 3 || line[2] < '0' || line[2] > '9') continue;
    const size_t begin = line.find('"');
    std::string name;
    size_t at = begin == std::string::npos ? line.size() : begin + 1;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) ++at;
      name += line[at];
    }
    if (!name.empty() && !name.starts_with('<') && met.insert(name).second) files.push_back(name);
  }
  return files;
}

// What this compiler compiles: of its files the first is the unit's own. Empty for standard input, which has been read.
std::string source_of(const std::string& unit, const PathMap& map) {
  if (!file_exists(unit)) return {};
  std::vector<std::string> command = own_command();
  command.insert(command.end(), {"-E", "-o", "-"});
  const CommandResult result = run_command(command);
  if (result.status != 0) throw Error::of("the source cannot be embedded: {} does not preprocess it again", command[0]);
  std::vector<std::string> names = files_in(result.output);
  std::erase(names, unit);
  names.insert(names.begin(), unit);
  std::vector<objects::SourceFile> files;
  for (const std::string& name : names) {
    if (!file_exists(name)) continue;  // a #line directive's
    files.push_back({map.path(fs::absolute(name).lexically_normal()), read_file(name, objects::kMaxSourceSize)});
  }
  return objects::pack_source(files);
}

// The compiler makes names of a unit's own variables of it, and it of the file's place.
std::string unit_id_in(const llvm::Module& unit) {
  for (const std::string& word : own_command()) {
    if (!word.starts_with(kUnitsId) || word.size() == kUnitsId.size()) continue;
    const llvm::StringRef id = llvm::StringRef(word).drop_front(kUnitsId.size());
    const bool is_used = llvm::any_of(unit.global_values(),
                                      [&](const llvm::GlobalValue& value) { return value.getName().contains(id); });
    if (is_used) return word;
  }
  return {};
}

std::vector<std::string> texts_of(const llvm::MDOperand& operand) {
  std::vector<std::string> texts;
  auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(operand);
  if (!node) return texts;
  for (const llvm::MDOperand& one : node->operands()) {
    if (auto* text = llvm::dyn_cast_or_null<llvm::MDString>(one)) texts.push_back(text->getString().str());
  }
  return texts;
}

llvm::MDNode* node_of(llvm::LLVMContext& context, const std::vector<std::string>& texts) {
  llvm::SmallVector<llvm::Metadata*> strings;
  for (const std::string& text : texts) strings.push_back(llvm::MDString::get(context, text));
  return llvm::MDNode::get(context, strings);
}

}  // namespace

std::shared_ptr<const Compilation> compilation_of(const llvm::Module& unit) {
  auto compilation = std::make_shared<Compilation>();
  const std::vector<std::string> driver = driver_command();
  const std::string& file = unit.getSourceFileName();
  compilation->command = recorded_command(driver, fs::current_path().string(), file);
  if (const std::string id = unit_id_in(unit); !id.empty() && !compilation->command.empty()) {
    compilation->command.insert(compilation->command.end() - 1, id);
  }
  if (wants_source()) compilation->source = source_of(file, PathMap(driver));
  return compilation;
}

Compilations compilations_of(const llvm::Module& unit) {
  Compilations compilations;
  std::shared_ptr<const Compilation> one;
  const KernelFunctions kernels = kernels_in(unit);
  for (const llvm::Function* kernel : kernels) {
    if (!one) one = compilation_of(unit);
    compilations.emplace(kernel->getName().str(), one);
  }
  return compilations;
}

void carry(const Compilations& compilations, llvm::Module& unit) {
  llvm::LLVMContext& context = unit.getContext();
  std::map<std::shared_ptr<const Compilation>, std::vector<std::string>> kernels;
  for (const auto& [kernel, compilation] : compilations) kernels[compilation].push_back(kernel);
  for (const auto& [compilation, names] : kernels) {
    unit.getOrInsertNamedMetadata(kCarried)->addOperand(
        llvm::MDNode::get(context, {llvm::MDString::get(context, compilation->source), node_of(context, names),
                                    node_of(context, compilation->command)}));
  }
}

Compilations carried_compilations(const llvm::Module& linked) {
  Compilations compilations;
  const llvm::NamedMDNode* all = linked.getNamedMetadata(kCarried);
  if (!all) return compilations;
  for (const llvm::MDNode* one : all->operands()) {
    auto* source = one->getNumOperands() == 3 ? llvm::dyn_cast<llvm::MDString>(one->getOperand(0)) : nullptr;
    if (!source) continue;
    auto compilation = std::make_shared<Compilation>(texts_of(one->getOperand(2)), source->getString().str());
    for (const std::string& kernel : texts_of(one->getOperand(1))) compilations.emplace(kernel, compilation);
  }
  return compilations;
}

std::vector<std::string> sources_of(const Compilations& compilations) {
  std::set<std::string> records;
  for (const auto& [kernel, compilation] : compilations) {
    if (!compilation->source.empty()) records.insert(objects::write_source(compilation->source));
  }
  return {records.begin(), records.end()};
}

}  // namespace mneme::inject
