// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions on textures and surfaces, as services (abi.h). A handle is the address of a descriptor.
//
//   tex.level.a2d.v4.f32.f32 {r, g, b, a}, [handle, {layer, x, y, y}], level
//       image_sample(handle, handle + 48, layers and level in two dimensions, x, y, 0, layer, level)
//   suld.b.2d.v2.b32.zero {a, b}, [handle, {x, y}]
//       surface_load(handle, 8 bytes, zeros outside, x, y, 0)
//
// Not known, and so refused: other samplers than the handle's own, offsets and comparisons with depths, several samples
// a texel, texels as halves, and stores that convert to the surface's format.
#include <llvm/ADT/StringSwitch.h>

#include <array>

#include "codegen/host/abi.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

// a2d: two dimensions, and a layer that stands before them.
struct Geometry {
  uint32_t shape = 0;        // ImageShape
  unsigned coordinates = 0;  // without the layer

  bool layers() const { return shape & kImageLayers; }
};

std::optional<Geometry> take_geometry(PtxName& name) {
  StringRef text = name.take_one_of({"1d", "2d", "3d", "cube", "a1d", "a2d", "acube"});
  if (text.empty()) return std::nullopt;
  uint32_t layers = text.consume_front("a") ? kImageLayers : 0;
  if (text == "cube") return Geometry{2 | kImageCube | layers, 3};
  auto dimensions = static_cast<unsigned>(text[0] - '0');
  return Geometry{dimensions | layers, dimensions};
}

// An instruction's operands, one after another. PTX fills three elements of a vector up to four.
class Operands {
 public:
  Operands(PtxInstruction& instruction) : builder_(instruction.builder), rest_(instruction.operands) {}

  Value* take(llvm::Type* type) {
    if (rest_.empty()) {
      complete_ = false;
      return llvm::UndefValue::get(type);
    }
    Value* value = as_type(builder_, rest_.front(), type);
    rest_ = rest_.drop_front();
    return value;
  }

  Value* handle() { return take(builder_.getInt64Ty()); }

  struct Place {
    std::array<Value*, 3> xyz;
    Value* layer;  // 0: there is none
  };
  Place place(const Geometry& geometry, llvm::Type* type) {
    Place place;
    place.layer = geometry.layers() ? take(builder_.getInt32Ty()) : builder_.getInt32(0);
    place.xyz.fill(llvm::Constant::getNullValue(type));
    for (unsigned i = 0; i < geometry.coordinates; ++i) place.xyz[i] = take(type);
    if (geometry.coordinates + (geometry.layers() ? 1 : 0) == 3) take(type);
    return place;
  }

  // Not one too few, not one too many.
  bool are_used_up() const { return complete_ && rest_.empty(); }

 private:
  Builder& builder_;
  llvm::ArrayRef<Value*> rest_;
  bool complete_ = true;
};

llvm::Type* texel_type(Builder& builder) { return llvm::FixedVectorType::get(builder.getInt32Ty(), 4); }

Value* sampler_of(Builder& builder, Value* handle) {
  return builder.CreateAdd(handle, builder.getInt64(kSamplerOffset));
}

bool is_texel(const std::optional<PtxType>& type) {
  return type && type->bits == 32 && type->lanes == 1 && type->kind != PtxType::kBrain;
}

// The four channels; and behind them, where that is asked for, that the texels are in memory, as all are.
PtxResult channels(PtxInstruction& instruction, Value* texel, const PtxType& type) {
  Builder& builder = instruction.builder;
  PtxValues values;
  for (uint64_t i = 0; i < 4; ++i) {
    values.push_back(as_type(builder, builder.CreateExtractElement(texel, i), type));
  }
  if (instruction.results == 5) values.push_back(builder.getTrue());
  if (values.size() != instruction.results) return std::nullopt;
  return values;
}

// tex with whole numbers for coordinates: the texel itself, whatever the sampler says.
PtxResult raise_fetch(PtxInstruction& instruction, const Geometry& geometry, const PtxType& type) {
  Builder& builder = instruction.builder;
  Operands in(instruction);
  Value* handle = in.handle();
  Operands::Place at = in.place(geometry, builder.getInt32Ty());
  if (geometry.shape > kImageDimensions || !in.are_used_up()) return std::nullopt;
  Value* texel = call_service(builder, "image_load", texel_type(builder), {handle, at.xyz[0], at.xyz[1], at.xyz[2]});
  return channels(instruction, texel, type);
}

PtxResult raise_tex(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef mode = name.take_one_of({"base", "level", "grad"});
  std::optional<Geometry> geometry = take_geometry(name);
  bool four = name.take("v4");
  std::optional<PtxType> type = name.take_type(), coordinate = name.take_type();
  if (!geometry || !four || !is_texel(type) || !coordinate || !name.is_used_up()) return std::nullopt;
  if (coordinate->kind == PtxType::kSigned && coordinate->bits == 32) {
    return mode.empty() ? raise_fetch(instruction, *geometry, *type) : std::nullopt;
  }
  if (!coordinate->is_single()) return std::nullopt;

  llvm::Type* single = builder.getFloatTy();
  Operands in(instruction);
  Value* handle = in.handle();
  Value* sampler = sampler_of(builder, handle);
  Operands::Place at = in.place(*geometry, single);
  Value* layer = builder.CreateSIToFP(at.layer, single);
  uint32_t shape = geometry->shape;
  Value* level = llvm::Constant::getNullValue(single);
  if (mode == "level") {
    level = in.take(single);
  } else if (mode == "grad") {
    Geometry slope{0, geometry->coordinates};
    llvm::SmallVector<Value*, 9> arguments = {handle, sampler, builder.getInt32(shape)};
    for (int i = 0; i < 2; ++i) {
      Operands::Place along = in.place(slope, single);
      arguments.append(along.xyz.begin(), along.xyz.end());
    }
    if (in.are_used_up()) level = call_service(builder, "image_level", single, arguments);
  }
  if (!in.are_used_up()) return std::nullopt;
  if (mode == "level" || mode == "grad") shape |= kImageLevel;
  Value* texel =
      call_service(builder, "image_sample", texel_type(builder),
                   {handle, sampler, builder.getInt32(shape), at.xyz[0], at.xyz[1], at.xyz[2], layer, level});
  return channels(instruction, texel, *type);
}

// tld4.g.2d.v4.f32.f32: one channel of four texels.
PtxResult raise_gather(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef channel = name.take_one_of({"r", "g", "b", "a"});
  bool known = !channel.empty() && name.take("2d") && name.take("v4");
  std::optional<PtxType> type = name.take_type(), coordinate = name.take_type();
  if (!known || !is_texel(type) || !coordinate || !coordinate->is_single() || !name.is_used_up()) return std::nullopt;
  Operands in(instruction);
  Value* handle = in.handle();
  Operands::Place at = in.place({2, 2}, builder.getFloatTy());
  if (!in.are_used_up()) return std::nullopt;
  auto number = static_cast<uint32_t>(StringRef("rgba").find(channel));
  Value* texel = call_service(builder, "image_gather", texel_type(builder),
                              {handle, sampler_of(builder, handle), builder.getInt32(number), at.xyz[0], at.xyz[1]});
  return channels(instruction, texel, *type);
}

std::optional<uint32_t> take_bounds(PtxName& name) {
  StringRef text = name.take_one_of({"trap", "clamp", "zero"});
  if (text.empty()) return std::nullopt;
  return text == "trap" ? kTrapOutside : text == "clamp" ? kClampToInside : kZeroOutside;
}

// suld.b and sust.b: elements of 8 to 64 bits, whatever the surface's format.
PtxResult raise_surface(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool load = name.operation() == "suld";
  bool bytes = name.take("b");
  std::optional<Geometry> geometry = take_geometry(name);
  name.take_one_of({"ca", "cg", "cs", "cv", "wb", "wt"});
  StringRef vector = name.take_one_of({"v2", "v4"});
  std::optional<PtxType> type = name.take_type();
  std::optional<uint32_t> bounds = take_bounds(name);
  if (!bytes || !geometry || geometry->shape & kImageCube || !type || type->kind != PtxType::kBits || type->bits > 64 ||
      !bounds || !name.is_used_up()) {
    return std::nullopt;
  }
  unsigned count = vector.empty() ? 1 : vector == "v2" ? 2 : 4;
  unsigned size = type->bits / 8 * count;
  if (size > 16 || instruction.results != (load ? count : 0)) return std::nullopt;

  Operands in(instruction);
  llvm::Type* word = builder.getInt32Ty();
  Value* handle = in.handle();
  Operands::Place at = in.place(*geometry, word);
  Value* z = geometry->layers() ? at.layer : at.xyz[2];
  llvm::SmallVector<Value*, 8> arguments = {
      handle, builder.getInt32(size), builder.getInt32(*bounds), at.xyz[0], at.xyz[1], z};
  auto* elements = llvm::FixedVectorType::get(builder.getIntNTy(type->bits), 128 / type->bits);
  if (load) {
    if (!in.are_used_up()) return std::nullopt;
    Value* texel = call_service(builder, "surface_load", texel_type(builder), arguments);
    texel = builder.CreateBitCast(texel, elements);
    PtxValues values;
    for (uint64_t i = 0; i < count; ++i) values.push_back(builder.CreateExtractElement(texel, i));
    return values;
  }
  Value* texel = llvm::Constant::getNullValue(elements);
  for (uint64_t i = 0; i < count; ++i) {
    texel = builder.CreateInsertElement(texel, in.take(elements->getElementType()), i);
  }
  if (!in.are_used_up()) return std::nullopt;
  arguments.push_back(builder.CreateBitCast(texel, texel_type(builder)));
  call_service(builder, "surface_store", builder.getVoidTy(), arguments);
  return PtxValues{};
}

// txq.width.b32, and of surfaces suq.
PtxResult raise_query(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  StringRef asked = instruction.name.take_one_of({"width", "height", "depth", "array_size", "num_mipmap_levels"});
  bool word = instruction.name.take("b32");
  if (asked.empty() || !word || !instruction.name.is_used_up() || instruction.results != 1) return std::nullopt;
  Operands in(instruction);
  Value* handle = in.handle();
  if (!in.are_used_up()) return std::nullopt;
  auto what = llvm::StringSwitch<uint32_t>(asked)
                  .Case("width", kImageWidth)
                  .Case("height", kImageHeight)
                  .Case("num_mipmap_levels", kImageLevels)
                  .Default(kImageDepth);
  return PtxValues{call_service(builder, "image_query", builder.getInt32Ty(), {handle, builder.getInt32(what)})};
}

}  // namespace

PtxResult raise_ptx_texture(PtxInstruction& instruction) {
  StringRef operation = instruction.name.operation();
  if (operation == "tex") return raise_tex(instruction);
  if (operation == "tld4") return raise_gather(instruction);
  if (operation == "suld" || operation == "sust") return raise_surface(instruction);
  if (operation == "txq" || operation == "suq") return raise_query(instruction);
  return std::nullopt;
}

}  // namespace mneme::codegen::host
