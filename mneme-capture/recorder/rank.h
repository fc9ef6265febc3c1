// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace mneme::record {

// This process's rank, as MPI launchers tell it; nullopt where there was none.
inline std::optional<int64_t> rank_in_environment() {
  // Slurm last: others may have been started within its steps.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID",
                           "ALPS_APP_PE", "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (!text || !*text) continue;
    // Slurm sets its variable for a batch script too, which is no rank of anything.
    if (std::string_view(name) == "SLURM_PROCID" && !std::getenv("SLURM_STEP_ID")) continue;
    char* end = nullptr;
    long long rank = std::strtoll(text, &end, 10);
    if (!*end && rank >= 0) return rank;
  }
  return std::nullopt;
}

}  // namespace mneme::record
