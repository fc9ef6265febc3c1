// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "applying/checker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "bundle/adding.h"
#include "bundle/json/json.h"
#include "verify/verdict.h"

extern char** environ;

namespace mneme::capture {
namespace {

struct Pipe {
  Fd read, write;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot start mneme-run");
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
};

pid_t spawn(std::vector<std::string> words, const Fd& input, const Fd& output) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  pid_t process = -1;
  const int failed = ::posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) throw Error::of(Exit::kMissing, "cannot run '{}': {}", words[0], std::strerror(failed));
  return process;
}

}  // namespace

Checker::Checker(const Applying& applying) : applying_(applying) {
  Pipe bundle;
  bundle_ = std::move(bundle.write);
  bundle_end_ = std::move(bundle.read);
}

void Checker::start() {
  Pipe runs, verdicts;
  processes_.push_back(spawn({installed_part("mneme-run"), "--device", device_, "--warmup", "0", "--iterations", "1",
                              "--rounds", "1", "--output=-"},
                             bundle_end_, runs.write));
  bundle_end_ = Fd();
  std::vector<std::string> verify = {installed_part("mneme-verify"), "--format", "json", "--output=-"};
  if (applying_.settings().infer) verify.emplace_back("--infer");
  processes_.push_back(spawn(verify, runs.read, verdicts.write));
  verdicts_ = std::move(verdicts.read);
}

Checker::~Checker() {
  for (pid_t process : processes_) ::kill(process, SIGKILL);
  for (pid_t process : processes_) ::waitpid(process, nullptr, 0);
}

// What they say of a bundle in which nothing was to be run is of no interest: all verdicts are there.
void Checker::close() {
  bundle_ = Fd();
  if (processes_.empty()) return;  // nothing was checked
  while (read_line()) {
  }
}

// As many executions as a check needs, and on this instance, whose arguments have the values that the variant was
// specialised for.
void Checker::prepare(const Digest& choice, const Digest& instance, BundleQueue& queue) {
  if (processes_.empty()) start();
  bundle::VariantMember variant = applying_.variant_of(choice);
  bundle::Configuration& configuration = variant.info.configuration;
  configuration.warmup.reset();
  configuration.iterations.reset();
  if (!configuration.instance.empty()) configuration.instance = instance;
  variant.info.id = bundle::variant_id(variant.info.kernel, configuration);
  variant.text.clear();
  variants_[{choice, instance}] = variant.info.id;
  if (!added_.insert(variant.info.id).second) return;
  queue.add([variant = std::move(variant)](bundle::Writer& writer) { bundle::add(writer, variant); });
}

Checker::Verdict Checker::verdict(const Digest& choice, const Digest& instance) {
  const Pair pair(instance, variants_.at({choice, instance}));
  while (!known_.contains(pair)) {
    if (!read_line()) return {false, "mneme-run or mneme-verify ended before it was checked"};
  }
  return known_.at(pair);
}

bool Checker::read_line() {
  size_t end = 0;
  while ((end = text_.find('\n')) == std::string::npos) {
    char bytes[1 << 16];
    const ssize_t size = ::read(verdicts_.get(), bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text_.append(bytes, static_cast<size_t>(size));
  }
  const bundle::json::Document document(text_.substr(0, end), "a verdict of mneme-verify's");
  const bundle::json::Object line(document);
  Verdict verdict{line.boolean("verified"), {}};
  const std::vector<std::string> reasons = line.texts("reasons");
  if (!verdict.same) {
    const bool failed = line.text("status") == verify::to_string(verify::Status::kFailed);
    verdict.reason = failed ? "it fails: " : "its result differs from that of the application's own code: ";
    verdict.reason += reasons.empty() ? line.text("status") : reasons[0];
  }
  known_[{line.digest("instance"), line.digest("variant")}] = std::move(verdict);
  text_.erase(0, end + 1);
  return true;
}

}  // namespace mneme::capture
