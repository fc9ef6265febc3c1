// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device library's image functions, by name: they become services. `__ockl_image_<operation>_<shape>`, with
// the shapes 1D, 2D, 3D, 1Da and 2Da (layers), 1Db (linear memory), CM and CMa (cube maps). Texels of cube maps that
// are named by a face and whole numbers stay as they are, to be refused by their instructions.
#include <llvm/IR/IRBuilder.h>

#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// Coordinates as the function takes them, and their places in x, y, z; of a direction's, a layer follows them.
struct Shape {
  uint32_t flags = 0;  // ImageShape
  llvm::SmallVector<unsigned, 3> axes;

  bool is_cube() const { return flags & kImageCube; }
};

std::optional<Shape> shape_of(llvm::StringRef name) {
  if (name == "1D" || name == "1Db") return Shape{1, {0}};
  if (name == "2D") return Shape{2, {0, 1}};
  if (name == "3D") return Shape{3, {0, 1, 2}};
  if (name == "1Da") return Shape{1 | kImageLayers, {0, 2}};
  if (name == "2Da") return Shape{2 | kImageLayers, {0, 1, 2}};
  if (name == "CM") return Shape{2 | kImageCube, {0, 1, 2}};
  if (name == "CMa") return Shape{2 | kImageCube | kImageLayers, {0, 1, 2}};
  return std::nullopt;
}

class ImageBody {
 public:
  ImageBody(llvm::Function& function, const Shape& shape)
      : function_(emptied(function)),
        builder_(llvm::BasicBlock::Create(function.getContext(), "", &function)),
        shape_(shape) {}

  void load() { finish(call("image_load", texel(), with_coordinates({handle(0)}, 1, builder_.getInt32Ty()))); }

  void store() {
    auto arguments = with_coordinates({handle(0)}, 1, builder_.getInt32Ty());
    arguments.push_back(builder_.CreateBitCast(function_.getArg(function_.arg_size() - 1), texel()));
    call("image_store", builder_.getVoidTy(), arguments);
    builder_.CreateRetVoid();
  }

  // At the first level; at the one that the argument behind the coordinates gives, or that the two slopes there do.
  void sample(llvm::StringRef operation) {
    llvm::Type* single = builder_.getFloatTy();
    llvm::Value* level = llvm::Constant::getNullValue(single);
    uint32_t flags = shape_.flags;
    if (operation == "sample_lod") level = function_.getArg(3);
    if (operation == "sample_grad") {
      auto slopes = with_components({handle(0), handle(1), builder_.getInt32(flags)}, 3, single);
      level = call("image_level", single, with_components(std::move(slopes), 4, single));
    }
    if (operation != "sample") flags |= kImageLevel;
    auto arguments = with_coordinates({handle(0), handle(1), builder_.getInt32(flags)}, 2, single);
    llvm::Value* layer = arguments.back();
    if (shape_.is_cube()) layer = builder_.CreateExtractElement(function_.getArg(2), 3);
    arguments.append({layer, level});
    finish(call("image_sample", texel(), arguments));
  }

  void gather(unsigned channel) {
    auto arguments = with_coordinates({handle(0), handle(1), builder_.getInt32(channel)}, 2, builder_.getFloatTy());
    arguments.pop_back();  // no z
    finish(call("image_gather", texel(), arguments));
  }

  void query(uint32_t what) {
    builder_.CreateRet(call("image_query", builder_.getInt32Ty(), {handle(0), builder_.getInt32(what)}));
  }

 private:
  using Values = llvm::SmallVector<llvm::Value*, 8>;

  static llvm::Function& emptied(llvm::Function& function) {
    function.deleteBody();
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.setAttributes({});  // the library's promises were about its own body
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    return function;
  }

  llvm::Type* texel() { return llvm::FixedVectorType::get(builder_.getInt32Ty(), 4); }

  llvm::Value* handle(unsigned argument) {
    return builder_.CreatePtrToInt(function_.getArg(argument), builder_.getInt64Ty());
  }

  // x, y, z from the argument with the coordinates, 0 where it has none.
  Values with_coordinates(Values arguments, unsigned argument, llvm::Type* type) {
    llvm::Value* given = function_.getArg(argument);
    llvm::Value* xyz[3];
    std::fill_n(xyz, 3, llvm::Constant::getNullValue(type));
    for (unsigned i = 0; i < shape_.axes.size(); ++i) {
      xyz[shape_.axes[i]] = given->getType()->isVectorTy() ? builder_.CreateExtractElement(given, i) : given;
    }
    arguments.append(xyz, xyz + 3);
    return arguments;
  }

  // x, y, z of a slope, which has no layer.
  Values with_components(Values arguments, unsigned argument, llvm::Type* type) {
    llvm::Value* given = function_.getArg(argument);
    const uint32_t dimensions = shape_.is_cube() ? 3 : shape_.flags & kImageDimensions;
    for (uint32_t i = 0; i < 3; ++i) {
      if (i >= dimensions) {
        arguments.push_back(llvm::Constant::getNullValue(type));
      } else {
        arguments.push_back(given->getType()->isVectorTy() ? builder_.CreateExtractElement(given, i) : given);
      }
    }
    return arguments;
  }

  llvm::Value* call(llvm::StringRef service, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    return call_service(builder_, service, result, arguments);
  }

  void finish(llvm::Value* value) { builder_.CreateRet(builder_.CreateBitCast(value, function_.getReturnType())); }

  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  Shape shape_;
};

void rewrite(llvm::Function& function, llvm::StringRef operation, const Shape& shape) {
  if (operation == "sample" || operation == "sample_lod" || operation == "sample_grad") {
    return ImageBody(function, shape).sample(operation);
  }
  if (operation == "channel_data_type") return ImageBody(function, shape).query(kChannelType);
  if (operation == "channel_order") return ImageBody(function, shape).query(kChannelOrder);
  if (shape.is_cube()) return;
  if (operation == "load" || operation == "load_lod") return ImageBody(function, shape).load();
  if (operation == "store" || operation == "store_lod") return ImageBody(function, shape).store();
  if (operation.consume_front("gather4")) {
    ImageBody(function, shape).gather(static_cast<unsigned>(llvm::StringRef("rgba").find(operation)));
  }
}

}  // namespace

void raise_image_functions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (!name.consume_front("__ockl_image_")) continue;
    auto [operation, suffix] = name.rsplit('_');
    if (auto shape = shape_of(suffix)) rewrite(function, operation, *shape);
  }
}

}  // namespace mneme::codegen::host
