// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "follow.h"

#include <map>
#include <optional>
#include <set>

#include "adding.h"
#include "base/error.h"
#include "bundle/json/json.h"
#include "cli/stage.h"
#include "codegen/choices.h"

namespace mneme::compile {
namespace {

class Follower {
 public:
  Follower(bundle::Writer& writer, const bundle::KernelMember& kernel, const bundle::InstanceInfo& instance,
           Settings& settings)
      : writer_(writer), kernel_(kernel), instance_(instance), settings_(settings) {}

  void take(const std::vector<Line>& lines) {
    std::vector<Wanted> now;
    std::set<Digest> known;
    for (const Line& line : lines) {
      std::optional<Wanted> wanted = wanted_by(line);
      if (!wanted) continue;
      Digest id = bundle::variant_id(kernel_.info.id, wanted->configuration);
      if (writer_.has(bundle::variant_json_name(kernel_.info.id, id)) || !known.insert(id).second) {
        answer(line.number, id, nullptr);
      } else {
        now.push_back(std::move(*wanted));
      }
    }
    if (now.empty()) return;
    Batch batch = batch_of(kernel_, &instance_, now, settings_);
    batch.take = [this](const Wanted& wanted, const bundle::VariantMember& variant, const auto&) {
      add(writer_, variant);
      answer(wanted.line, variant.info.id, &variant);
    };
    batch.compile(same_code_);
  }

  size_t refused() const { return refused_; }

 private:
  std::optional<Wanted> wanted_by(const Line& line) {
    try {
      Wanted wanted = settings_.take(line, kernel_.info);
      if (!codegen::is_specialised(wanted.configuration)) return wanted;
      Digest& only = wanted.configuration.instance;
      if (!only.empty() && only != instance_.id) {
        throw Error::of("line {} is for instance {} only", line.number, only.hex());
      }
      only = instance_.id;
      return wanted;
    } catch (const Error& error) {
      refused_++;
      cli::warn(error.what());
      bundle::json::Text out;
      settings_.answer(out.open().add("line", uint64_t{line.number}).add("failed", error.what()).close().text() + "\n");
      return std::nullopt;
    }
  }

  // `variant`: nothing where it was there before.
  void answer(size_t line, const Digest& id, const bundle::VariantMember* variant) {
    bundle::json::Text out;
    out.open().add("line", uint64_t{line}).add("variant", id);
    if (variant && !variant->info.failed.empty()) {
      out.add("failed", variant->info.failed);
    } else if (variant) {
      const Digest& holder = variant->info.same_as.empty() ? id : variant->info.same_as;
      auto size = sizes_.try_emplace(holder, variant->code.size()).first->second;
      out.add("code_bytes", uint64_t{size});
    }
    settings_.answer(out.close().text() + "\n");
  }

  bundle::Writer& writer_;
  const bundle::KernelMember& kernel_;
  const bundle::InstanceInfo& instance_;
  Settings& settings_;
  SameCode same_code_;
  std::map<Digest, size_t> sizes_;  // of code, by the variant that has it
  size_t refused_ = 0;
};

}  // namespace

size_t follow(bundle::Writer& writer, const bundle::KernelMember& kernel, const bundle::InstanceInfo& instance,
              Settings& settings) {
  Follower follower(writer, kernel, instance, settings);
  for (std::vector<Line> lines = settings.lines().next(); !lines.empty(); lines = settings.lines().next()) {
    follower.take(lines);
  }
  return follower.refused();
}

}  // namespace mneme::compile
