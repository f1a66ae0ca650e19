#include "runtime/engine/warm.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/compiler.h"
#include "runtime/engine/contained.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

namespace {

struct OneModule {
  explicit OneModule(ModuleSource from)
      : options(from.options), source(std::move(from.texts)), compiler(source, kernels, options) {}
  ModuleOptions options;
  KernelSource source;
  const std::vector<std::string> kernels = {};  // each is compiled alone, to the best code
  KernelCompiler compiler;
};

struct Task {
  OneModule* module;
  std::string kernel;
  std::optional<Error> error;
};

std::vector<Task> TasksOf(const std::vector<std::unique_ptr<OneModule>>& modules) {
  std::vector<Task> tasks;
  for (const auto& module : modules) {
    const size_t first = tasks.size();
    for (const PtxText& text : module->source.texts()) {
      for (std::string& kernel : ptx::EntryNames(text.text)) {
        const auto same = [&](const Task& task) { return task.kernel == kernel; };
        if (std::none_of(tasks.begin() + static_cast<ptrdiff_t>(first), tasks.end(), same))
          tasks.push_back({module.get(), std::move(kernel), {}});
      }
    }
  }
  return tasks;
}

}  // namespace

WarmReport Warm(std::vector<ModuleSource> sources, unsigned threads,
                const std::function<void(size_t, size_t, std::string_view)>& progress) {
  std::vector<std::unique_ptr<OneModule>> modules;
  for (ModuleSource& source : sources) modules.push_back(std::make_unique<OneModule>(std::move(source)));
  std::vector<Task> tasks = TasksOf(modules);
  std::atomic<size_t> next = 0, hits = 0;
  std::mutex mutex;
  size_t done = 0;
  const auto serve = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) {
      Task& task = tasks[i];
      if (progress) {
        std::lock_guard lock(mutex);
        progress(done++, tasks.size(), task.kernel);
      }
      auto compiled = Caught(
          [&] { return task.module->compiler.Compile({.kernel = task.kernel, .show_progress = !progress}); });
      if (!compiled)
        task.error = std::move(compiled).error();
      else
        hits += compiled->from_cache;
    }
  };
  if (threads == 0) threads = UsableProcessors();
  std::vector<std::thread> workers;
  try {
    for (size_t i = 1; i < std::min<size_t>(threads, tasks.size()); ++i) workers.emplace_back(serve);
  } catch (const std::system_error&) {  // fewer, then
  }
  serve();
  for (std::thread& worker : workers) worker.join();
  WarmReport report{.kernels = tasks.size(), .hits = hits};
  for (Task& task : tasks) {
    if (task.error) report.refused.push_back({std::move(task.kernel), *std::move(task.error)});
  }
  report.compiled = report.kernels - report.hits - report.refused.size();
  return report;
}

}  // namespace ptx2cpu::rt
