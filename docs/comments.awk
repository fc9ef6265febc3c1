# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the headers' plain comments Doxygen's: // above a declaration, // behind a member, and the one that opens a file.
# Lines stay where they are, so that Doxygen's messages and its source browser name the right ones.
function as(mark, from) {
  comment = substr($0, from + 2)
  gsub(/[<@\\]/, "\\\\&", comment)
  return substr($0, 1, from - 1) mark comment
}
NR == 1 && /SPDX/ { print "/// \\file"; next }
/^ *\/\/ -{4}/ { print ""; next }
/^ *\/\/($| )/ { print as("///", index($0, "//")); next }
/[;,})] +\/\/ / && !/"[^"]*\/\/ / { print as("///<", match($0, /\/\/ /)); next }
{ print }
