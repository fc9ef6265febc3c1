// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/blocks/block_window.h"

#include <algorithm>
#include <tuple>

namespace mneme::bundle {
namespace {

constexpr size_t kWorthAList = 1024;  // blocks, 64 MiB, that another input's end lets go

}  // namespace

bool BlockWindow::add(const Digest& block) { return uses_.try_emplace(block, Use{0, input_, false}).second; }

void BlockWindow::add_instance(std::span<const Digest> cited) {
  ++instance_;
  if (!most_others_) {
    uses_.clear();
    for (const Digest& block : cited) uses_.try_emplace(block, Use{instance_, input_, false});
    return;
  }
  in_hand_ = 0;
  for (const Digest& block : cited) {
    auto [place, fresh] = uses_.try_emplace(block, Use{instance_, input_, false});
    Use& use = place->second;
    if (!fresh && use.instance == instance_) continue;
    ++in_hand_;
    use = {instance_, input_, use.is_shared || use.input != input_};
  }
}

std::optional<std::vector<Digest>> BlockWindow::let_go() {
  if (!most_others_) return std::nullopt;
  const size_t others = uses_.size() - in_hand_;
  const bool too_many = others > *most_others_ + *most_others_ / 4;
  if (!too_many && (input_ == swept_ || others < kWorthAList)) return std::nullopt;
  swept_ = input_;
  using Other = std::pair<Use, Digest>;
  std::vector<Other> kept;
  for (const auto& [block, use] : uses_) {
    if (use.instance == instance_ && instance_ > 0) continue;
    if (use.is_shared || use.input + 1 >= input_) kept.emplace_back(use, block);
  }
  if (!too_many && others - kept.size() < kWorthAList) return std::nullopt;
  // Shared ones outlive others, those cited later the earlier.
  std::ranges::sort(kept, std::greater(), [](const Other& other) {
    return std::tuple(other.first.is_shared, other.first.instance, other.second);
  });
  if (kept.size() > *most_others_) kept.resize(*most_others_);
  std::vector<Digest> list;
  for (const Other& other : kept) list.push_back(other.second);
  std::unordered_map<Digest, Use> stay(kept.size() + in_hand_);
  for (const auto& [use, block] : kept) stay.emplace(block, use);
  for (const auto& [block, use] : uses_) {
    if (use.instance == instance_ && instance_ > 0) stay.emplace(block, use);
  }
  uses_ = std::move(stay);
  std::ranges::sort(list);
  return list;
}

}  // namespace mneme::bundle
