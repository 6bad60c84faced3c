// The program weir-server: from its command line to its exit code.
#pragma once

namespace weir {

// Does what the command line asks for: serves until a signal or a command ends the server, pings
// another server, or prints. Returns the exit code: 0 after a shutdown, 1 if the server cannot
// start, load its state or save it, and 2 if the command line is wrong; after --ping 0, 1 or 2.
// For one call a process: it sets up the heap, signals and the log.
int RunProgram(int argc, const char* const* argv);

}  // namespace weir
