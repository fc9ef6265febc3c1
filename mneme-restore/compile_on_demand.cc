// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compile_on_demand.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "bundle/adding.h"
#include "cli/options.h"
#include "least_target.h"
#include "replay/compiled_input.h"

namespace mneme::restore {
namespace {

constexpr char kHost[] = "host";
// To check accesses of kernels that have variants for a GPU only, on any computer that there may be.
constexpr char kAnyHost[] = "host:x86-64-v2";

using Kernels = std::vector<const bundle::KernelMember*>;

// A bundle of nothing but these, as mneme-compile reads it.
Fd bundle_of(const Kernels& kernels, const bundle::BundleInfo& recording) {
  Fd file = memory_file("kernels");
  bundle::Writer writer(file.get(), "the kernels' bundle");
  bundle::BundleInfo info = recording;
  info.memory = "none";
  writer.add(std::string(bundle::kBundleMember), bundle::write(info));
  for (const bundle::KernelMember* kernel : kernels) bundle::add(writer, *kernel);
  writer.add(std::string(bundle::kSummaryMember), bundle::write(bundle::Summary{}));
  writer.finish();
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// With `what`, and further words, for the program's `option`. One process compiles all. It names kernels that cannot be
// compiled, or ends at the first of them, and the next goes on behind that.
void compile(Kernels kernels, const bundle::BundleInfo& recording, const std::string& option, const std::string& what,
             const std::vector<std::string>& words, std::vector<bundle::VariantMember>& into) {
  while (!kernels.empty()) {
    Fd bundle = bundle_of(kernels, recording);
    run::CompiledInput stage(bundle.get(), what, words, /*selects=*/false);
    std::set<Digest> compiled, answered;
    try {
      bundle::Reader reader(stage.fd(), "what mneme-compile writes", bundle::Memory::kPass);
      while (std::optional<bundle::Item> item = reader.next()) {
        auto* variant = std::get_if<bundle::VariantMember>(&*item);
        if (!variant) continue;
        answered.insert(variant->info.kernel);
        if (!variant->info.failed.empty()) continue;
        compiled.insert(variant->info.kernel);
        into.push_back(std::move(*variant));
      }
      stage.finish();
    } catch (const Error& error) {
      if (error.exit() == Exit::kMissing || compiled.size() == kernels.size()) throw;
    }
    auto next = std::ranges::find_if(kernels, [&](const auto* kernel) { return !answered.contains(kernel->info.id); });
    if (next != kernels.end()) ++next;
    for (auto kernel = kernels.begin(); kernel != next; ++kernel) {
      if (compiled.contains((*kernel)->info.id)) continue;
      cli::warn(fmt::format("kernel '{}' cannot be compiled with {}: the program cannot replay it with {}",
                            (*kernel)->info.demangled, what, option));
    }
    kernels.erase(kernels.begin(), next);
  }
}

// As mneme-compile --target takes it.
std::string word_of(const std::string& target) {
  return target.starts_with(kHost) ? target : target.substr(target.find(':') + 1);
}

}  // namespace

std::vector<bundle::VariantMember> compile_on_demand(const std::vector<Compiled>& kernels,
                                                     const bundle::BundleInfo& recording) {
  std::map<std::string, Kernels> recorded, checked;  // by target
  for (const Compiled& one : kernels) {
    std::map<std::string, std::string> targets = least_targets(one.targets);
    for (const auto& [device, target] : targets) recorded[target].push_back(&one.kernel);
    auto host = targets.find(kHost);
    checked[host == targets.end() ? kAnyHost : host->second].push_back(&one.kernel);
  }
  std::vector<bundle::VariantMember> variants;
  for (const auto& [target, some] : recorded) {
    compile(some, recording, "--baseline", "--as-recorded", {"--target", word_of(target)}, variants);
  }
  // As mneme-run has them compiled.
  for (const auto& [target, some] : checked) {
    compile(some, recording, "--check-memory", "--check-memory", {"-O1", "--target", target}, variants);
  }
  return variants;
}

}  // namespace mneme::restore
