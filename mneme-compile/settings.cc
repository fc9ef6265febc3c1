// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "cli/checks.h"
#include "cli/stage.h"
#include "codegen/choices.h"
#include "codegen/host/host.h"
#include "ir/optimize.h"
#include "ir/plugins.h"
#include "objects/lifted_kernels.h"
#include "objects/ptx.h"
#include "stores.h"

namespace mneme::compile {
namespace {

constexpr char kEachKernelsOwn[] = "each kernel's own";  // has the digest that stands for the IR of edits
constexpr size_t kMaxVariantsFile = 64 << 20;            // bytes
constexpr uint64_t kMostJobs = 1024;
constexpr uint32_t kMostThreads = 1024, kMostBlocks = 64;  // as a configuration may have them

// What does not change the code that --as-recorded compiles.
constexpr std::string_view kWithRecorded[] = {"--as-recorded",     "--target",  "--assembler",  "--jobs",
                                              "--compile-timeout", "--save-ir", "--instance",   "--kernel",
                                              "--output",          "--verbose", "--print-after"};

// As clang pairs them: the size levels generate code like -O2.
int codegen_level(const std::string& level) { return level == "s" || level == "z" ? 2 : std::stoi(level); }

uint32_t number_of(const char* option, uint64_t number, uint32_t most) {
  if (number > most) throw Error::of("{} takes at most {}, not {}", option, most, number);
  return static_cast<uint32_t>(number);
}

// "256", "16,16", and no more numbers than `most`: what is not said is 1.
bundle::Dim3 dimensions_of(const char* option, std::string_view text, size_t most = 3) {
  uint32_t numbers[3] = {1, 1, 1};
  std::string_view rest = text;
  size_t count = 0;
  for (bool more = true; more; ++count) {
    size_t comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    uint32_t number = 0;
    auto [end, failed] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (count == most || failed != std::errc{} || end != one.data() + one.size() || number == 0) {
      throw Error::of("{} takes one to {} numbers from 1 on, such as {}, not '{}'", option, most == 2 ? "two" : "three",
                      most == 2 ? "256,2" : "16,16", text);
    }
    numbers[count] = number;
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return {numbers[0], numbers[1], numbers[2]};
}

// The passes in lists with commas between them. Prints what there are, and ends, for "list".
std::vector<std::string> passes_named(const std::vector<std::string>& lists) {
  const std::vector<codegen::host::PassInfo> known = codegen::host::pass_list();
  std::vector<std::string> passes, names;
  for (const auto& pass : known) names.push_back(pass.name);
  for (const std::string& list : lists) {
    std::istringstream text(list);
    for (std::string name; std::getline(text, name, ',');) {
      if (name == "list") {
        for (const auto& pass : known) fmt::print("{:<11} {}\n", pass.name, pass.holds);
        std::exit(0);
      }
      if (name == "all") {
        passes = names;
      } else if (std::ranges::find(names, name) != names.end()) {
        passes.push_back(name);
      } else {
        throw Error::of("--print-after: '{}' is no pass; there are all, {}", name, fmt::join(names, ", "));
      }
    }
  }
  return passes;
}

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw Error::of("cannot make the folder '{}': {}", path, failed.message());
}

}  // namespace

// "256", "256,2".
void Settings::set_launch_bounds(bundle::Configuration& configuration) const {
  if (launch_bounds_.empty()) return;
  bundle::Dim3 bounds = dimensions_of("--launch-bounds", launch_bounds_, 2);
  configuration.max_threads = number_of("--launch-bounds", bounds.x, kMostThreads);
  if (launch_bounds_.find(',') != std::string::npos)
    configuration.min_blocks = number_of("--launch-bounds", bounds.y, kMostBlocks);
}

void Settings::add_options(cli::Options& options) {
  options.group("Compilation");
  options.choice("-O", level_, {"0", "1", "2", "3", "s", "z"}, "optimise as clang does at this level (default: 3)");
  options.value("--passes", passes_, "PIPELINE", "run this pass pipeline instead, in the syntax of opt -passes=");
  options.value("--codegen-opt", codegen_, "LEVEL", "code generation level, 0 to 3 (default: what -O implies, else 3)");
  options.value("--ir", ir_file_, "FILE", "compile this IR, .ll, .bc or .ptx, in place of the recorded kernel's");
  options.value("--source", source_file_, "FILE",
                "compile this source file, as the recorded command did, and take the kernels' IR from it");
  options.value("--from", binary_file_, "FILE",
                "take the kernels' IR from this executable, object file or library, which was built anew");
  options.value("--compiler", trust_.compiler, "PATH",
                "with --source: the clang to run (default: the recorded one, by its name)");
  options.flag("--allow-plugins", trust_.plugins, "with --source: load the plug-ins that the recorded command names");
  options.value("--code", code_file_, "FILE",
                "NVIDIA GPUs: compile nothing, and take this code in place of the kernel's: a cubin, or PTX");
  options.value("--target", target_, "TARGET",
                "the target: host (this machine's CPU), host:x86-64-v2, -v3 or -v4, or a GPU's, such as "
                "sm_90 or gfx90a (default: what the recording ran on)");
  options.value("--fast-math", fast_math_, "FLAGS",
                "floating-point operations may be rewritten: fast, or some of reassoc,nnan,ninf,nsz,arcp,contract,afn");
  options.value("--unroll-threshold", unroll_threshold_, "N", "how large a loop may become by being unrolled");
  options.value("--inline-threshold", inline_threshold_, "N",
                "NVIDIA GPUs: how large a function may be to be inlined; the host device inlines all that it can");
  options.value("--attributes", attributes_, "LIST",
                "attributes of the kernel's function, with spaces between: 'noinline key=value'");
  options.value("--opt-bisect", opt_bisect_, "N",
                "skip optional passes behind the first N, as opt -opt-bisect-limit does; with -v they are listed");
  options.values("--load-pass-plugin", plugins_, "FILE", "load further passes, as opt does; may be repeated");
  options.values("--llvm", llvm_paths_, "PATH",
                 "run the pipeline by opt of this other LLVM, and generate GPUs' code by its llc; may be repeated for "
                 "--variants, whose lines name one by its version");
  options.flag("--as-recorded", as_recorded_,
               "compile the recorded code as it ran, for mneme-run --baseline only: no run is made of it");
  options.group("Compilation for the host device");
  options.choice("--form", form_, {"auto", "loop", "fiber"},
                 "host device: how a block's work-items are run (default: auto)");
  options.flag("--fuse", fuse_, "allow multiply-adds to be fused, which changes results in the last bits");
  options.flag("--no-fuse", no_fuse_,
               "host device: do not fuse multiply-adds of a recording that a GPU made where the IR allows it");
  options.flag("--check-memory", check_memory_, "host device: check each access to memory");
  options.value(
      "--check", checks_, "LIST",
      "host device: look for faults while the kernel runs: all, or some of memory, races, init, sync and nan");
  options.flag("--algebra", algebra_,
               "host device: compute with elements of a ring in place of floating-point numbers, for mneme-verify "
               "--algebra");
  options.value("--cpu", cpu_, "CPU", "host device: generate code for this processor, as LLVM calls it");
  options.value("--features", features_, "LIST", "with these features of the processor, or without: +avx512vnni,-fma");
  options.group("Compilation for GPUs");
  options.choice(
      "--assembler", wanted_assembler_, {"auto", "ptxas", "nvjitlink", "none"},
      "NVIDIA GPUs: the assembler that makes a cubin of the PTX (default: ptxas, else nvjitlink, where there is one)");
  options.value("--ptxas-level", ptxas_level_, "LEVEL",
                "NVIDIA GPUs: how much the assembler optimises, 0 to 3 (default: as --codegen-opt)");
  options.value("--max-registers", max_registers_, "N",
                "NVIDIA GPUs: the most registers that a thread may take, 16 to 255 (default: what the code asks for)");
  options.value("--code-object", code_object_, "VERSION",
                "AMD GPUs: version of the code object, 4 to 6 (default: what the application was compiled with)");
  options.flag("--embed-ir", embeds_ir_,
               "AMD's GPUs: put the IR into the code, for mneme-run --device hip on a machine that has no such GPU");
  options.group("Launch");
  options.value("--grid", grid_, "X[,Y[,Z]]", "launch so many blocks (default: as recorded, or as --block asks for)");
  options.value("--block", block_, "X[,Y[,Z]]",
                "launch blocks of so many threads, and as many blocks as the recorded threads need");
  options.bytes("--shared-mem", shared_mem_, "BYTES", "dynamic shared memory of a block (default: as recorded)");
  options.value("--launch-bounds", launch_bounds_, "MAX[,MIN]",
                "blocks have at most MAX threads; NVIDIA GPUs: and a multiprocessor is to hold MIN blocks");
  options.value("--specialize-args", specialize_args_, "LIST",
                "compile for each instance with its values of these arguments as constants: all, which is all but "
                "pointers, or some by name or by number, counted from 0, such as n,alpha or 0,2");
  options.flag("--specialize-dims", specialize_dims_, "compile for each instance with its grid and block as constants");
  options.group("Many variants");
  options.value("--variants", variants_file_, "FILE",
                "compile each configuration that FILE (-: standard input) has, a line of json each; the options above "
                "are for what a line does not say");
  options.value("-j,--jobs", jobs_, "N", "with --variants: how many to compile at a time (default: one for each CPU)");
  options.value("--compile-timeout", timeout_, "SECONDS",
                "with --variants: give up a configuration that takes longer (default 300)");
  options.value("--follow", answers_file_, "ANSWERS",
                "compile each line of --variants as it comes, behind the first selected instance, and write what "
                "became of it to this file, a line of json each");
  options.group("Output");
  options.value("--save-ir", texts_folder_, "DIR",
                "also write the optimised IR and the assembly of each variant to DIR/VARIANT.ll and .s");
  options.values(
      "--print-after", print_after_, "PASS[,PASS]",
      "host device: print the IR to standard error after these passes of the compiler; all: after each; list: "
      "print their names, and end");
}

Asked Settings::asked(const cli::Options& options) {
  std::string level = level_.empty() ? "3" : level_;
  bool implied = passes_.empty() && !options.given("--codegen-opt");
  Asked asked;
  bundle::Configuration& configuration = asked.configuration;
  configuration.passes = passes_.empty() ? "default<O" + level + ">" : passes_;
  configuration.codegen_opt = implied ? codegen_level(level) : static_cast<int>(codegen_);
  configuration.target = target_;
  configuration.form = form_;
  configuration.fuse = fuse_;
  if (fuse_ || no_fuse_) asked.given.insert("fuse");
  configuration.check_memory = check_memory_;
  if (!checks_.empty()) {
    const bundle::WantedChecks wanted = cli::wanted_checks(checks_);
    configuration.check_memory |= wanted.memory;
    configuration.checks = wanted.checks;
    if (wanted.memory) asked.given.insert("check_memory");
    if (!wanted.checks.empty()) asked.given.insert("checks");
  }
  configuration.algebra = algebra_;
  configuration.baseline = as_recorded_;
  configuration.assembler = wanted_assembler_;
  configuration.ptxas_level = static_cast<int>(ptxas_level_);
  configuration.max_registers = static_cast<uint32_t>(std::min<uint64_t>(max_registers_, UINT32_MAX));
  configuration.cpu = cpu_;
  configuration.features = features_;
  configuration.code_object = static_cast<uint32_t>(std::min<uint64_t>(code_object_, UINT32_MAX));
  set_launch_bounds(configuration);
  if (options.given("--unroll-threshold")) {
    configuration.unroll_threshold = number_of("--unroll-threshold", unroll_threshold_, INT32_MAX);
  }
  if (options.given("--inline-threshold")) {
    configuration.inline_threshold = number_of("--inline-threshold", inline_threshold_, INT32_MAX);
  }
  if (options.given("--opt-bisect")) configuration.opt_bisect = number_of("--opt-bisect", opt_bisect_, INT32_MAX);
  configuration.fast_math = fast_math_;
  configuration.attributes = attributes_;
  for (const std::string& file : plugins_) {
    configuration.plugins += (configuration.plugins.empty() ? "" : ",") + ir::load_plugin(file);
  }
  if (!grid_.empty()) configuration.grid = dimensions_of("--grid", grid_);
  if (!block_.empty()) configuration.block = dimensions_of("--block", block_);
  if (options.given("--shared-mem")) configuration.shared_mem = number_of("--shared-mem", shared_mem_, 1 << 30);
  configuration.specialize_args = specialize_args_;
  configuration.specialize_dims = specialize_dims_;
  if (edited_ir_) configuration.ir = digest_of(*edited_ir_);
  if (llvms_.size() == 1) configuration.llvm = llvms_[0].version();
  if (edits_) configuration.ir = digest_of(kEachKernelsOwn);
  for (const char* key : {"form", "check_memory", "algebra", "assembler", "ptxas_level", "max_registers", "cpu",
                          "features", "code_object", "inline_threshold"}) {
    std::string option = std::string("--") + key;
    std::ranges::replace(option, '_', '-');
    if (options.given(option)) asked.given.insert(key);
  }
  if (configuration.min_blocks) asked.given.insert("min_blocks");
  // What has no meaning without IR (recorded_code.cc).
  constexpr std::pair<const char*, const char*> kOfIr[] = {{"-O", "level"},
                                                           {"--passes", "passes"},
                                                           {"--codegen-opt", "codegen_opt"},
                                                           {"--ir", "ir"},
                                                           {"--source", "ir"},
                                                           {"--from", "ir"},
                                                           {"--fuse", "fuse"},
                                                           {"--no-fuse", "fuse"},
                                                           {"--fast-math", "fast_math"},
                                                           {"--attributes", "attributes"},
                                                           {"--launch-bounds", "max_threads"},
                                                           {"--unroll-threshold", "unroll_threshold"},
                                                           {"--opt-bisect", "opt_bisect"},
                                                           {"--load-pass-plugin", "plugins"},
                                                           {"--specialize-args", "specialize_args"},
                                                           {"--specialize-dims", "specialize_dims"},
                                                           {"--save-ir", "save_ir"},
                                                           {"--print-after", "print_after"},
                                                           {"--llvm", "llvm"},
                                                           {"--embed-ir", "embed_ir"}};
  for (const auto& [option, key] : kOfIr) {
    if (options.given(option)) asked.given.insert(key);
  }
  asked.insisted = asked.given;
  return asked;
}

void Settings::check(const cli::Options& options, bool bundle_on_input) {
  if (fuse_ && no_fuse_) throw Error("give either --fuse or --no-fuse, not both");
  if (!level_.empty() && !passes_.empty()) throw Error("give either -O or --passes, not both");
  if (as_recorded_) {
    for (const std::string& other : options.all_given()) {
      if (std::ranges::find(kWithRecorded, other) != std::end(kWithRecorded)) continue;
      throw Error::of("--as-recorded and {} exclude each other", other);
    }
  }
  if (codegen_ > 3) throw Error::of("--codegen-opt takes a level from 0 to 3, not {}", codegen_);
  if (ptxas_level_ > 3) throw Error::of("--ptxas-level takes a level from 0 to 3, not {}", ptxas_level_);
  print_after_ = passes_named(print_after_);
  if (!print_after_.empty() && in_bulk()) {
    throw Error("--print-after is for one variant: leave out --variants");
  }
  for (const std::string& file : {ir_file_, variants_file_}) cli::keep_as_input(file);
  if (!ir_file_.empty()) edited_ir_ = read_file(ir_file_, bundle::kMaxCodeSize);
  const char* const givers[] = {ir_file_.empty() ? "" : "--ir", source_file_.empty() ? "" : "--source",
                                binary_file_.empty() ? "" : "--from", code_file_.empty() ? "" : "--code"};
  std::vector<std::string> given;
  for (const char* giver : givers) {
    if (*giver) given.emplace_back(giver);
  }
  if (given.size() > 1) throw Error::of("{} and {} exclude each other", given[0], given[1]);
  if ((!trust_.compiler.empty() || trust_.plugins) && source_file_.empty()) {
    throw Error("--compiler and --allow-plugins are for --source");
  }
  for (const std::string& file : {source_file_, binary_file_}) cli::keep_as_input(file);
  if (!source_file_.empty()) edits_ = Edits::from_source(source_file_, trust_);
  if (!binary_file_.empty()) edits_ = Edits::from_binary(binary_file_);
  if (!code_file_.empty()) {
    cli::keep_as_input(code_file_);
    if (as_recorded_) throw Error("--code and --as-recorded exclude each other");
    given_code_ = compile::given_code(code_file_);
  }
  if (!llvm_paths_.empty() && (embeds_ir_ || !plugins_.empty())) {
    throw Error::of("--llvm and {} exclude each other", embeds_ir_ ? "--embed-ir" : "--load-pass-plugin");
  }
  for (const std::string& path : llvm_paths_) llvms_.emplace_back(path);
  if (llvms_.size() > 1 && !in_bulk()) throw Error("several --llvm are for --variants, whose lines name one of them");
  by_options_ = asked(options);
  // Another LLVM may know other passes.
  if (llvms_.empty()) ir::check_pipeline(by_options_.configuration.passes, by_options_.configuration.plugins);
  if (!texts_folder_.empty()) make_folder(texts_folder_);
  if (in_bulk()) {
    if (!options.given("--jobs")) jobs_ = std::max(1u, std::thread::hardware_concurrency());
    if (jobs_ == 0 || jobs_ > kMostJobs) {
      throw Error::of("--jobs takes a number from 1 to {}, not {}", kMostJobs, jobs_);
    }
    if (timeout_ <= 0) throw Error("--compile-timeout must be more than 0 seconds");
    open_variants(bundle_on_input);
  } else if (follows()) {
    throw Error("--follow needs --variants");
  }
  if (!target_.empty() && !given_code_) check_target();
}

// What LLVM cannot compile for, a kernel without IR may have run on.
void Settings::check_target() {
  try {
    wanted_for(target_);
  } catch (const Error&) {
    if (nvidia_target(target_).empty()) throw;
  }
}

void Settings::open_variants(bool bundle_on_input) {
  bool on_input = variants_file_ == "-";
  if (on_input && bundle_on_input) {
    throw Error("--variants - and the bundle cannot both come from standard input: name a file for one of them");
  }
  variants_name_ = on_input ? "standard input" : "'" + variants_file_ + "'";
  if (follows()) {
    cli::check_is_no_input(answers_file_);
    answers_ = open_file(answers_file_, O_WRONLY | O_CREAT | O_TRUNC);
    lines_.emplace(on_input ? Fd(::dup(STDIN_FILENO)) : open_file(variants_file_, O_RDONLY), variants_name_);
    return;
  }
  std::string text = on_input ? read_all(STDIN_FILENO, "standard input", kMaxVariantsFile)
                              : read_file(variants_file_, kMaxVariantsFile);
  asked_ = parse_variants(text, variants_name_, by_options_);
}

Wanted Settings::take(const Line& line, const bundle::KernelInfo& kernel) {
  Asked asked = parse_variant(line.text, line.number, variants_name_, by_options_);
  if (takes_code(kernel)) {
    Wanted wanted = wanted_by_code(kernel, asked);
    asked_.push_back(std::move(asked));
    return wanted;
  }
  Wanted wanted = wanted_of(kernel, wanted_by(asked, variants_name_, target_for(kernel), normaliser_));
  name_ir(kernel, wanted);
  codegen::arguments_named(kernel, wanted.configuration.specialize_args);
  asked_.push_back(std::move(asked));
  wanted_.clear();
  return wanted;
}

// Of lines that come later it is not known, but that they may.
bool Settings::launches_otherwise() const {
  return follows() || compile::launches_otherwise(by_options_.configuration) ||
         std::ranges::any_of(asked_, [](const Asked& one) { return compile::launches_otherwise(one.configuration); });
}

void Settings::set_recorded_on(const std::string& device) {
  recorded_on_ = device;
  normaliser_.set_recorded_on_gpu(on_gpu());
  wanted_.clear();
  if (target_.empty() && !on_gpu()) wanted_for("");
}

bool Settings::wants_ir(const bundle::KernelInfo& kernel) const {
  if (follows() || needs_ir(kernel, by_options_)) return true;
  return std::ranges::any_of(asked_, [&](const Asked& asked) { return needs_ir(kernel, asked); });
}

const std::string* Settings::edited_ir(const Digest& kernel) const {
  if (edited_ir_) return &*edited_ir_;
  auto edited = edited_.find(kernel);
  return edited == edited_.end() ? nullptr : &edited->second;
}

// In a configuration that is for all kernels.
void Settings::name_ir(const bundle::KernelInfo& kernel, Wanted& wanted) const {
  if (!edits_ || wanted.configuration.ir.empty()) return;
  wanted.configuration.ir = digest_of(edited_.at(kernel.id));
}

void Settings::prepare(bundle::KernelMember& kernel) {
  if (edits_) edited_[kernel.info.id] = edits_->ir_of(kernel.info);
  if (edited_ir_ && objects::is_ptx(*edited_ir_)) {
    edited_ir_ = objects::lift_kernel(bytes_of(*edited_ir_), kernel.info.name).bitcode;
  }
  if (!takes_code(kernel.info)) return;
  if (!given_code_ && wants_ir(kernel.info)) lift(kernel);
  kernel.info.stores = stores_of(kernel);
}

void Settings::lift(bundle::KernelMember& kernel) {
  const std::string_view ptx = ptx_of(kernel);
  if (ptx.empty()) return;
  try {
    const std::string own = objects::ptx_of_kernel(ptx, kernel.info.name);
    objects::LiftedKernel lifted = objects::lift_kernel(bytes_of(own), kernel.info.name);
    check_parameters(kernel.info, parameters_of(lifted.info), "the PTX");
    lifted.info.id = kernel.info.id;
    lifted.info.bitcode = {};
    lifted.info.code = kernel.info.code;
    lifted.info.code_digest = kernel.info.code_digest;
    lifted.info.ptx = kernel.info.ptx;
    lifted.info.target = kernel.info.target;
    kernel.info = std::move(lifted.info);
    kernel.bitcode = std::move(lifted.bitcode);
  } catch (const Error& error) {
    unliftable_[kernel.info.id] = error.what();
  }
}

// Of a kernel without IR, or with code that --code gives.
Wanted Settings::wanted_by_code(const bundle::KernelInfo& kernel, const Asked& asked) {
  if (!kernel.lifted.empty() && needs_ir(kernel, asked)) {
    if (asked.line > 0) return wanted_of(kernel, wanted_by(asked, variants_name_, target_for(kernel), normaliser_));
    Asked own = asked;
    own.configuration.target = target_for(kernel);
    Wanted wanted = wanted_of(kernel, normaliser_.normalise(std::move(own)));
    check_outputs({wanted});
    return wanted;
  }
  auto unliftable = unliftable_.find(kernel.id);
  const std::string why = unliftable == unliftable_.end() ? std::string() : unliftable->second;
  try {
    return wanted_code(kernel, asked, given_code(), normaliser_, why);
  } catch (const Error& error) {
    if (asked.line == 0) throw;
    throw Error(place_of(asked.line, variants_name_) + ": " + error.what(), error.exit());
  }
}

std::vector<Wanted> Settings::wanted(const bundle::KernelInfo& kernel) {
  if (!takes_code(kernel)) {
    std::vector<Wanted> all = wanted_of(kernel, wanted_for(target_for(kernel)));
    for (Wanted& one : all) name_ir(kernel, one);
    return all;
  }
  if (!in_bulk()) return {wanted_by_code(kernel, by_options_)};
  std::vector<Wanted> all;
  std::set<std::string> known;
  for (const Asked& asked : asked_) {
    Wanted one = wanted_by_code(kernel, asked);
    if (known.insert(bundle::write(one.configuration)).second) all.push_back(std::move(one));
  }
  return all;
}

std::string Settings::target_for(const bundle::KernelInfo& kernel) const {
  if (!target_.empty() || !on_gpu()) return target_;
  // The GPU that it was built for.
  bool nvidia = recorded_on_ == "cuda";
  size_t processor = kernel.target.rfind("--");
  if (!kernel.target.starts_with(nvidia ? "nvptx64" : "amdgcn") || processor == std::string::npos) {
    throw Error::of("kernel '{}' was compiled for {}, but recorded on an {} GPU: give --target", kernel.demangled,
                    kernel.target, nvidia ? "NVIDIA" : "AMD");
  }
  return recorded_on_ + ":" + kernel.target.substr(processor + 2);
}

void Settings::check_outputs(const std::vector<Wanted>& all) const {
  auto is_amds = [](const Wanted& one) { return one.configuration.target.starts_with("hip:"); };
  if (embeds_ir_ && !follows() && std::ranges::none_of(all, is_amds)) {
    throw Error::of("--embed-ir is for AMD's GPUs, not for --target {}", all.at(0).configuration.target);
  }
  if (!print_after_.empty() && !all.at(0).configuration.target.starts_with("host:")) {
    throw Error::of("--print-after is for the host device's compiler, not for --target {}",
                    all.at(0).configuration.target);
  }
}

const std::vector<Wanted>& Settings::wanted_for(const std::string& target) {
  if (auto known = wanted_.find(target); known != wanted_.end()) return known->second;
  std::vector<Wanted> all;
  if (in_bulk()) {
    all = all_wanted_by(asked_, variants_name_, target, normaliser_);
  } else {
    Asked asked = by_options_;
    asked.configuration.target = target;
    all.push_back(normaliser_.normalise(std::move(asked)));
  }
  check_outputs(all);
  return wanted_.emplace(target, std::move(all)).first->second;
}

}  // namespace mneme::compile
