# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a folder's exports.list: the linker's version script, and a weak definition of every function, which refuses the
# call for the reason that its refusals.list gives.

function(mneme_refusal symbol lines out)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^ ]+) (.*)$" parsed "${line}")
    set(pattern "${CMAKE_MATCH_1}")
    set(reason "${CMAKE_MATCH_2}")
    if(symbol MATCHES "^(${pattern})$")
      set(${out} "${reason}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "refusals.list gives no reason for ${symbol}")
endfunction()

# mneme_exports(folder output [REFUSALS folder] [REFUSE function] [UNVERSIONED]): writes `output`/exports.map and
# `output`/unsupported_functions.cc. The reasons may be in another folder, and be said by another function; symbols without
# versions have no node.
function(mneme_exports folder output)
  cmake_parse_arguments(ARG UNVERSIONED "REFUSALS;REFUSE" "" ${ARGN})
  set(list ${folder}/exports.list)
  set(refusals ${folder}/refusals.list)
  if(ARG_REFUSALS)
    set(refusals ${ARG_REFUSALS}/refusals.list)
  endif()
  if(NOT ARG_REFUSE)
    set(ARG_REFUSE mneme_hostgpu_refuse)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list} ${refusals})
  file(STRINGS ${refusals} refusal_lines REGEX "^[^#]")
  file(STRINGS ${list} lines REGEX "^[A-Za-z_]")

  string(CONCAT code "// Made from exports.list.\n"
                     "extern \"C\" int ${ARG_REFUSE}(const char* name, const char* reason);\n")
  set(nodes)
  foreach(line IN LISTS lines)
    string(REPLACE " " ";" words ${line})
    list(GET words 0 symbol)
    list(GET words 1 node)
    if(ARG_UNVERSIONED)
      set(node "")
    endif()
    if(node AND NOT node IN_LIST nodes)
      list(APPEND nodes ${node})
    endif()
    string(APPEND symbols_of_${node} "    ${symbol};\n")
    mneme_refusal(${symbol} "${refusal_lines}" reason)
    string(APPEND code "extern \"C\" __attribute__((weak, visibility(\"default\"))) int ${symbol}() { "
                       "return ${ARG_REFUSE}(\"${symbol}\", \"${reason}\"); }\n")
  endforeach()

  list(SORT nodes)
  set(script "mneme_1 {\n  global:\n    mneme_hostgpu_*;\n  local:\n    *;\n};\n")
  if(ARG_UNVERSIONED)
    set(script "{\n  global:\n${symbols_of_}  local:\n    *;\n};\n")
  endif()
  foreach(node IN LISTS nodes)
    string(APPEND script "${node} {\n  global:\n${symbols_of_${node}}};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output}/unsupported_functions.cc CONTENT "${code}" @ONLY)
  file(CONFIGURE OUTPUT ${output}/exports.map CONTENT "${script}" @ONLY)
endfunction()
