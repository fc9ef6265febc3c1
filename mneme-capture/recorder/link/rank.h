// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace mneme::record {

// Slurm sets its variables for a batch script, too, and for the shell of an interactive job (salloc, srun --pty), which
// are no rank of anything.
inline bool is_in_slurm_step() {
  auto value = [](const char* name) { return std::string_view(std::getenv(name) ? std::getenv(name) : ""); };
  constexpr std::string_view kInteractive = "4294967290", kBatch = "4294967291";  // slurm.h's names for such steps
  std::string_view step = value("SLURM_STEP_ID");
  bool terminal = !value("SLURM_PTY_PORT").empty() && value("SLURM_STEP_NUM_TASKS") == "1";
  return !step.empty() && step != kInteractive && step != kBatch && !terminal;
}

// This process's rank, as MPI launchers tell it; nullopt where there was none.
inline std::optional<int64_t> rank_in_environment() {
  // Slurm last: others may have been started within its steps.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID",
                           "ALPS_APP_PE", "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (!text || !*text) continue;
    if (std::string_view(name) == "SLURM_PROCID" && !is_in_slurm_step()) continue;
    char* end = nullptr;
    long long rank = std::strtoll(text, &end, 10);
    if (!*end && rank >= 0) return rank;
  }
  return std::nullopt;
}

}  // namespace mneme::record
