// The arguments of the server's commands, for COMMAND DOCS and the syntax lines. Part of
// command_table.cc.
#pragma once

#include <array>

#include "core/commands/limit_arguments.h"

namespace weir::arguments {

inline constexpr std::array kManyKeys = {
    Argument{.name = "key", .type = Arg::kKey, .multiple = true}};
inline constexpr std::array kMessage = {Argument{.name = "message"}};
inline constexpr std::array kOptionalMessage = {Argument{.name = "message", .optional = true}};
inline constexpr std::array kAuth = {Argument{.name = "username", .optional = true},
                                     Argument{.name = "password"}};
inline constexpr std::array kCredentials = {Argument{.name = "username"},
                                            Argument{.name = "password"}};
inline constexpr std::array kHelloOptions = {
    Argument{.name = "protover", .type = Arg::kInteger},
    Argument{.name = "auth",
             .type = Arg::kBlock,
             .token = "AUTH",
             .optional = true,
             .parts = kCredentials},
    Argument{.name = "clientname", .token = "SETNAME", .optional = true},
};
inline constexpr std::array kHello = {
    Argument{.name = "arguments", .type = Arg::kBlock, .optional = true, .parts = kHelloOptions}};
inline constexpr std::array kIndex = {Argument{.name = "index", .type = Arg::kInteger}};
inline constexpr std::array kSubcommand = {
    Argument{.name = "subcommand"},
    Argument{.name = "argument", .optional = true, .multiple = true}};
inline constexpr std::array kName = {Argument{.name = "connection-name"}};
inline constexpr std::array kLibrary = {Argument{.name = "libname", .token = "LIB-NAME"},
                                        Argument{.name = "libver", .token = "LIB-VER"}};
inline constexpr std::array kSetInfo = {
    Argument{.name = "attr", .type = Arg::kOneOf, .parts = kLibrary}};
inline constexpr std::array kClientIds = {
    Argument{.name = "client-id", .type = Arg::kInteger, .multiple = true}};
inline constexpr std::array kClientFilters = {
    Argument{.name = "client-type", .token = "TYPE"},
    Argument{.name = "client-ids", .type = Arg::kBlock, .token = "ID", .parts = kClientIds},
};
inline constexpr std::array kClientList = {
    Argument{.name = "filter", .type = Arg::kOneOf, .optional = true, .parts = kClientFilters}};
inline constexpr std::array kYesOrNo = {
    Argument{.name = "yes", .type = Arg::kToken, .token = "YES"},
    Argument{.name = "no", .type = Arg::kToken, .token = "NO"}};
inline constexpr std::array kKillFilters = {
    Argument{.name = "client-id", .type = Arg::kInteger, .token = "ID", .optional = true},
    Argument{.name = "client-type", .token = "TYPE", .optional = true},
    Argument{.name = "username", .token = "USER", .optional = true},
    Argument{.name = "addr", .token = "ADDR", .optional = true},
    Argument{.name = "laddr", .token = "LADDR", .optional = true},
    Argument{.name = "skipme",
             .type = Arg::kOneOf,
             .token = "SKIPME",
             .optional = true,
             .parts = kYesOrNo},
};
inline constexpr std::array kKillForms = {
    Argument{.name = "ip:port"},
    Argument{.name = "filters", .type = Arg::kBlock, .parts = kKillFilters}};
inline constexpr std::array kClientKill = {
    Argument{.name = "filter", .type = Arg::kOneOf, .parts = kKillForms}};
inline constexpr std::array kOnOff = {Argument{.name = "on", .type = Arg::kToken, .token = "ON"},
                                      Argument{.name = "off", .type = Arg::kToken, .token = "OFF"}};
inline constexpr std::array kOnOrOff = {
    Argument{.name = "enabled", .type = Arg::kOneOf, .parts = kOnOff}};
inline constexpr std::array kOnOffSkip = {
    kOnOff[0], kOnOff[1], Argument{.name = "skip", .type = Arg::kToken, .token = "SKIP"}};
inline constexpr std::array kReplyMode = {
    Argument{.name = "mode", .type = Arg::kOneOf, .parts = kOnOffSkip}};
inline constexpr std::array kWriteOrAll = {
    Argument{.name = "write", .type = Arg::kToken, .token = "WRITE"},
    Argument{.name = "all", .type = Arg::kToken, .token = "ALL"}};
inline constexpr std::array kPause = {
    Argument{.name = "milliseconds", .type = Arg::kInteger},
    Argument{.name = "what", .type = Arg::kOneOf, .optional = true, .parts = kWriteOrAll}};
inline constexpr std::array kTimeoutOrError = {
    Argument{.name = "timeout", .type = Arg::kToken, .token = "TIMEOUT"},
    Argument{.name = "error", .type = Arg::kToken, .token = "ERROR"}};
inline constexpr std::array kUnblock = {
    Argument{.name = "client-id", .type = Arg::kInteger},
    Argument{.name = "how", .type = Arg::kOneOf, .optional = true, .parts = kTimeoutOrError}};
inline constexpr std::array kCategory = {Argument{.name = "category", .optional = true}};
inline constexpr std::array kUser = {Argument{.name = "username"}};
inline constexpr std::array kBits = {
    Argument{.name = "bits", .type = Arg::kInteger, .optional = true}};
inline constexpr std::array kCountOrReset = {
    Argument{.name = "count", .type = Arg::kInteger},
    Argument{.name = "reset", .type = Arg::kToken, .token = "RESET"}};
inline constexpr std::array kAccessLog = {
    Argument{.name = "operation", .type = Arg::kOneOf, .optional = true, .parts = kCountOrReset}};
inline constexpr std::array kDryRun = {Argument{.name = "username"}, Argument{.name = "command"},
                                       Argument{.name = "arg", .optional = true, .multiple = true}};
inline constexpr std::array kCursor = {Argument{.name = "cursor", .type = Arg::kInteger}};
inline constexpr std::array kPattern = {Argument{.name = "pattern", .type = Arg::kPattern}};
inline constexpr std::array kPatterns = {
    Argument{.name = "parameter", .type = Arg::kPattern, .multiple = true}};
inline constexpr std::array kAssignment = {Argument{.name = "parameter"},
                                           Argument{.name = "value"}};
inline constexpr std::array kConfigSet = {
    Argument{.name = "data", .type = Arg::kBlock, .multiple = true, .parts = kAssignment}};
inline constexpr std::array kCommandFilter = {
    Argument{.name = "module-name", .token = "MODULE"},
    Argument{.name = "category", .token = "ACLCAT"},
    Argument{.name = "pattern", .type = Arg::kPattern, .token = "PATTERN"}};
inline constexpr std::array kListedCommands = {Argument{.name = "filterby",
                                                        .type = Arg::kOneOf,
                                                        .token = "FILTERBY",
                                                        .optional = true,
                                                        .parts = kCommandFilter}};
inline constexpr std::array kCommandNames = {
    Argument{.name = "command-name", .optional = true, .multiple = true}};
inline constexpr std::array kWholeCommand = {
    Argument{.name = "command"}, Argument{.name = "arg", .optional = true, .multiple = true}};
inline constexpr std::array kSections = {
    Argument{.name = "section", .optional = true, .multiple = true}};
inline constexpr std::array kAsyncOrSync = {
    Argument{.name = "async", .type = Arg::kToken, .token = "ASYNC"},
    Argument{.name = "sync", .type = Arg::kToken, .token = "SYNC"}};
inline constexpr std::array kFlush = {
    Argument{.name = "flush-type", .type = Arg::kOneOf, .optional = true, .parts = kAsyncOrSync}};
inline constexpr std::array kBgSave = {
    Argument{.name = "schedule", .type = Arg::kToken, .token = "SCHEDULE", .optional = true}};
inline constexpr std::array kSaveOrNot = {
    Argument{.name = "nosave", .type = Arg::kToken, .token = "NOSAVE"},
    Argument{.name = "save", .type = Arg::kToken, .token = "SAVE"}};
inline constexpr std::array kShutdown = {
    Argument{.name = "save-selector", .type = Arg::kOneOf, .optional = true, .parts = kSaveOrNot},
    Argument{.name = "now", .type = Arg::kToken, .token = "NOW", .optional = true},
    Argument{.name = "force", .type = Arg::kToken, .token = "FORCE", .optional = true},
    Argument{.name = "abort", .type = Arg::kToken, .token = "ABORT", .optional = true},
};
inline constexpr std::array kEvent = {Argument{.name = "event"}};
inline constexpr std::array kEvents = {
    Argument{.name = "event", .optional = true, .multiple = true}};
inline constexpr std::array kHistogramOf = {
    Argument{.name = "command", .optional = true, .multiple = true}};
inline constexpr std::array kSlowlogGet = {
    Argument{.name = "count", .type = Arg::kInteger, .optional = true}};
inline constexpr std::array kMemoryUsage = {
    kKey, Argument{.name = "count", .type = Arg::kInteger, .token = "SAMPLES", .optional = true}};

}  // namespace weir::arguments
