// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-compile: adds to a bundle variants of each kernel, compiled as its options, or a file of variants, say.
#include <algorithm>
#include <map>
#include <set>

#include "adding.h"
#include "bundle/reader.h"
#include "bundle/writer.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "codegen/choices.h"
#include "confined.h"
#include "follow.h"
#include "settings.h"

namespace mneme::compile {
namespace {

std::string describe_amd(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant) {
  const bundle::Resources& resources = *variant.resources;
  const bundle::AmdResources& amd = *resources.amd;
  return fmt::format(
      "'{}' takes {} vector registers, of which {} accumulate, and {} scalar ones, {} bytes of stack, {} of shared "
      "memory, and spills {} vector and {} scalar registers: of waves of {}, a SIMD can hold {} ({})",
      kernel.demangled, resources.registers, amd.accumulation_registers, amd.scalar_registers, resources.stack,
      resources.shared, amd.spilled_registers, amd.spilled_scalar_registers, amd.wave_size, amd.occupancy,
      variant.configuration.target);
}

std::string describe(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant) {
  const bundle::Resources& resources = *variant.resources;
  if (resources.amd) return describe_amd(kernel, variant);
  std::string text = fmt::format(
      "'{}' takes {} registers, {} bytes of stack, {} of shared memory, and spills {} bytes in stores and {} in loads",
      kernel.demangled, resources.registers, resources.stack, resources.shared, resources.spill_stores,
      resources.spill_loads);
  for (const bundle::ConstantBank& constant : resources.constants) {
    text += fmt::format(", {} bytes of constant bank {}", constant.bytes, constant.bank);
  }
  return text + " (" + (variant.assembled_by.empty() ? variant.configuration.passes : variant.assembled_by) + ")";
}

// Those of the configurations that are compiled once a kernel; or those that are compiled once an instance, for this
// one, which their ids then cover.
std::vector<Wanted> wanted_now(const std::vector<Wanted>& all, const bundle::InstanceInfo* instance) {
  std::vector<Wanted> now;
  for (const Wanted& one : all) {
    if (codegen::is_specialised(one.configuration) != (instance != nullptr)) continue;
    const Digest& only = one.configuration.instance;
    if (instance && !only.empty() && only != instance->id) continue;
    now.push_back(one);
    if (instance) now.back().configuration.instance = instance->id;
  }
  return now;
}

bool any_specialised(const std::vector<Wanted>& all) {
  return std::ranges::any_of(all, [](const Wanted& one) { return codegen::is_specialised(one.configuration); });
}

void note_remarks(const bundle::KernelInfo& kernel, const std::string& where, const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) cli::note(fmt::format("{}'{}': {}", where, kernel.demangled, remark));
}

// What became of the command line's one variant, kernel by kernel.
struct Outcomes {
  size_t compiled = 0;
  std::vector<Error> failures;

  // One kernel that cannot be compiled is no reason to give up the others. If it is all of them, that is the user's
  // mistake more often than the kernels'.
  void report() const {
    if (failures.empty()) return;
    if (compiled == 0) throw failures.front();
    for (const Error& failure : failures) cli::warn(failure.what());
    throw Error::of("{} of {} kernels were not compiled; the reasons stand above", failures.size(),
                    failures.size() + compiled);
  }
};

// Adds the command line's one variant; where it cannot be compiled, a failed one.
void add_variant(bundle::Writer& writer, const bundle::KernelMember& kernel, const bundle::InstanceInfo* instance,
                 Settings& settings, bool verbose, Outcomes& outcomes) {
  const std::vector<Wanted> all = settings.wanted(kernel.info);
  if (!all.at(0).from_code) {  // said before there is an instance
    codegen::arguments_named(kernel.info, all.at(0).configuration.specialize_args);
  }
  std::vector<Wanted> now = wanted_now(all, instance);
  if (now.empty()) return;
  const Wanted& wanted = now[0];
  const std::string* edited = settings.edited_ir(kernel.info.id);
  const std::string& ir = edited ? *edited : kernel.bitcode;
  codegen::Given given{instance, !settings.texts_folder().empty(), settings.embeds_ir(), recorded_ir(kernel, settings),
                       settings.print_after()};
  codegen::Code code;
  try {
    code = wanted.from_code ? code_of(kernel, wanted, settings.given_code())
                            : compile_wanted(kernel.info, ir, wanted, given, settings.llvms());
  } catch (const Error& error) {
    outcomes.failures.push_back(error);
    if (wanted.configuration.baseline) throw;  // without code it would be none
    add(writer, failed_variant(kernel.info, wanted, error.what()));
    return;
  }
  outcomes.compiled++;
  if (given.texts && !wanted.from_code) {
    save_texts(settings.texts_folder(), bundle::variant_id(kernel.info.id, wanted.configuration), code);
  }
  if (verbose) note_remarks(kernel.info, "", code.remarks);
  bundle::VariantMember variant = variant_of(kernel.info, wanted, std::move(code));
  if (verbose && variant.info.resources) cli::note(describe(kernel.info, variant.info));
  add(writer, variant);
}

// Adds those of --variants. What cannot be compiled is a failed variant.
void add_variants(bundle::Writer& writer, const bundle::KernelMember& kernel, const bundle::InstanceInfo* instance,
                  Settings& settings, bool verbose, Outcomes&) {
  std::vector<Wanted> now = wanted_now(settings.wanted(kernel.info), instance);
  if (now.empty()) return;
  size_t shared = 0, failed = 0;
  auto take = [&](const Wanted& wanted, const bundle::VariantMember& variant, const auto& remarks) {
    add(writer, variant);
    shared += !variant.info.same_as.empty();
    if (verbose) note_remarks(kernel.info, fmt::format("line {}: ", wanted.line), remarks);
    if (verbose && variant.info.resources && variant.info.has_code_member()) {
      cli::note(fmt::format("line {}: {}", wanted.line, describe(kernel.info, variant.info)));
    }
    if (variant.info.failed.empty()) return;
    failed++;
    cli::warn(fmt::format("line {}: kernel '{}', variant {} failed: {}", wanted.line, kernel.info.demangled,
                          variant.info.id.hex().substr(0, 12), variant.info.failed));
  };
  Batch batch = batch_of(kernel, instance, now, settings);
  batch.take = take;
  SameCode same_code;
  batch.compile(same_code);
  if (!verbose) return;
  cli::note(fmt::format("'{}': {} variants, of which {} have the code of another, and {} failed", kernel.info.demangled,
                        now.size(), shared, failed));
}

// A line for a launch that did not come was left out.
void check_instances(const std::vector<Asked>& asked, const std::set<Digest>& met) {
  for (const Asked& one : asked) {
    const Digest& instance = one.configuration.instance;
    if (instance.empty() || met.contains(instance)) continue;
    throw Error::of(
        "line {} of --variants is for instance {}, which the bundle does not have, or which is not selected", one.line,
        instance.hex());
  }
}

// A file that gives IR need not have all kernels: of those that it lacks there is no variant.
bool prepare(Settings& settings, bundle::KernelMember& kernel, std::vector<Error>& without_edits) {
  if (!settings.has_edits()) {
    settings.prepare(kernel);
    return true;
  }
  try {
    settings.prepare(kernel);
    return true;
  } catch (const Error& error) {
    if (error.exit() == Exit::kMissing) throw;
    without_edits.push_back(error);
    return false;
  }
}

[[noreturn]] void refuse_second(const bundle::KernelInfo& first, const bundle::KernelInfo& second) {
  if (first.demangled != second.demangled) {
    throw Error::of("--ir gives one kernel's IR, but both '{}' and '{}' are selected: choose with --kernel",
                    first.demangled, second.demangled);
  }
  throw Error::of(
      "--ir gives one kernel's IR, but two are called '{}', {} and {}: have mneme-restore --instance write a bundle "
      "with launches of one, and compile that",
      first.demangled, first.id.hex(), second.id.hex());
}

Exit run(int argc, char** argv) {
  cli::Options options("mneme-compile", "Adds compiled variants of the kernels in a bundle.");
  cli::Input input;
  cli::Output output;
  cli::Selection selection;
  Settings settings;
  selection.add_options(options);
  settings.add_options(options);
  output.add_options(options);
  input.add_options(options);
  options.parse(argc, argv);
  settings.check(options, input.is_standard());
  selection.check();

  input.open();
  bundle::Reader reader(input.fd(), input.name(), bundle::Memory::kPass);
  settings.set_recorded_on(reader.info().device);
  output.open();
  bundle::Writer writer(output.fd(), output.name());
  bundle::BundleInfo info = cli::with_provenance(reader.info(), "mneme-compile", options);
  if (settings.launches_otherwise()) info.version = std::max(info.version, bundle::kOtherLaunches);
  info.version = std::max(info.version, bundle::kVariantsWithoutCode);
  writer.add(std::string(bundle::kBundleMember), bundle::write(info));
  reader.copy_to(&writer);

  auto* compile_for = settings.in_bulk() ? add_variants : add_variant;
  std::map<Digest, bundle::KernelMember> kernels;  // of which there are variants to be specialised to instances
  std::optional<bundle::Summary> summary;
  std::optional<bundle::KernelInfo> edited;
  std::map<Digest, bundle::KernelMember> later;  // with --follow, kernels of which no instance has come
  std::set<Digest> met;                          // instances
  bool followed = false;
  size_t refused = 0;  // lines
  std::vector<Error> without_edits;
  Outcomes outcomes;
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) {
      if (!selection.kernel(kernel->info)) continue;
      if (settings.has_one_ir() && edited) refuse_second(*edited, kernel->info);
      if (!prepare(settings, *kernel, without_edits)) continue;
      edited = kernel->info;
      if (settings.follows()) {
        later.insert_or_assign(kernel->info.id, std::move(*kernel));
        continue;
      }
      if (options.verbose()) cli::note("compiling '" + kernel->info.demangled + "'");
      compile_for(writer, *kernel, nullptr, settings, options.verbose(), outcomes);
      if (any_specialised(settings.wanted(kernel->info))) kernels.insert_or_assign(kernel->info.id, std::move(*kernel));
    } else if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) {
      if (!selection.instance(instance->info.id)) continue;
      met.insert(instance->info.id);
      if (auto kernel = later.extract(instance->info.kernel)) {
        if (!followed) {
          followed = true;
          refused = follow(writer, kernel.mapped(), instance->info, settings);
          kernels.insert(std::move(kernel));
          continue;
        }
        // When the lines have ended all goes on as if they had been known before.
        compile_for(writer, kernel.mapped(), nullptr, settings, options.verbose(), outcomes);
        kernels.insert(std::move(kernel));
      }
      auto kernel = kernels.find(instance->info.kernel);
      if (kernel == kernels.end()) continue;
      compile_for(writer, kernel->second, &instance->info, settings, options.verbose(), outcomes);
    } else if (auto* end = std::get_if<bundle::Summary>(&*item)) {
      summary = std::move(*end);
    }
  }
  if (cli::is_whole(reader, summary)) {
    selection.check_met();
    if (!edited && !without_edits.empty()) throw Error(without_edits.front());
    for (const Error& why : without_edits) cli::warn(fmt::format("{}; it gets no variant", why.what()));
    if (settings.follows() && !followed) {
      throw Error("--follow needs an instance to follow behind, and none is selected");
    }
  }
  cli::finish(reader, writer, output, std::move(summary));
  outcomes.report();
  if (!settings.follows()) check_instances(settings.asked(), met);
  if (refused > 0) {
    throw Error::of("{} line(s) of --variants were not compiled, as reported for each", refused);
  }
  return Exit::kSuccess;
}

}  // namespace
}  // namespace mneme::compile

int main(int argc, char** argv) {
  return mneme::cli::run_tool("mneme-compile", [&] { return mneme::compile::run(argc, argv); });
}
