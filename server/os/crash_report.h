// The last words of a process that a signal ends, whether of a fault, an abort or a sender, on
// standard error:
//
//     SIGSEGV at address 0x10 in thread weir-io-1 (4712), weir 0.2.0
//     /usr/bin/weir-server(+0x1b2c3) [0x55d0c31b2c3]                 the calls, the latest first
//     ...
//
//     SIGQUIT from process 4711, user 0, in thread weir-server (4710), weir 0.2.0
//     ...
//
// `addr2line -e weir-server -f -C 0x1b2c3` prints the function of a call, and its source line if
// the build has debug symbols. The process then ends by the signal itself, so that the core and the
// message of systemd are those of the fault. If an exception is not caught, an earlier line names
// it and its thread.
//
// The report is written by calls that are safe in a signal handler, on a stack of its own: an
// overflow of the thread's stack is reported, too. Builds with a sanitizer leave the signals to it.
#pragma once

#include <string_view>

namespace weir {

// Reports deaths by any signal that can be caught, and exceptions that nothing catches, from now
// on; SIGHUP, SIGINT and SIGTERM, which are read (signals.h), do not. Call it once, on the main
// thread, before any other thread begins. `program`: its name and version, which must outlive the
// process's last word.
void ReportCrashes(std::string_view program);

// Gives a signal back its default action, which ends the process, and reports that it did.
// Requires: ReportCrashes() was called before, or nothing is to be reported.
void ReportDeathBy(int signal);

// Names the calling thread, in at most 15 bytes, and gives it the stack of its report until it
// ends. Each thread of the server calls it first. The threads of libraries, which do not, report on
// the stack that they have.
void BeginThread(const char* name);

}  // namespace weir
