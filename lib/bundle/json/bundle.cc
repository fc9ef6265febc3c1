// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bundle.json and summary.json.
#include <algorithm>

#include "base/error.h"
#include "bundle/format.h"
#include "bundle/json/json.h"

namespace mneme::bundle {

std::string write(const BundleInfo& info) {
  json::Text out;
  out.open().add("version", info.version).add("device", info.device).open_array("ranges");
  for (const AddressRange& range : info.ranges) {
    out.open().add("name", range.name).add_address("base", range.base).add("size", range.size).close();
  }
  out.close_array().add("memory", info.memory).open_array("provenance");
  for (const Provenance& entry : info.provenance) {
    out.open().add("tool", entry.tool).add("version", entry.version).add_all("arguments", entry.arguments);
    out.add("input_format", entry.input_format).close();
  }
  out.close_array();
  if (info.has_source) out.add("has_source", true);
  return out.close().sealed();
}

BundleInfo parse_bundle(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::Object in(document);
  BundleInfo info;
  // First of all, and before the seal: a newer version may do everything else differently.
  uint64_t version = in.number("version");
  if (version > kFormatVersion) {
    throw Error::of("{}: the bundle is of format version {} and this Mneme reads versions up to {}; use a newer Mneme",
                    where, version, kFormatVersion);
  }
  if (version == 0) in.fail("version", "is 0");
  json::refuse_wrong_seal(text, where);
  info.version = static_cast<int>(version);
  info.device = in.text("device");
  in.each("ranges", [&](json::Object range) {
    AddressRange out{range.text("name"), range.address("base"), range.number("size")};
    if (out.base + out.size < out.base) range.fail("size", "goes beyond the last address");
    info.ranges.push_back(std::move(out));
  });
  constexpr std::string_view kMemory[] = {"packs", "raw", "none", "kept"};
  info.memory = kMemory[in.choice("memory", {kMemory[0], kMemory[1], kMemory[2], kMemory[3]})];
  in.each("provenance", [&](json::Object entry) {
    info.provenance.push_back({entry.text("tool"), entry.text("version"), entry.texts("arguments"),
                               static_cast<int>(entry.number("input_format", kFormatVersion))});
  });
  info.has_source = in.has("has_source") && in.boolean("has_source");
  return info;
}

std::string write(const Summary& summary) {
  json::Text out;
  out.open().open_array("occurrences");
  for (const Occurrence& entry : summary.occurrences) {
    out.open().add("instance", entry.instance).add("count", entry.count).close();
  }
  out.close_array().open_array("skipped");
  for (const Skipped& entry : summary.skipped) {
    out.open().add("kernel", entry.kernel).add("launches", entry.launches).add("reason", entry.reason).close();
  }
  out.close_array().add("application", summary.application).add("truncated", summary.truncated);
  if (summary.failed) out.add("failed", true);
  if (summary.totals) {
    out.open("totals").open_array("kernels");
    for (const KernelCount& entry : summary.totals->kernels) {
      out.open().add("kernel", entry.kernel).add("launches", entry.launches).add("recorded", entry.recorded).close();
    }
    out.close_array().add("seen_bytes", summary.totals->seen_bytes);
    out.add("stored_bytes", summary.totals->stored_bytes).close();
  }
  return out.close().sealed();
}

KernelCount& Totals::of(const std::string& kernel) {
  auto known = std::ranges::find(kernels, kernel, &KernelCount::kernel);
  return known != kernels.end() ? *known : kernels.emplace_back(KernelCount{kernel});
}

Summary parse_summary(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::refuse_wrong_seal(text, where);
  json::Object in(document);
  Summary summary;
  in.each("occurrences", [&](json::Object entry) {
    summary.occurrences.push_back({entry.digest("instance"), entry.number("count")});
  });
  in.each("skipped", [&](json::Object entry) {
    summary.skipped.push_back({entry.text("kernel"), entry.number("launches"), entry.text("reason")});
  });
  summary.application = in.text("application");
  summary.truncated = in.boolean("truncated");
  if (in.has("failed")) summary.failed = in.boolean("failed");
  if (!in.has("totals")) return summary;
  in.object("totals", [&](json::Object totals) {
    Totals& out = summary.totals.emplace();
    totals.each("kernels", [&](json::Object entry) {
      out.kernels.push_back({entry.text("kernel"), entry.number("launches"), entry.number("recorded")});
    });
    out.seen_bytes = totals.number("seen_bytes");
    out.stored_bytes = totals.number("stored_bytes");
  });
  return summary;
}

}  // namespace mneme::bundle
