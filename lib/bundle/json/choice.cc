// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// choices/….json.
#include <cmath>

#include "bundle/format.h"
#include "bundle/json/dimensions.h"
#include "bundle/json/json.h"

namespace mneme::bundle {
namespace {

constexpr std::string_view kDevices[] = {"host", "cuda", "hip"};

void write_launch(json::Text& out, const Dim3& grid, const Dim3& block, uint32_t shared_bytes) {
  json::add_dimensions(out, "grid", grid);
  json::add_dimensions(out, "block", block);
  out.add("shared_bytes", shared_bytes);
}

LaunchSize parse_launch(const json::Object& in) {
  return {json::dimensions(in, "grid", INT64_MAX), json::dimensions(in, "block", json::kMaxBlockThreads),
          in.number32("shared_bytes", json::kMaxSharedBytes)};
}

void write_key(json::Text& out, const Choice& choice) {
  out.add("kernel", choice.kernel).add("device", choice.device).add("target", choice.target);
  write_launch(out, choice.grid, choice.block, choice.shared_bytes);
  if (choice.cooperative) out.add("cooperative", true);
  if (choice.cluster.count() > 1) json::add_dimensions(out, "cluster", choice.cluster);
  if (choice.guards.empty()) return;
  out.open_array("guards");
  for (const Guard& guard : choice.guards) {
    out.open().add("offset", guard.offset).add("bytes", to_hex(bytes_of(guard.bytes))).close();
  }
  out.close_array();
}

std::string parse_target(const json::Object& in, const std::string& device) {
  std::string target = in.text("target");
  if (!target.starts_with(device + ":")) in.fail("target", "is not one of that device");
  return target;
}

std::vector<Guard> parse_guards(const json::Object& in) {
  std::vector<Guard> guards;
  uint64_t end = 0;
  in.each("guards", [&](json::Object object) {
    Guard guard{object.number32("offset", json::kMaxArgumentBytes), object.hex_bytes("bytes", json::kMaxArgumentBytes)};
    if (guard.bytes.empty()) object.fail("bytes", "is empty");
    if (guard.offset < end) object.fail("offset", "lies in or before the guard ahead of it");
    end = guard.offset + guard.bytes.size();
    guards.push_back(std::move(guard));
  });
  return guards;
}

double parse_ratio(const json::Object& in, const char* key) {
  double value = in.real(key);
  if (!(value > 0) || !std::isfinite(value)) in.fail(key, "is not a ratio of times");
  return value;
}

}  // namespace

std::string write(const Choice& choice) {
  json::Text out;
  out.open().add("id", choice.id);
  write_key(out, choice);
  out.add("variant", choice.variant);
  if (choice.launch) {
    out.open("launch");
    write_launch(out, choice.launch->grid, choice.launch->block, choice.launch->shared_bytes);
    out.close();
  }
  out.add("baseline_ns", choice.baseline_ns).add("median_ns", choice.median_ns).add("ratio", choice.ratio);
  if (choice.low > 0) out.add("low", choice.low).add("high", choice.high);
  return out.add("instances", choice.instances).close().sealed();
}

Choice parse_choice(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::refuse_wrong_seal(text, where);
  json::Object in(document);
  Choice choice;
  choice.id = in.digest("id");
  choice.kernel = in.digest("kernel");
  choice.device = kDevices[in.choice("device", {kDevices[0], kDevices[1], kDevices[2]})];
  choice.target = parse_target(in, choice.device);
  const LaunchSize key = parse_launch(in);
  choice.grid = key.grid;
  choice.block = key.block;
  choice.shared_bytes = key.shared_bytes;
  if (in.has("cooperative")) choice.cooperative = in.boolean("cooperative");
  if (in.has("cluster")) choice.cluster = json::dimensions(in, "cluster", json::kMaxCluster);
  if (in.has("guards")) choice.guards = parse_guards(in);
  choice.variant = in.digest("variant");
  if (in.has("launch")) in.object("launch", [&](json::Object object) { choice.launch = parse_launch(object); });
  choice.baseline_ns = in.number("baseline_ns");
  choice.median_ns = in.number("median_ns");
  choice.ratio = parse_ratio(in, "ratio");
  if (choice.ratio <= 1) in.fail("ratio", "is not above 1: the variant is not faster");
  if (in.has("low")) {
    choice.low = parse_ratio(in, "low");
    choice.high = parse_ratio(in, "high");
    if (choice.low > choice.high) in.fail("low", "is above 'high'");
  }
  choice.instances = in.number("instances");
  if (choice.instances == 0) in.fail("instances", "is 0: nothing proves it");
  return choice;
}

Digest choice_id(const Choice& choice) {
  json::Text out;
  out.open();
  write_key(out, choice);
  return digest_of(out.close().text());
}

}  // namespace mneme::bundle
