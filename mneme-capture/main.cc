// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-capture: runs an application, records kernel launches, writes them as a bundle.
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>

#include "application.h"
#include "applying/applying.h"
#include "applying/checker.h"
#include "base/long_names.h"
#include "base/process.h"
#include "cli/checks.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "cuda_program.h"
#include "gpu.h"
#include "memory/arena.h"
#include "recorder/apply/report.h"
#include "recorder/link/rank.h"
#include "report.h"
#include "session.h"

namespace mneme::capture {
namespace {

constexpr uint64_t kChunk = uint64_t{64} << 20;  // what the recorder maps at a time
constexpr uint64_t kMaxRange = memory::kHostBase - memory::kDeviceBase;

struct Settings {
  std::string device = "auto";
  std::string kernel;
  SessionSettings session;
  std::string children = "record";
  std::string ranks;
  std::optional<int64_t> rank;  // of this process, if an MPI launcher started it
  std::string reach = "all";
  bool pass_exit = false;
  bool check_memory = false;
  std::string check;             // the value of --check
  bundle::WantedChecks checks;   // which it asks for
  cli::FindingOptions findings;  // which of them are wanted
  std::optional<TemporaryFolder> found;
  bool keep_aslr = false;
  uint64_t host_devices = 1;
  bool summary = false;
  ApplySettings apply;
  std::string report;  // a file
  std::vector<std::string> command;
};

void add_options(cli::Options& options, Settings& settings, cli::Output& output) {
  SessionSettings& session = settings.session;
  session.range_size = memory::kDefaultRangeSize;
  options.group("Selection");
  options.value("--kernel", settings.kernel, "REGEX",
                "record only kernels whose demangled name matches; with --apply: apply variants of these only");
  options.value("--max-instances", session.max_instances, "N",
                "record at most N launches of each kernel (default 4); 0 only runs the application on the device");
  options.value("--occurrences", session.occurrences, "N",
                "record at most N launches alike in dimensions and scalar arguments (default 1)");
  options.value("--skip", session.skip, "N", "leave out the first N launches of each kernel");
  options.value("--every", session.every, "N", "of the launches of each kernel after those, consider each Nth only");
  options.flag("--only-config", session.only_config,
               "launches are alike if their dimensions are the same, whatever their arguments");
  options.choice("--reach", settings.reach, {"all", bundle::kReachArguments},
                 "record all memory that kernels can see (all, the default), or only allocations that a launch's "
                 "arguments lead to, and the pointers in these");
  options.choice("--children", settings.children, {"record", "leave"},
                 "record processes that the application forks or starts, too (record, the default), or one only");
  options.value("--ranks", settings.ranks, "RANKS",
                "of an MPI job's processes, record these: all, or such as 0,4-7 (default 0; all with %r in -o)");
  options.group("Launch");
  options.choice(
      "--device", settings.device, {"auto", "host", "cuda", "hip"},
      "where kernels run; auto (the default): a CUDA program's on an NVIDIA GPU, a HIP program's on an AMD GPU, if "
      "there is one, else on the CPU");
  options.value("--host-devices", settings.host_devices, "N",
                "let the host device be N devices (default 1, at most 8)");
  options.flag("--check-memory", settings.check_memory,
               "host device: check each access of kernels to memory, and name the first that is wrong");
  settings.findings.add_options(options);
  options.flag("--keep-aslr", settings.keep_aslr,
               "host device: leave address-space layout randomisation on; addresses differ from run to run");
  options.bytes("--va-size", session.range_size, "BYTES",
                "address space for each range of recorded memory (default 1T)");
  options.flag("--pass-exit", settings.pass_exit, "end with the application's own exit status when it fails");
  options.group("Variants");
  options.value(
      "--apply", settings.apply.bundle, "BUNDLE",
      "launch the variants that BUNDLE chooses (mneme-restore --tuned) in place of the application's own code; "
      "record only with -o");
  options.value(cli::kCheckOption, settings.check, "LIST|N",
                "host device: look for faults while kernels run: all, or some of memory, races, init, sync and nan; "
                "with --apply, a number: the first N launches of each choice are made by the application's own code, "
                "and the variant is "
                "run on the same memory; one that differs is not applied, and the exit status is 1");
  options.flag("--infer", settings.apply.infer, "with --check: compare as mneme-verify --infer does");
  options.flag("--measure", settings.apply.measure,
               "with --apply: launch the application's own code and the variant in turn, and compare their times");
  options.choice(
      "--record-applied", settings.apply.recorded, {"own", "variant"},
      "with --apply and -o: make launches that are recorded by the application's own code (own, the default), "
      "or by the variant");
  options.choice(
      "--undo", settings.apply.undo, {"cheap", "always"},
      "with --apply, host device: run the application's own code where a variant faults, if keeping memory for that is "
      "cheap (the default), or always: memory is copied ahead of each launch, and streams take turns");
  options.value("--report", settings.report, "FILE",
                "with --apply: write a report of what was applied to FILE, as JSON");
  options.group("Output");
  options.flag("--summary", settings.summary, "at the end, print what was launched, recorded and skipped, and why");
  output.add_options(options);
  options.command(settings.command, "APPLICATION", "the application, and its arguments");
}

// A number is how many launches of a variant are checked, a list is what kernels are checked for.
void read_checks(Settings& settings) {
  const std::string& check = settings.check;
  if (!check.empty() && check.find_first_not_of("0123456789") == std::string::npos) {
    const auto [end, error] = std::from_chars(check.data(), check.data() + check.size(), settings.apply.checks);
    if (error != std::errc()) throw Error::of("{} {} is too large a number", cli::kCheckOption, check);
    return;
  }
  settings.checks = cli::wanted_checks(check);
  settings.check_memory |= settings.checks.memory;
  settings.findings.read();
  if (!settings.checks.checks.empty()) settings.found.emplace("mneme-findings");
}

std::string findings_file(const Settings& settings) { return settings.found->path() + "/findings"; }

// For the host device's runtime.
std::vector<std::string> variables_of_checks(const Settings& settings) {
  if (!settings.found) return {};
  std::vector<std::string> variables = settings.findings.variables();
  variables.push_back("MNEME_CHECK=" + settings.checks.checks);
  variables.push_back("MNEME_FINDINGS=" + findings_file(settings));
  write_file(findings_file(settings), "");
  return variables;
}

// The findings have been said.
Exit judge_findings(const Settings& settings, Exit exit) {
  if (exit != Exit::kSuccess || !settings.found) return exit;
  return std::filesystem::file_size(findings_file(settings)) > 0 ? Exit::kNotVerified : exit;
}

void check(Settings& settings, bool records, std::optional<cli::Expression>& kernels) {
  const bool applies = !settings.apply.bundle.empty();
  if (!applies && settings.apply.measure) throw Error("--measure needs --apply");
  if (!applies && settings.apply.undo != "cheap") throw Error("--undo needs --apply");
  if (!applies && !settings.report.empty()) throw Error("--report needs --apply");
  if (settings.apply.recorded != "own" && !(applies && records)) throw Error("--record-applied needs --apply and -o");
  read_checks(settings);
  if (!applies && settings.apply.checks > 0) throw Error("--check with a number needs --apply");
  if (settings.apply.infer && settings.apply.checks == 0) throw Error("--infer needs --check");
  if (settings.apply.checks > 0 && records) throw Error("--check and -o exclude each other: check in a run of its own");
  if (settings.command.empty()) throw Error("no application was given: mneme-capture [OPTIONS] ./app ARGS...");
  settings.apply.kernel = settings.kernel;
  if (!settings.kernel.empty()) kernels.emplace("--kernel", settings.kernel);
  if (settings.session.occurrences == 0) throw Error("--occurrences must be at least 1");
  if (settings.session.every == 0) throw Error("--every must be at least 1");
  if (settings.host_devices == 0 || settings.host_devices > uint64_t{memory::kMostDevices}) {
    throw Error::of("--host-devices must be from 1 to {}", memory::kMostDevices);
  }
  settings.session.children = settings.children == "record";
  uint64_t& range = settings.session.range_size;
  const uint64_t most = kMaxRange / settings.host_devices;
  if (range < kChunk || range > most) {
    throw Error::of("--va-size must be between 64M and {}T", most >> 40);
  }
  range = (range + kChunk - 1) / kChunk * kChunk;
}

// Which ranks are recorded, and the bundle's name. A launcher starts one of us for each rank, or we the launcher.
void choose_ranks(Settings& settings, const cli::Options& options, cli::Output& output) {
  Ranks& ranks = settings.session.ranks;
  settings.rank = record::rank_in_environment();
  bool name_of_its_own = names_each_rank(output.path());
  if (options.given("--ranks")) {
    ranks = Ranks::parse(settings.ranks);
  } else if (settings.rank && name_of_its_own) {
    ranks = Ranks::all();
  }
  if (settings.rank && ranks.several() && !name_of_its_own) {
    throw Error::of(
        "several ranks are recorded, and this one of them, rank {}, was started by the launcher: each needs a bundle "
        "of "
        "its own; name them with %r, as in -o rank-%r.tar",
        *settings.rank);
  }
  output.set_path(name_for_process(output.path(), settings.rank, ::getpid()));
}

// The GPU if the application is for one of its maker's, else the CPU; says which, and why. What a script or a
// launcher starts is seen when it is there.
Device choose_by_application(const std::vector<std::string>& command) {
  if (!has_nvidia_gpu()) {
    if (!file_exists(kAmdDriver) || !has_amd_gpu()) {
      cli::note("no GPU was found: using the host device");
      return Device::kHost;
    }
    if (kind_of_programs(command) == ProgramKind::kHip) {
      cli::note("using the AMD GPU");
      return Device::kHip;
    }
    cli::note(
        fmt::format("there is an AMD GPU, but '{}' does not use the HIP runtime: using the host device "
                    "(--device hip uses the GPU)",
                    command[0]));
    return Device::kHost;
  }
  switch (kind_of_programs(command)) {
    case ProgramKind::kCuda:
      cli::note("using the NVIDIA GPU");
      return Device::kCuda;
    case ProgramKind::kHip:
      cli::note(fmt::format("there is an NVIDIA GPU, but '{}' does not use the CUDA runtime: using the host device",
                            command[0]));
      return Device::kHost;
    case ProgramKind::kUnknown:
      break;
  }
  return Device::kEither;
}

Device choose_device(const std::string& name, const std::vector<std::string>& command) {
  if (name == "hip") {
    if (has_amd_gpu()) return Device::kHip;
    throw Error::of(Exit::kMissing,
                    "there is no AMD GPU here, or no HIP runtime (libamdhip64.so) that finds one: use --device host");
  }
  if (name == "cuda") {
    if (has_nvidia_gpu()) return Device::kCuda;
    throw Error::of(Exit::kMissing, "there is no NVIDIA GPU here: use --device host");
  }
  return name == "auto" ? choose_by_application(command) : Device::kHost;
}

// On a GPU its calls of the driver are seen; the host device takes the place of the shared one.
void warn_of_static_runtime(const std::vector<std::string>& command, Device device) {
  if (device != Device::kHost) return;
  std::string program = with_static_cudart(command, stand_in_folder(device));
  if (program.empty()) return;
  cli::warn(fmt::format(
      "'{}' is linked with the static CUDA runtime, whose launches are not seen on the host device: link the "
      "shared one, as mneme-inject and nvcc -cudart shared do",
      program));
}

bundle::BundleInfo describe_bundle(const Settings& settings, const cli::Options& options, const char* device,
                                   const std::vector<record::Reserved>& elsewhere, bool has_source) {
  bundle::BundleInfo info;
  info.has_source = has_source;
  info.device = device;
  const bool may_have_textures = info.device == "host" && kind_of_programs(settings.command) != ProgramKind::kHip;
  if (may_have_textures) info.version = bundle::kTexturesRecorded;
  if (info.device == "cuda") info.version = bundle::kKernelsWithoutIr;
  uint64_t size = settings.session.range_size;
  for (int i = 0; i < static_cast<int>(settings.host_devices); ++i) {
    std::string name = i ? fmt::format("device {}", i) : "device";
    info.ranges.push_back({name, memory::device_base(i, size), size});
  }
  for (const record::Reserved& reserved : elsewhere) {
    if (reserved.device < info.ranges.size()) {
      info.ranges[reserved.device].base = reserved.address;
      info.ranges[reserved.device].size = reserved.size;
    }
  }
  info.ranges.push_back({"host", memory::kHostBase, size});
  info.provenance = {{"mneme-capture", cli::kVersion, options.arguments(), 0}};
  return info;
}

std::string times(uint64_t count) { return count == 1 ? "1 launch" : fmt::format("{} launches", count); }

// What the application's end makes of the exit status.
Exit judge_application(int status, const Settings& settings) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Exit::kSuccess;
  std::string message = fmt::format("'{}' {}", settings.command[0], describe_wait_status(status));
  if (!settings.pass_exit) throw Error(message, Exit::kApplicationFailed);
  cli::warn(message);
  return static_cast<Exit>(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

bool is_one_of_several_ranks(const Settings& settings) { return settings.rank && settings.session.ranks.several(); }

// A recording with nothing in it is worth nothing: throws Error that says why it is so.
void check_recorded(const Capture& capture, const Settings& settings) {
  if (!capture.instances.empty()) return;
  if (is_one_of_several_ranks(settings)) {
    // Others may have launched something, and a launcher ends them all when one fails.
    return cli::warn(fmt::format("rank {}: no launch was recorded", *settings.rank));
  }
  if (capture.launches == 0 && capture.summary.skipped.empty()) {
    if (!capture.unheard.empty()) {
      throw Error::of("no launch of '{}' was recorded: {}", settings.command[0], capture.unheard);
    }
    if (capture.other_ranks > 0 && capture.other_ranks == capture.processes) {
      throw Error::of("no launch of '{}' was recorded: its processes have ranks that --ranks leaves out",
                      settings.command[0]);
    }
    throw Error::of("'{}' launched no kernels{}", settings.command[0],
                    capture.left_alone  ? " in the process that is recorded; --children leave leaves out the others"
                    : capture.processes ? ""
                                        : ": mneme-capture heard of no process that uses HIP or CUDA");
  }
  const auto& reasons = capture.unrecordable.empty() ? capture.summary.skipped : capture.unrecordable;
  if (reasons.empty()) throw Error::of("no launch of '{}' was recorded", settings.command[0]);
  auto is_selected = [&](const bundle::Skipped& skipped) {
    return !capture.kernels || capture.kernels->matches(skipped.kernel);
  };
  if (std::ranges::none_of(reasons, is_selected)) {
    std::vector<std::string> launched;
    for (const bundle::Skipped& skipped : reasons) launched.push_back(skipped.kernel);
    throw cli::no_kernel_matches(settings.kernel, launched);
  }
  std::string others;
  if (reasons.size() > 1) others = fmt::format("; --summary has {} more", reasons.size() - 1);
  throw Error::of("no launch of '{}' was recorded: {}, {}: {}{}", settings.command[0], reasons[0].kernel,
                  times(reasons[0].launches), reasons[0].reason, others);
}

// Those that the loader has to be told of by name.
std::vector<std::string> overruled_stand_ins(const Settings& settings, Device device) {
  if (device == Device::kCuda || device == Device::kHip) return {};
  return overruled_libraries(settings.command, stand_in_folder(device));
}

// Runs the application on the device, with its own code or with what is applied. Returns its wait status.
int run_alone(const Settings& settings, const Signals& signals, Device device, bool output_to_errors,
              const Applying* applying = nullptr) {
  Surroundings surroundings{
      device, {}, settings.check_memory, output_to_errors, static_cast<int>(settings.host_devices)};
  surroundings.preloaded = overruled_stand_ins(settings, device);
  surroundings.checks = variables_of_checks(settings);
  if (applying) surroundings.applied = applying->variables();
  Application application(settings.command, surroundings, signals);
  return application.wait(signals);
}

Exit run_unrecorded(const Settings& settings, const Signals& signals, Device device, bool output_to_errors) {
  const Exit exit = judge_application(run_alone(settings, signals, device, output_to_errors), settings);
  return judge_findings(settings, exit);
}

// What was applied, at the end. The exit status: whether a variant differs from the application's own code.
Exit judge_applied(const Settings& settings, Applying& applying, double seconds) {
  applying.collect();
  if (!settings.report.empty()) write_file(settings.report, json_report(applying, seconds));
  if (settings.summary) {
    for (const std::string& line : report(applying, seconds)) cli::note(line);
  }
  for (const Missed& miss : applying.misses()) {
    if (miss.reason != record::kOtherCode || applying.applied() == 0) continue;
    cli::warn(fmt::format("kernel '{}': no variant is applied: {}; tune the application as it is now",
                          cut_in_the_middle(miss.kernel), miss.reason));
  }
  if (applying.applied() == 0) {
    cli::warn(fmt::format("no launch was applied: '{}' launched {} of kernels with choices{}", settings.command[0],
                          times(applying.launches()),
                          applying.misses().empty() ? "" : "; the first reason: " + applying.misses()[0].reason));
  }
  return applying.differing() + applying.faulted() > 0 ? Exit::kNotVerified : Exit::kSuccess;
}

// Runs it with the recorder; what the bundle says of it goes to `capture`. Returns its wait status.
int run_recorded(const Settings& settings, const Signals& signals, const Surroundings& surroundings, Session& session,
                 const std::function<void()>& started) {
  Application application(settings.command, surroundings, signals);
  started();
  session.start();
  int status = application.wait(signals);
  session.close();
  // A process that it left in the background goes on being recorded, for as long as the user wants.
  if (interrupted_before(session.ended_descriptor(), signals)) session.abort();
  session.join();
  return status;
}

const char* name_of(Device device, bool on_gpu) { return !on_gpu ? "host" : device == Device::kHip ? "hip" : "cuda"; }

// Runs the application and records it. `begun` is called when it is known where its kernels run, and `started` when it
// has been started. Returns its wait status.
int record(const Settings& settings, const cli::Options& options, const Signals& signals, Device device,
           Capture& capture, const Applying* applying, bool output_to_errors,
           const std::function<void(const std::string& device)>& begun, const std::function<void()>& started) {
  Session session(settings.session, capture);
  Surroundings surroundings{device,
                            session.socket_name(),
                            settings.check_memory,
                            output_to_errors,
                            static_cast<int>(settings.host_devices),
                            settings.keep_aslr,
                            overruled_stand_ins(settings, device)};
  surroundings.checks = variables_of_checks(settings);
  if (applying) surroundings.applied = applying->variables();

  // Where AMD's runtime has the memory is known when there is some.
  const bool is_known = device == Device::kHost || device == Device::kCuda;
  if (is_known) capture.on_gpu = device == Device::kCuda;
  auto begin = [&](bool on_gpu, bool has_source) {
    const char* where = name_of(device, on_gpu);
    if (!is_known) begun(where);
    std::string info = bundle::write(describe_bundle(settings, options, where, capture.reserved, has_source));
    capture.queue.add([info](bundle::Writer& w) { w.add(std::string(bundle::kBundleMember), info); });
  };
  capture.begin = [&](bool on_gpu, bool has_source) {
    if (device == Device::kEither) cli::note(on_gpu ? "using the NVIDIA GPU" : "using the host device");
    begin(on_gpu, has_source);
  };
  int status = run_recorded(settings, signals, surroundings, session, [&] {
    started();
    if (is_known) begun(name_of(device, *capture.on_gpu));
  });
  if (!capture.has_source) begin(capture.on_gpu.value_or(device == Device::kHip), false);
  capture.queue.finish();
  if (!session.failure().empty()) capture.failure = session.failure();
  return status;
}

// Runs the application with variants in place of its own kernels, of which the first launches are checked.
Exit run_applied(const Settings& settings, const cli::Options& options, const Signals& signals, Device device) {
  Applying applying(settings.apply);
  const auto start = std::chrono::steady_clock::now();
  // However the application ended, the report says what was applied.
  auto end = [&](int status) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const Exit judged = judge_applied(settings, applying, took.count());
    const Exit exit = judge_application(status, settings);
    return exit == Exit::kSuccess ? judged : exit;
  };
  if (settings.apply.checks == 0) return end(run_alone(settings, signals, device, false, &applying));

  Checker checker(applying);
  bundle::Writer writer(checker.fd(), "the pipe to mneme-run");
  BundleQueue queue(writer, bundle::physical_memory() / 4);
  Capture capture(queue);
  capture.checker = &checker;
  capture.verbose = options.verbose();
  int status = record(
      settings, options, signals, device, capture, &applying, false,
      [&](const std::string& where) { checker.run_on(where); }, [] {});
  writer.finish();
  checker.close();
  if (!capture.failure.empty()) cli::warn("launches could not be checked: " + capture.failure);
  return end(status);
}

Exit capture_application(int argc, char** argv) {
  Settings settings;
  cli::Output output;
  cli::Options options("mneme-capture", "Runs an application and records its kernel launches as a bundle.");
  add_options(options, settings, output);
  options.parse(argc, argv);
  std::optional<cli::Expression> kernels;
  check(settings, !output.path().empty(), kernels);
  choose_ranks(settings, options, output);
  if (settings.apply.checks > 0) settings.session.ranks = Ranks::all();  // each rank's launches are checked
  Device device = choose_device(settings.device, settings.command);
  if (settings.found && (device == Device::kCuda || device == Device::kHip)) {
    throw Error::of("{} {} is for the host device: give --device host", cli::kCheckOption, settings.check);
  }
  settings.session.host_only = device == Device::kHost;
  warn_of_static_runtime(settings.command, device);

  // From here on signals wait to be read, in every thread.
  Signals signals;
  if (settings.session.max_instances == 0) {
    output.set_kind(cli::Output::Kind::kOther);  // the application's own
    return run_unrecorded(settings, signals, device, false);
  }
  if (!settings.apply.bundle.empty() && output.path().empty()) {
    output.set_kind(cli::Output::Kind::kOther);
    return run_applied(settings, options, signals, device);
  }
  // What a launcher's other processes print goes where this rank's bundle goes: not beside a bundle.
  if (settings.rank && !settings.session.ranks.contains(*settings.rank)) {
    output.set_kind(cli::Output::Kind::kOther);
    return run_unrecorded(settings, signals, device, !output.is_file());
  }

  // Output says so, too, but an -o behind the application is the application's.
  if (!output.is_file() && ::isatty(STDOUT_FILENO)) {
    throw Error(
        "a bundle is not written to a terminal; use -o FILE ahead of the application, or pipe it into the next tool");
  }
  output.open_uncleared();
  bundle::Writer writer(output.fd(), output.name());
  BundleQueue queue(writer, bundle::physical_memory() / 4);
  Capture capture(queue);
  capture.kernels = std::move(kernels);
  capture.verbose = options.verbose();
  capture.reach = settings.reach;
  std::optional<Applying> applying;
  if (!settings.apply.bundle.empty()) applying.emplace(settings.apply);
  const auto start = std::chrono::steady_clock::now();

  // An application that cannot be started leaves no bundle, and a file what it was. However it ends, what was recorded
  // becomes a whole bundle.
  int status = record(
      settings, options, signals, device, capture, applying ? &*applying : nullptr, !output.is_file(),
      [](const std::string&) {}, [&] { output.clear(); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  capture.summary.application = describe_wait_status(status);
  capture.summary.totals->stored_bytes = writer.memory_bytes();
  // An error follows; a tool that reads this from a pipe need not add another.
  capture.summary.failed = capture.instances.empty() && !is_one_of_several_ranks(settings);
  writer.add(std::string(bundle::kSummaryMember), bundle::write(capture.summary));
  writer.finish();
  output.close();

  if (settings.summary) {
    for (const std::string& line : report(capture.summary)) cli::note(line);
  }
  // Where nothing was recorded, the error says why.
  const bool error_says_why = capture.summary.failed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  for (const bundle::Skipped& skipped : capture.unrecordable) {
    if (error_says_why) break;
    cli::warn(fmt::format("{}: {} not recorded: {}", skipped.kernel, times(skipped.launches), skipped.reason));
  }
  for (const auto& [kernel, changes] : capture.changing) {
    if (changes) continue;
    cli::warn(fmt::format(
        "{}: no recorded launch changes memory, which is weak evidence: code that does nothing would be verified, too; "
        "record other launches",
        kernel));
  }
  if (!capture.failure.empty()) throw Error("recording failed: " + capture.failure);
  const Exit judged = applying ? judge_applied(settings, *applying, took.count()) : Exit::kSuccess;
  Exit exit = judge_application(status, settings);
  if (exit == Exit::kSuccess) check_recorded(capture, settings);
  return judge_findings(settings, exit == Exit::kSuccess ? judged : exit);
}

}  // namespace
}  // namespace mneme::capture

int main(int argc, char** argv) {
  return mneme::cli::run_tool("mneme-capture", [&] { return mneme::capture::capture_application(argc, argv); });
}
