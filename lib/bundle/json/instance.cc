// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// instances/….json.
#include "base/error.h"
#include "bundle/format.h"
#include "bundle/json/dimensions.h"
#include "bundle/json/json.h"
#include "bundle/json/textures.h"
#include "bundle/segment_runs.h"
#include "bundle/textures.h"

namespace mneme::bundle {
namespace {

constexpr uint64_t kMaxStack = 1 << 30;
constexpr uint32_t kMaxDevice = 65535;
constexpr std::string_view kSegmentKinds[] = {"heap", "global", "host"};  // in SegmentKind's order

// One, or several that are alike.
void write_segments(json::Text& out, std::span<const Segment> run, const std::string& where) {
  const Segment& segment = run[0];
  out.open().add_address("address", segment.address).add("size", segment.size);
  out.add("kind", kSegmentKinds[static_cast<size_t>(segment.kind)]);
  if (!segment.symbol.empty()) out.add("symbol", segment.symbol);
  if (!segment.annotation.empty()) out.add_object_text("annotation", json::canonical(segment.annotation, where));
  if (segment.device) out.add("device", segment.device);
  write_repetition(out, run);
  out.close();
}

Segment parse_segment(const json::Object& in) {
  Segment segment;
  segment.address = in.address("address");
  segment.size = in.number("size");
  if (segment.size == 0) in.fail("size", "is 0");
  // One block of room at the end, so that sums over block addresses cannot overflow.
  if (segment.size > UINT64_MAX - kBlockSize - segment.address) in.fail("size", "goes beyond the last address");
  segment.kind = static_cast<SegmentKind>(in.choice("kind", {kSegmentKinds[0], kSegmentKinds[1], kSegmentKinds[2]}));
  segment.symbol = in.text_or("symbol", "");
  segment.annotation = in.object_text("annotation");
  if (in.has("device")) segment.device = in.number32("device", kMaxDevice);
  if (segment.kind == SegmentKind::kGlobal && segment.symbol.empty()) in.fail("symbol", "is missing");
  return segment;
}

}  // namespace

std::string write(const InstanceInfo& info) {
  json::Text out;
  out.open().add("id", info.id).add("kernel", info.kernel).add("index", info.index);
  json::add_dimensions(out, "grid", info.grid);
  json::add_dimensions(out, "block", info.block);
  out.add("shared_bytes", info.shared_bytes).add("arguments", to_hex(bytes_of(info.arguments)));
  out.open_array("segments");
  const std::string annotation = "an annotation of instance " + info.id.hex();
  for (std::span<const Segment> left = info.segments; !left.empty();) {
    size_t length = run_length(left);
    write_segments(out, left.first(length), annotation);
    left = left.subspan(length);
  }
  out.close_array().add("prologue", info.prologue).add("epilogue", info.epilogue);
  if (info.device) out.add("device", info.device);
  if (info.cooperative) out.add("cooperative", true);
  if (info.cluster.count() > 1) json::add_dimensions(out, "cluster", info.cluster);
  if (info.stack_bytes) out.add("stack_bytes", info.stack_bytes);
  if (!info.attributes.empty()) out.add_all("attributes", info.attributes);
  if (!info.reach.empty()) out.add("reach", info.reach);
  if (!info.textures.empty()) json::add_textures(out, info);
  if (!info.missing.empty()) out.add("complete", false).add_all("missing", info.missing);
  return out.close().sealed();
}

InstanceInfo parse_instance(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::refuse_wrong_seal(text, where);
  json::Object in(document);
  InstanceInfo info;
  info.id = in.digest("id");
  info.kernel = in.digest("kernel");
  info.index = in.number("index");
  info.grid = json::dimensions(in, "grid", INT64_MAX);
  info.block = json::dimensions(in, "block", json::kMaxBlockThreads);
  info.shared_bytes = in.number32("shared_bytes", json::kMaxSharedBytes);
  info.arguments = in.hex_bytes("arguments", json::kMaxArgumentBytes);
  uint64_t end = 0;
  in.each("segments", [&](json::Object object) {
    Segment segment = parse_segment(object);
    if (segment.address < end) object.fail("address", "lies in or before the segment ahead of it");
    parse_repetition(object, std::move(segment), info.segments);
    end = info.segments.back().address + info.segments.back().size;
  });
  info.prologue = in.digest("prologue");
  info.epilogue = in.digest("epilogue");
  if (in.has("device")) info.device = in.number32("device", kMaxDevice);
  if (in.has("cooperative")) info.cooperative = in.boolean("cooperative");
  if (in.has("cluster")) info.cluster = json::dimensions(in, "cluster", json::kMaxCluster);
  if (in.has("stack_bytes")) info.stack_bytes = in.number("stack_bytes", kMaxStack);
  if (in.has("attributes")) info.attributes = in.texts("attributes");
  if (in.has("reach") && in.choice("reach", {kReachArguments}) == 0) info.reach = kReachArguments;
  if (in.has("textures")) json::parse_textures(in, info);
  if (in.has("missing")) info.missing = in.texts("missing");
  bool complete = !in.has("complete") || in.boolean("complete");
  if (complete != info.missing.empty()) in.fail("missing", "does not go with what 'complete' says");
  return info;
}

Digest instance_id(const InstanceInfo& info) {
  DigestStream stream;
  stream.add(info.kernel.hex());
  for (uint32_t number : {info.grid.x, info.grid.y, info.grid.z, info.block.x, info.block.y, info.block.z}) {
    stream.add(uint64_t{number});
  }
  stream.add(uint64_t{info.shared_bytes});
  stream.add(info.arguments.size());
  stream.add(info.arguments);
  for (const Segment& segment : info.segments) {
    if (segment.annotation.empty()) continue;
    std::string annotation = json::canonical(segment.annotation, "an annotation");
    stream.add(segment.address);
    stream.add(annotation.size());
    stream.add(annotation);
  }
  stream.add(info.prologue.hex());
  if (info.device) stream.add(uint64_t{info.device});
  if (info.cooperative) stream.add("cooperative");
  if (info.cluster.count() > 1) {
    for (uint32_t number : {info.cluster.x, info.cluster.y, info.cluster.z}) stream.add(uint64_t{number});
  }
  if (!info.textures.empty()) stream.add(write_textures(info));
  return stream.finish();
}

}  // namespace mneme::bundle
