# cmake -DLIST=FILE -DROOT=DIR -DOUTPUT=FILE -P translator_id.cmake: a hash of the translator's sources, so that code kept
# on disk by one build is not used as that of another. Paths count relative to ROOT: the same tree has the same id.
file(STRINGS ${LIST} sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  file(RELATIVE_PATH name ${ROOT} ${source})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 id "${all}")
file(WRITE ${OUTPUT} "\"${id}\"\n")
