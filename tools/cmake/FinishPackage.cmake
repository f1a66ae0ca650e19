# Run by CPack on what is about to become the Debian package: what Debian's policy wants and `cmake --install` does not install.
# The copyright file in place of the licence's text, which Debian has; the changelog in Debian's form; manual pages and changelog compressed;
# static libraries without the symbols that only debuggers need.
set(root ${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(documents ${root}/share/doc/ptx2cpu)
configure_file(${CPACK_PTX2CPU_SOURCE}/tools/cmake/copyright.in ${documents}/copyright @ONLY)
file(REMOVE ${documents}/LICENSE)

# Lists of "- " become lists of "  * ". What is not released yet is in a package of the current version.
file(READ ${documents}/CHANGELOG.md text)
string(REGEX REPLACE "\n## [0-9][^\n]*\n|\n## Unreleased\n|^# [^\n]*\n" "\n" text "${text}")
string(REGEX REPLACE "\n\n+" "\n" text "${text}")
string(REGEX REPLACE "\n  " "\n    " text "${text}")
string(REGEX REPLACE "\n- " "\n  * " text "${text}")
string(REGEX REPLACE "\n([^ \n])" "\n  * \\1" text "${text}")
string(STRIP "${text}" text)
file(WRITE ${documents}/changelog "  ${text}\n")
execute_process(COMMAND fmt -t -w 79 ${documents}/changelog OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND git log -1 --format=%cD WORKING_DIRECTORY ${CPACK_PTX2CPU_SOURCE}
  OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
file(WRITE ${documents}/changelog
  "ptx2cpu (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n${text}\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(REMOVE ${documents}/CHANGELOG.md)

file(GLOB manuals ${root}/share/man/man*/*.[1-8])
execute_process(COMMAND gzip -9n ${documents}/changelog ${manuals} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB archives ${root}/lib/*.a)
execute_process(COMMAND strip --strip-debug --remove-section=.comment --enable-deterministic-archives ${archives} COMMAND_ERROR_IS_FATAL ANY)
