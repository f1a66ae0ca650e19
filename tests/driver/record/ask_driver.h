// Groups of questions to a real CUDA driver, whose answers are printed. After a header that defines Answers
// (memory_questions.h).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>
#include <string>

using memory_questions::Answers;

inline void PrintAnswer(const std::string& label, const std::string& answer) {
  std::printf("%s: %s\n", label.c_str(), answer.c_str());
  std::fflush(stdout);
}

inline int AskGroup(void (*questions)(Answers&)) {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 1;
  Answers answers;
  answers.told = PrintAnswer;
  questions(answers);
  const CUresult state = cuCtxSynchronize();
  if (state != CUDA_SUCCESS) std::printf("# context broken: %d\n", static_cast<int>(state));
  std::fflush(stdout);
  return 0;
}

// Each in a process of its own: a question that breaks the driver costs the rest of its group only.
inline void AskDriver(std::initializer_list<void (*)(Answers&)> groups) {
  for (auto questions : groups) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(AskGroup(questions));
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("# ended with %d\n", status);
  }
}
