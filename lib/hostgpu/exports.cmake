# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From exports.list: the linker's version script, and a weak definition of every function.
set(list ${CMAKE_CURRENT_LIST_DIR}/exports.list)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
file(STRINGS ${list} lines REGEX "^[A-Za-z_]")

set(code "// Made from exports.list.\nextern \"C\" int mneme_unsupported(const char* name);\n")
set(nodes)
foreach(line IN LISTS lines)
  string(REPLACE " " ";" words ${line})
  list(GET words 0 symbol)
  list(GET words 1 node)
  if(NOT node IN_LIST nodes)
    list(APPEND nodes ${node})
  endif()
  string(APPEND symbols_of_${node} "    ${symbol};\n")
  string(APPEND code "extern \"C\" __attribute__((weak, visibility(\"default\"))) int ${symbol}() { "
                     "return mneme_unsupported(\"${symbol}\"); }\n")
endforeach()

list(SORT nodes)
set(script "mneme_1 {\n  global:\n    mneme_hostgpu_*;\n  local:\n    *;\n};\n")
foreach(node IN LISTS nodes)
  string(APPEND script "${node} {\n  global:\n${symbols_of_${node}}};\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/unsupported_functions.cc CONTENT "${code}" @ONLY)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/exports.map CONTENT "${script}" @ONLY)
