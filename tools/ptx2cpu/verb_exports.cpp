// What libptx2cpu_verbs.so exports: a function for each verb that it has.
#include "tools/ptx2cpu/verbs.h"

using namespace ptx2cpu;

#define VERB(name, function)                                                  \
  extern "C" __attribute__((visibility("default"))) void ptx2cpu_verb_##name( \
      const tool::Arguments& arguments, Status& status) {                     \
    status = tool::function(arguments);                                       \
  }

VERB(parse, RunParse)
VERB(ir, RunIr)
VERB(cfg, RunCfg)
VERB(compile, RunCompile)
VERB(interpret, RunInterpret)
VERB(explain, RunExplain)
VERB(check, RunCheck)
VERB(profile, RunProfile)
VERB(run, RunStages)
VERB(replay, RunReplayInterpreter)
