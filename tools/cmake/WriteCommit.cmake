# Writes OUTPUT, a header with the commit that SOURCE is at, where that differs from what is there; "" outside of a clone.
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=8 --dirty=+ --exclude=* OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(text "// Made by tools/cmake/WriteCommit.cmake; \"+\": with changes that are not committed.\n#define PTX2CPU_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
