// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/json/stores.h"

namespace mneme::bundle::json {

void add_stores(Text& out, const std::vector<StoreType>& stores) {
  out.open_array("stores");
  for (const StoreType& store : stores) {
    out.open();
    if (store.argument >= 0) out.add("argument", static_cast<uint64_t>(store.argument));
    if (!store.symbol.empty()) out.add("symbol", store.symbol);
    out.add("type", store.type);
    if (store.restrict) out.add("restrict", true);
    out.close();
  }
  out.close_array();
}

std::vector<StoreType> parse_stores(const Object& in) {
  std::vector<StoreType> stores;
  in.each("stores", [&](Object object) {
    StoreType& store = stores.emplace_back();
    if (object.has("argument")) store.argument = static_cast<int64_t>(object.number("argument", kMaxArgumentBytes));
    store.symbol = object.text_or("symbol", "");
    store.type = object.text("type");
    if (object.has("restrict")) store.restrict = object.boolean("restrict");
  });
  return stores;
}

}  // namespace mneme::bundle::json
