// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/module.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>

#include "base/error.h"
#include "codegen/ptx/constants.h"

namespace mneme::codegen::ptx {

using llvm::StringRef;

namespace {

constexpr uint64_t kMostInitialBytes = 64 << 20;  // of a variable: each element takes a pointer, at the least

// Literals and virtual tables: nobody outside knows of them, and nobody writes to them.
bool is_compilers_own(const PtxVariable& variable) {
  if (variable.is_extern || variable.values.empty()) return false;
  if (variable.name.starts_with("_ZTV")) return true;  // units may each have the same
  if (variable.is_visible) return false;
  for (StringRef stem : {"$str", "__unnamed_", "$__", "__cudart_", "switch_$_table"}) {
    if (variable.name.starts_with(stem)) return true;
  }
  return false;
}

// Those that the host device and NVIDIA's back end know by name, as clang declares them.
llvm::FunctionType* type_of_known(llvm::LLVMContext& context, StringRef name) {
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *word = llvm::Type::getInt32Ty(context),
             *wide = llvm::Type::getInt64Ty(context), *nothing = llvm::Type::getVoidTy(context);
  if (name == "vprintf") return llvm::FunctionType::get(word, {pointer, pointer}, false);
  if (name == "malloc") return llvm::FunctionType::get(pointer, {wide}, false);
  if (name == "free") return llvm::FunctionType::get(nothing, {pointer}, false);
  if (name == "__assertfail") {
    return llvm::FunctionType::get(nothing, {pointer, pointer, word, pointer, wide}, false);
  }
  return nullptr;
}

}  // namespace

AddressSpace address_space(StringRef space) {
  return llvm::StringSwitch<AddressSpace>(space)
      .Case("global", kGlobal)
      .Cases("shared", "shared::cta", kShared)
      .Case("const", kConstant)
      .Default(kGeneric);
}

LiftedModule::LiftedModule(const PtxFile& file, StringRef text, llvm::Module& module)
    : file_(file), text_(text), module_(module) {
  for (const PtxFunction& function : file.functions) {
    const PtxFunction*& known = functions_[function.name];
    if (!known || function.is_defined) known = &function;
  }
  for (const PtxVariable& variable : file.variables) {
    const PtxVariable*& known = variables_[variable.name];
    if (!known || !variable.is_extern) known = &variable;
  }
}

void LiftedModule::fail(StringRef piece, StringRef what) const {
  StringRef rest = text_.drop_front(static_cast<size_t>(piece.data() - text_.data()));
  rest = rest.take_until([](char c) { return c == '\n' || c == ';'; }).take_front(80);
  throw Error::of("line {} of the PTX ('{}') {}", line_of(text_, piece), rest.str(), what.str());
}

const PtxFunction* LiftedModule::definition(StringRef name) const { return functions_.lookup(name); }

llvm::Type* LiftedModule::type_of(const PtxVariable& value, bool is_result) {
  llvm::LLVMContext& context = module_.getContext();
  if (!value.is_array && value.vector == 1) return value.type.of(context);
  if (!is_result) return llvm::ArrayType::get(llvm::Type::getInt8Ty(context), value.bytes());
  uint64_t word = std::min<uint64_t>(value.alignment(), 8);
  while (value.bytes() % word) word /= 2;
  return llvm::ArrayType::get(llvm::Type::getIntNTy(context, static_cast<unsigned>(word) * 8), value.bytes() / word);
}

llvm::FunctionType* LiftedModule::type_of(const PtxFunction& function) {
  llvm::LLVMContext& context = module_.getContext();
  if (!function.is_defined) {
    if (llvm::FunctionType* known = type_of_known(context, function.name)) return known;
  }
  llvm::Type* result = llvm::Type::getVoidTy(context);
  if (function.results.size() > 1) fail(function.name, "gives several results, which Mneme does not read");
  if (!function.results.empty()) result = type_of(function.results[0], true);
  llvm::SmallVector<llvm::Type*, 8> parameters;
  for (const PtxVariable& parameter : function.parameters) {
    llvm::Type* type = type_of(parameter, false);
    parameters.push_back(type->isArrayTy() ? llvm::PointerType::get(context, 0) : type);
  }
  return llvm::FunctionType::get(result, parameters, false);
}

void LiftedModule::add_attributes(llvm::AttributeList& attributes, const PtxFunction& function) {
  llvm::LLVMContext& context = module_.getContext();
  for (unsigned i = 0; i < function.parameters.size(); ++i) {
    const PtxVariable& parameter = function.parameters[i];
    llvm::Type* type = type_of(parameter, false);
    if (!type->isArrayTy()) continue;
    attributes = attributes.addParamAttribute(context, i, llvm::Attribute::getWithByValType(context, type));
    attributes = attributes.addParamAttribute(
        context, i, llvm::Attribute::getWithAlignment(context, llvm::Align(parameter.alignment())));
  }
}

llvm::Function* LiftedModule::function(StringRef name) {
  if (auto alias = file_.aliases.find(name); alias != file_.aliases.end() && alias->second != name) {
    name = alias->second;
  }
  if (llvm::Function* made = module_.getFunction(name)) return made;
  const PtxFunction* source = functions_.lookup(name);
  if (!source) return nullptr;
  auto linkage = !source->is_defined                       ? llvm::GlobalValue::ExternalLinkage
                 : source->is_weak                         ? llvm::GlobalValue::WeakAnyLinkage
                 : source->is_kernel || source->is_visible ? llvm::GlobalValue::ExternalLinkage
                                                           : llvm::GlobalValue::InternalLinkage;
  auto* made = llvm::Function::Create(type_of(*source), linkage, name, module_);
  llvm::AttributeList attributes = made->getAttributes();
  add_attributes(attributes, *source);
  made->setAttributes(attributes);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::Convergent);
  if (!file_.processor.empty()) made->addFnAttr("target-cpu", file_.processor);
  if (source->limits.contains("noreturn")) made->addFnAttr(llvm::Attribute::NoReturn);
  return made;
}

llvm::GlobalVariable* LiftedModule::variable(StringRef name) {
  if (llvm::GlobalVariable* made = made_.lookup(name)) return made;
  const PtxVariable* source = variables_.lookup(name);
  return source ? add_variable(*source, name) : nullptr;
}

llvm::GlobalVariable* LiftedModule::add_variable(const PtxVariable& source, StringRef name) {
  llvm::Type* element = source.type.of(context());
  if (source.vector > 1) element = llvm::ArrayType::get(element, source.vector);
  llvm::Type* type = source.is_array ? llvm::ArrayType::get(element, source.count) : element;
  AddressSpace space = address_space(source.space);
  bool own = is_compilers_own(source), shared = space == kShared, external = source.is_extern || source.count == 0;
  auto linkage = own || (shared && !external)  ? llvm::GlobalValue::InternalLinkage
                 : source.is_weak && !external ? llvm::GlobalValue::WeakAnyLinkage
                                               : llvm::GlobalValue::ExternalLinkage;
  auto* made = new llvm::GlobalVariable(module_, type, own, linkage, nullptr, name, nullptr,
                                        llvm::GlobalValue::NotThreadLocal, space);
  if (source.alignment()) made->setAlignment(llvm::Align(source.alignment()));
  made_[name] = made;  // before its value, which may lead back to it
  if (external) return made;
  made->setInitializer(shared ? llvm::UndefValue::get(type) : initial_value(source, type));
  if (!own && !shared) made->setExternallyInitialized(true);  // by the application
  return made;
}

llvm::Constant* LiftedModule::initial_value(const PtxVariable& source, llvm::Type* type) {
  if (source.values.empty()) return llvm::Constant::getNullValue(type);
  if (source.bytes() > kMostInitialBytes) fail(source.name, "has more initial values than Mneme reads");
  llvm::SmallVector<llvm::Constant*, 16> values;
  for (StringRef text : source.values) values.push_back(element_value(text, source));
  if (!type->isArrayTy()) return values[0];
  llvm::Type* plain = source.type.of(context());
  values.resize(source.count * source.vector, llvm::Constant::getNullValue(plain));
  if (source.vector == 1) return llvm::ConstantArray::get(llvm::cast<llvm::ArrayType>(type), values);
  auto* vector = llvm::ArrayType::get(plain, source.vector);
  llvm::SmallVector<llvm::Constant*, 16> elements;
  for (size_t i = 0; i < values.size(); i += source.vector) {
    elements.push_back(llvm::ConstantArray::get(vector, llvm::ArrayRef(values).slice(i, source.vector)));
  }
  return source.is_array ? llvm::ConstantArray::get(llvm::cast<llvm::ArrayType>(type), elements) : elements[0];
}

llvm::Constant* LiftedModule::element_value(StringRef text, const PtxVariable& source) {
  llvm::IRBuilder<> builder(context());
  llvm::Type* type = source.type.of(context());
  if (llvm::Value* number = ptx_number(builder, text)) {
    return llvm::cast<llvm::Constant>(as_type(builder, number, type, true));
  }
  // "0xff00(symbol)": those of the address's bits, moved to the lowest.
  auto [mask_text, rest] = text.split('(');
  uint64_t mask = 0;
  if (!mask_text.trim().getAsInteger(0, mask) && rest.consume_back(")")) {
    llvm::Constant* address = address_value(rest.trim(), 64);
    if (!address || mask == 0) fail(text, "is no initial value that Mneme understands");
    auto places = static_cast<uint64_t>(llvm::countr_zero(mask));
    llvm::Value* part = builder.CreateLShr(address, places);
    return llvm::cast<llvm::Constant>(builder.CreateTrunc(part, type));
  }
  llvm::Constant* address = type->isIntegerTy() ? address_value(text, type->getIntegerBitWidth()) : nullptr;
  if (!address) fail(text, "is no initial value that Mneme understands");
  return address;
}

// "symbol", "generic(symbol)", "generic(symbol)+8".
llvm::Constant* LiftedModule::address_value(StringRef text, unsigned bits) {
  auto [base, distance] = text.split('+');
  base = base.trim();
  uint64_t offset = 0;
  if (!distance.empty()) {
    std::optional<uint64_t> known = ptx_integer(distance);
    if (!known) return nullptr;
    offset = *known;
  }
  bool generic = base.consume_front("generic(");
  if (generic && !base.consume_back(")")) return nullptr;
  llvm::Constant* address = variable(base);
  if (!address) address = function(base);
  if (!address) return nullptr;
  unsigned space = address->getType()->getPointerAddressSpace();
  if (space != kShared && space != kGeneric) {
    address = llvm::ConstantExpr::getAddrSpaceCast(address, llvm::PointerType::get(context(), 0));
  }
  if (offset) {
    llvm::Constant* distance = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context()), offset);
    address = llvm::ConstantExpr::getGetElementPtr(llvm::Type::getInt8Ty(context()), address, distance);
  }
  return llvm::ConstantExpr::getPtrToInt(address, llvm::Type::getIntNTy(context(), bits));
}

}  // namespace mneme::codegen::ptx
