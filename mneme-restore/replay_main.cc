// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program that mneme-restore --executable puts before a bundle: replays that bundle and judges the runs, as
// mneme-run and mneme-verify do. Its worker processes are itself, started anew. It is linked with archives and needs
// only the C library.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "on_demand.h"
#include "program_file.h"
#include "replay/judge/verify_stage.h"
#include "replay/run_stage.h"
#include "replay/worker/working.h"

using namespace mneme;

namespace {

constexpr const char kWorkerWord[] = "--replay-worker";
constexpr const char kSelf[] = "/proc/self/exe";

// A part of this process's work, in a child of its own. What it tells, it tells itself.
class Child {
 public:
  // `work` writes to standard output, which is output() here.
  Child(const std::string& tool, const std::function<Exit()>& work) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot make a pipe");
    output_ = Fd(ends[0]);
    Fd theirs(ends[1]);
    process_ = ::fork();
    if (process_ < 0) throw system_error("cannot start a process");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(theirs.get(), STDOUT_FILENO);
    theirs = Fd();
    output_ = Fd();
    ::_exit(cli::run_tool(tool, work));
  }
  ~Child() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int output() const { return output_.get(); }
  // Whether it has written all that it will.
  bool has_ended() const {
    pollfd entry{output_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1 && !(entry.revents & POLLIN);
  }
  // Its exit status. Throws Error if it has none.
  Exit end() {
    int status = wait();
    if (!WIFEXITED(status)) throw Error("the process that replays " + describe_wait_status(status));
    return static_cast<Exit>(WEXITSTATUS(status));
  }

 private:
  int wait() {
    int status = 0;
    pid_t process = std::exchange(process_, -1);
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  Fd output_;
  pid_t process_ = -1;
};

struct Destination {
  int fd;
  std::string name;
};

// So many bytes, or as many as there are.
void copy(int from, const std::vector<Destination>& to, uint64_t size = UINT64_MAX) {
  std::vector<std::byte> chunk(1 << 20);
  while (size > 0) {
    ssize_t n = ::read(from, chunk.data(), std::min<uint64_t>(chunk.size(), size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("cannot read the recording");
    if (n == 0) return;
    for (const Destination& one : to) write_all(one.fd, Bytes(chunk).first(static_cast<size_t>(n)), one.name);
    size -= static_cast<uint64_t>(n);
  }
}

// Those that options ask for. Throws Error where none can be had.
std::vector<bundle::VariantMember> wanted_on_demand(std::vector<bundle::VariantMember> all, bool baseline,
                                                    bool check_memory) {
  auto count = [&](auto is) { return std::ranges::count_if(all, is); };
  auto is_recorded = [](const bundle::VariantMember& variant) { return variant.info.configuration.baseline; };
  auto is_checked = [](const bundle::VariantMember& variant) { return variant.info.configuration.check_memory; };
  auto refuse = [](const char* option) {
    throw Error::of("this program has no code to replay with {}: mneme-restore said so when it made the program",
                    option);
  };
  if (baseline && count(is_recorded) == 0) refuse("--baseline");
  if (check_memory && count(is_checked) == 0) refuse("--check-memory");
  if (!baseline) std::erase_if(all, is_recorded);
  if (!check_memory) std::erase_if(all, is_checked);
  return all;
}

Exit replay_and_verify(const std::string& tool, int argc, char** argv) {
  cli::Options options(tool,
                       "Replays the recorded kernel launches that this program holds, each with each compiled variant "
                       "of its kernel, and judges whether memory is then as the recording left it. Exit status 1 means "
                       "that something is not verified. Made by mneme-restore --executable.");
  cli::Output output(cli::Output::Kind::kOther), bundle_output, runs_output;
  cli::Selection selection;
  run::ReplayOptions replays;
  verify::VerifyOptions judging("table");
  std::string bundle, runs;
  bool keep = false;
  selection.add_options(options);
  replays.add_options(options);
  judging.add_options(options);
  options.value(
      "--bundle", bundle, "FILE",
      "instead of replaying it, write the recording to FILE (-: standard output), a bundle for Mneme's tools");
  options.value("--runs", runs, "FILE",
                "also write the runs to FILE (-: standard output), a bundle as mneme-run writes it");
  options.flag("--keep", keep, "keep the recorded memory in what --runs writes");
  output.add_options(options);
  options.parse(argc, argv);
  selection.check();
  judging.check(options);
  run::RunnerOptions settings = replays.checked(options);
  settings.findings = judging.findings();
  if (keep && runs.empty()) throw Error("--keep needs --runs FILE");
  if (runs == "-" && !output.is_file()) {
    throw Error("the bundle and the report cannot both go to standard output: give --runs or -o a file");
  }
  settings.worker = {kSelf, kWorkerWord};

  if (!file_exists(kSelf)) throw Error("/proc is not mounted, by which a program finds its own file");
  Fd self = open_file(kSelf, O_RDONLY);
  std::error_code ignored;
  std::string name = "'" + std::filesystem::read_symlink(kSelf, ignored).string() + "'";
  const restore::ProgramParts parts = restore::seek_bundle(self.get(), name);
  const uint64_t bundle_size = parts.on_demand - parts.bundle;
  if (!bundle.empty()) {
    bundle_output.set_path(bundle);
    bundle_output.open();
    copy(self.get(), {{bundle_output.fd(), bundle_output.name()}}, bundle_size);
    bundle_output.close();
    return Exit::kSuccess;
  }

  std::vector<bundle::VariantMember> further;
  if (const bool baseline = settings.settings.baseline > 0; baseline || replays.checks_memory()) {
    further = wanted_on_demand(restore::unpack(restore::on_demand_of(self.get(), name, parts), name), baseline,
                               replays.checks_memory());
  }

  output.open();
  if (!runs.empty()) {
    runs_output.set_path(runs);
    runs_output.open();
  }
  const Destination next{STDOUT_FILENO, "the next process"};
  Child feeding(tool, [&] {
    copy(self.get(), {next}, bundle_size);
    return Exit::kSuccess;
  });
  Child replaying(tool, [&] {
    cli::Output to;
    to.open();
    return run::replay(feeding.output(), name, to, "mneme-replay", options, selection, settings, keep, further);
  });
  std::optional<Child> keeping;
  if (!runs.empty()) {
    keeping.emplace(tool, [&] {
      copy(replaying.output(), {{runs_output.fd(), runs_output.name()}, next});
      runs_output.close();
      return Exit::kSuccess;
    });
  }
  try {
    Exit judged = judging.verify(keeping ? keeping->output() : replaying.output(), name, output, selection);
    if (keeping && keeping->end() != Exit::kSuccess) judged = Exit::kBadInput;
    Exit replayed = replaying.end();
    return judged == Exit::kSuccess ? replayed : judged;
  } catch (const Error&) {
    // If it was the replay that failed, it has said why.
    Exit replayed = replaying.has_ended() ? replaying.end() : Exit::kSuccess;
    if (replayed == Exit::kSuccess) throw;
    return replayed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == kWorkerWord) ::_exit(run::work());
  std::string tool = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "replay";
  return cli::run_tool(tool, [&] { return replay_and_verify(tool, argc, argv); });
}
