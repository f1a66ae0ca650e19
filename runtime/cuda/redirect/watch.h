// The objects of the process: those that the program starts with, and those that it opens later.
#pragma once

namespace ptx2cpu::redirect {

// Redirects the objects that are loaded. Before their constructors run.
void LookAtProgram();

// From now on the loader reports each object to us that it maps, before any code of it runs.
void WatchLoader();

}  // namespace ptx2cpu::redirect
