# api_table_output(OUT WHAT TABLE NAMESPACE [MAJOR [NODE]]): a text generated from an API table, below <build>/generated.
# It is written where it changes, so that a new api_table compiles nothing again.
function(api_table_output out what table space)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/generated/${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
    COMMAND api_table ${what} ${table} ${space} ${ARGN} > ${PROJECT_BINARY_DIR}/generated/${out}.new
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${PROJECT_BINARY_DIR}/generated/${out}.new
      ${PROJECT_BINARY_DIR}/generated/${out}
    DEPENDS api_table ${table} COMMENT "${out}" VERBATIM)
endfunction()
