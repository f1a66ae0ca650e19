// Questions to a CUDA driver about everything but memory and streams: initialisation, devices, contexts,
// modules, launches. The same source asks a real driver (record/record_core_answers.cpp; answers in
// core_answers.txt) and ours (core_answers_test.cpp asks core_asker.cpp, a process per group). The includer
// brings the driver's names into scope, those with version numbers in them. Only questions that every device
// answers alike are asked.
#pragma once

#include <utility>

#include "core_context_questions.h"
#include "core_launch_questions.h"
#include "core_module_questions.h"

namespace core_questions {

inline constexpr std::pair<const char*, void (*)()> kGroups[] = {{"before_init", AskBeforeInit},
                                                                 {"proc_address", AskProcAddress},
                                                                 {"devices", AskDevices},
                                                                 {"without_context", AskWithoutContext},
                                                                 {"contexts", AskContexts},
                                                                 {"context_settings", AskContextSettings},
                                                                 {"modules", AskModules},
                                                                 {"libraries", AskLibraries},
                                                                 {"function_settings", AskFunctionSettings},
                                                                 {"launches", AskLaunches},
                                                                 {"launch_attributes", AskLaunchAttributes},
                                                                 {"links", AskLinks},
                                                                 {"after_trap", AskAfterTrap},
                                                                 {"after_null", AskAfterNull}};

// Asks one group.
inline int Main(int argc, char** argv) {
  for (const auto& [name, ask] : kGroups) {
    if (argc != 2 || std::strcmp(argv[1], name) != 0) continue;
    ask();
    return 0;
  }
  return 2;
}

}  // namespace core_questions
