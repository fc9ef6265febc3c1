// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.h"

#include "base/child_jobs.h"
#include "base/confine.h"
#include "base/error.h"
#include "base/long_names.h"
#include "confined.h"
#include "ir/fatal_errors.h"

namespace mneme::compile {
namespace {

constexpr size_t kLongestReason = 4096;    // bytes
constexpr size_t kMostAround = 64u << 20;  // of a result, around the code

// All that a run of it depends on. That targets differ does not matter where what was made of them does not.
std::string likeness(const bundle::VariantInfo& variant) {
  bundle::VariantInfo alike = variant;
  alike.id = {};
  const bundle::Configuration& made = variant.configuration;
  // Of the rest, how it is run.
  alike.configuration = {};
  alike.configuration.max_threads = made.max_threads;
  alike.configuration.grid = made.grid;
  alike.configuration.block = made.block;
  alike.configuration.shared_mem = made.shared_mem;
  alike.configuration.instance = made.instance;
  alike.configuration.warmup = made.warmup;
  alike.configuration.iterations = made.iterations;
  alike.configuration.target = variant.configuration.target.substr(0, variant.configuration.target.find(':'));
  return bundle::write(alike);
}

}  // namespace

bundle::VariantMember variant_of(const bundle::KernelInfo& kernel, const Wanted& wanted, codegen::Code code) {
  bundle::VariantMember variant;
  bundle::VariantInfo& info = variant.info;
  info.kernel = kernel.id;
  info.configuration = wanted.configuration;
  info.id = bundle::variant_id(info.kernel, info.configuration);
  info.code = std::move(code.file);
  info.code_digest = digest_of(code.bytes);
  info.form = std::move(code.form);
  info.stores = std::move(code.stores);
  if (wanted.assembler) info.assembled_by = wanted.assembler->kind + ' ' + wanted.assembler->version;
  info.resources = std::move(code.resources);
  info.replaced = std::move(code.replaced);
  variant.code = std::move(code.bytes);
  return variant;
}

bundle::VariantMember failed_variant(const bundle::KernelInfo& kernel, const Wanted& wanted, std::string reason) {
  bundle::VariantMember variant;
  bundle::VariantInfo& info = variant.info;
  info.kernel = kernel.id;
  info.configuration = wanted.configuration;
  info.id = bundle::variant_id(info.kernel, info.configuration);
  if (reason.size() > kLongestReason) reason = with_short_name(std::move(reason), kernel.demangled);
  if (reason.size() > kLongestReason) reason = reason.substr(0, kLongestReason) + "…";
  info.failed = std::move(reason);
  return variant;
}

void SameCode::share(bundle::VariantMember& variant) {
  if (!variant.info.has_code_member()) return;
  auto [holder, fresh] = holders_.try_emplace(likeness(variant.info), variant.info.id);
  if (fresh) return;
  variant.info.same_as = holder->second;
  variant.code.clear();
}

void Batch::compile(SameCode& same_code) const {
  ChildJobs children;
  children.name = "a compiler";
  children.count = wanted.size();
  children.at_once = jobs;
  children.seconds = timeout;
  children.most_bytes = bundle::kMaxCodeSize + kMostAround;
  // Each is forked from here and parses the IR anew: a compiler that has nothing behind it gives the same bytes
  // whatever came before, and of what a small kernel takes, parsing is a twentieth.
  children.body = [&](size_t number) {
    const Wanted& one = wanted[number];
    if (one.from_code) return encode(code_of(one));
    // An assembler, and another LLVM, are programs to start, which this process may not any more once it is confined.
    if (one.assembler || !one.configuration.llvm.empty()) {
      return encode(compile_wanted(kernel, ir(one.configuration), one, given, *llvms));
    }
    confine_process();
    ir::throw_fatal_errors();
    return encode(codegen::compile(kernel, ir(one.configuration), one.configuration, given));
  };
  children.take = [&](size_t number, ChildJobs::Result result) {
    const Wanted& one = wanted[number];
    std::string what = compiling(kernel, one.configuration);
    bundle::VariantMember variant;
    std::vector<std::string> remarks;
    try {
      if (!result.done) throw Error(result.child_failed ? what + " " + result.text : result.text);
      codegen::Code code = decode(result.text, what);
      if (save) save(bundle::variant_id(kernel.id, one.configuration), code);
      remarks = std::move(code.remarks);
      variant = variant_of(kernel, one, std::move(code));
    } catch (const Error& error) {
      variant = failed_variant(kernel, one, error.what());
    }
    same_code.share(variant);
    take(one, variant, remarks);
  };
  children.run();
}

}  // namespace mneme::compile
