// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deploy.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace mneme::restore {
namespace {

constexpr char kLibrary[] = "libmneme-record.so", kBundle[] = "tuned.tar", kScript[] = "run";

// A list of libraries to preload has no way to name a file with a space or a colon in its path.
constexpr char kWrapper[] =
    "#!/bin/sh\n"
    "# Runs a command with the tuned variants beside this script: run COMMAND [ARGUMENTS]\n"
    "case $0 in */*) here=${0%/*};; *) here=.;; esac\n"
    "here=$(CDPATH= cd -- \"$here/\" && pwd) || exit 2\n"
    "case $here in *[:\\ ]*) echo \"$0: move this folder to a path without spaces and colons\" >&2; exit 2;; esac\n"
    "export LD_PRELOAD=\"$here/libmneme-record.so${LD_PRELOAD:+:$LD_PRELOAD}\" MNEME_APPLY=\"$here/tuned.tar\"\n"
    "exec \"$@\"\n";

}  // namespace

void begin_deployment(const std::string& folder, const std::vector<bundle::Choice>& choices, cli::Output& output) {
  if (std::ranges::all_of(choices, [](const bundle::Choice& choice) { return choice.device == "host"; })) {
    throw Error(
        "there are choices for the host device only, which is a part of Mneme: an application runs with them under "
        "mneme-capture --apply; --deploy is for variants for a GPU");
  }
  (void)installed_part(kLibrary);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error::of("cannot make the folder '{}': {}", folder, error.message());
  output.set_path(folder + "/" + kBundle);
  output.open_uncleared();
}

void end_deployment(const std::string& folder) {
  const std::string library = folder + "/" + kLibrary, script = folder + "/" + kScript;
  cli::check_is_no_input(library);
  write_file(library, read_file(installed_part(kLibrary)));
  write_file(script, kWrapper);
  for (const std::string& path : {library, script}) {
    if (::chmod(path.c_str(), 0755) != 0) throw system_error("cannot make '" + path + "' executable");
  }
}

}  // namespace mneme::restore
