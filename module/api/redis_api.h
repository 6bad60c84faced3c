// The functions of a Redis or Valkey server that the module uses.
//
// No package has a header of them, so they are declared here. The binary interface has been the
// same since Redis 7.0: a server hands the functions out by name, through the first word of the
// context with which it loads a module. Load() asks for all of them. A function that the server
// lacks is null, which only SetCommandACLCategories and GetCurrentUserName may be.
//
// Redis runs commands, timers and callbacks one at a time on its main thread, and the functions may
// be called there only. The one exception is that a value may be freed on another thread
// (data_type.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::redis {

// Opaque objects that the host hands out and takes back.
struct Context;
struct String;
struct Key;
struct Type;
struct Io;
struct Digest;
struct Info;
struct BlockedClient;
struct CommandHandle;
struct ScanCursor;
using Millis = long long;  // a span, or a time since the Unix epoch
using TimerId = std::uint64_t;

inline constexpr int kOk = 0;
inline constexpr int kErr = 1;
inline constexpr int kApiVersion = 1;

// For OpenKey.
inline constexpr int kRead = 1;
inline constexpr int kWrite = 2;
// A result of KeyType.
inline constexpr int kEmptyKey = 0;
// For SetAbsExpire.
inline constexpr Millis kNoExpiry = -1;
// For SetModuleOptions: the module itself checks for broken files; a key does not count as modified
// only because it was opened for writing.
inline constexpr int kHandleIoErrors = 1 << 0;
inline constexpr int kNoImplicitSignalModified = 1 << 1;
// Results of GetContextFlags.
inline constexpr int kReplica = 1 << 3;
inline constexpr int kReplicated = 1 << 12;  // the command comes from the primary
inline constexpr int kLoading = 1 << 13;     // from an AOF
inline constexpr int kDenyBlocking = 1 << 21;
inline constexpr int kResp3 = 1 << 22;
// For aux_save_triggers, and `when` of aux_save and aux_load.
inline constexpr int kAuxBeforeKeys = 1 << 0;

using Command = int (*)(Context*, String** words, int count);

// The functions of a type of values. Servers read the fields that belong to `version`.
struct TypeMethods {
  std::uint64_t version = 3;
  void* (*rdb_load)(Io*, int encoding) = nullptr;  // returns null if the value is broken
  void (*rdb_save)(Io*, void* value) = nullptr;
  void (*aof_rewrite)(Io*, String* key, void* value) = nullptr;
  std::size_t (*mem_usage)(const void* value) = nullptr;
  void (*digest)(Digest*, void* value) = nullptr;
  void (*free)(void* value) = nullptr;
  int (*aux_load)(Io*, int encoding, int when) = nullptr;
  void (*aux_save)(Io*, int when) = nullptr;
  int aux_save_triggers = 0;
  std::size_t (*free_effort)(String* key, const void* value) = nullptr;
  void (*unlink)(String* key, const void* value) = nullptr;
  void* (*copy)(String* from, String* to, const void* value) = nullptr;
  int (*defrag)(void*, String* key, void** value) = nullptr;
};

// An event of the server, and the id of one: the node has another role.
struct ServerEvent {
  std::uint64_t id = 0;
  std::uint64_t version = 1;
};
inline constexpr ServerEvent kRoleChanged;
inline constexpr std::uint64_t kNowPrimary = 0;  // which role that is: 1 for a replica

// The entry of a command in COMMAND DOCS.
enum class ArgumentType : int {
  kString,
  kInteger,
  kDouble,
  kKey,
  kPattern,
  kUnixTime,
  kToken,
  kOneOf,
  kBlock
};
inline constexpr int kOptionalArgument = 1 << 0;
inline constexpr int kMultipleArgument = 1 << 1;
struct CommandArgument {  // the last of a list has no name
  const char* name = nullptr;
  ArgumentType type = ArgumentType::kString;
  int key_spec = -1;  // for a key: the index of its KeySpec
  const char* token = nullptr;
  const char* summary = nullptr;
  const char* since = nullptr;
  int flags = 0;
  const char* deprecated_since = nullptr;
  CommandArgument* parts = nullptr;  // of kOneOf and kBlock
  const char* display_text = nullptr;
};
// Flags of a command's use of a key, for KeySpec and KeyAtPosWithFlags.
inline constexpr int kReadsKey = 1 << 0 | 1 << 4;             // read only; its value is returned
inline constexpr int kChangesKey = 1 << 1 | 1 << 4 | 1 << 5;  // read, returned and changed
struct KeySpec {  // keys from a position on; the last of a list has begin 0
  const char* notes = nullptr;
  std::uint64_t flags = 0;
  int begin = 0;  // 2: at `position`
  struct Keyword {
    const char* keyword;
    int start;
  };
  union {
    int position = 0;
    Keyword unused;
  };
  int find = 0;  // 2: a range
  int last = 0;  // counted from the first
  int step = 0;
  int limit = 0;
};
static_assert(sizeof(KeySpec) == 56);
struct CommandInfoVersion {
  int version = 1;
  std::size_t history_bytes = 2 * sizeof(const char*);  // of an entry of `history`
  std::size_t key_spec_bytes = sizeof(KeySpec);
  std::size_t argument_bytes = sizeof(CommandArgument);
};
inline constexpr CommandInfoVersion kInfoVersion;
struct CommandInfo {
  const CommandInfoVersion* version = nullptr;
  const char* summary = nullptr;
  const char* complexity = nullptr;
  const char* since = nullptr;
  const void* history = nullptr;
  const char* tips = nullptr;
  int arity = 0;
  const KeySpec* key_specs = nullptr;
  CommandArgument* arguments = nullptr;
};

// Asks the server for all functions. Returns false if one is missing that may not be null.
[[nodiscard]] bool Load(Context* context);

// NOLINTBEGIN(readability-identifier-naming): the functions of Redis, under its names

// --- Memory: of the server's allocator, so that INFO memory and maxmemory count it ---
inline void* (*Alloc)(std::size_t bytes) = nullptr;
inline void (*Free)(void* memory) = nullptr;

// --- The module and its commands ---
inline int (*IsModuleNameBusy)(const char* name) = nullptr;
inline void (*SetModuleAttribs)(Context*, const char* name, int version, int api) = nullptr;
inline void (*SetModuleOptions)(Context*, int options) = nullptr;
// `flags`: words separated by blanks; a word that the server does not know is an error.
inline int (*CreateCommand)(Context*, const char* name, Command, const char* flags, int first_key,
                            int last_key, int step) = nullptr;
// A container is a command without a function; a subcommand has its name without the container's.
inline CommandHandle* (*GetCommand)(Context*, const char* name) = nullptr;
inline int (*CreateSubcommand)(CommandHandle* container, const char* name, Command,
                               const char* flags, int first_key, int last_key, int step) = nullptr;
inline int (*SetCommandInfo)(CommandHandle*, const CommandInfo*) = nullptr;
// `categories`: of the ACL, words separated by blanks. Null before Redis 7.2.
inline int (*SetCommandACLCategories)(CommandHandle*, const char* categories) = nullptr;
// Returns a new string, or null if the user is unknown. The function is null in hosts without it.
inline String* (*GetCurrentUserName)(Context*) = nullptr;
inline int (*IsKeysPositionRequest)(Context*) = nullptr;
inline void (*KeyAtPosWithFlags)(Context*, int position, int flags) = nullptr;
inline int (*GetContextFlags)(Context*) = nullptr;
inline int (*SubscribeToServerEvent)(Context*, ServerEvent event,
                                     void (*heard)(Context*, ServerEvent event, std::uint64_t which,
                                                   void* data)) = nullptr;
inline void (*Log)(Context*, const char* level, const char* format, ...) = nullptr;
inline int (*RegisterInfoFunc)(Context*, void (*)(Info*, int for_crash)) = nullptr;
inline int (*InfoAddSection)(Info*, const char* name) = nullptr;
inline int (*InfoAddFieldULongLong)(Info*, const char* name, unsigned long long value) = nullptr;

// Returns the number of subscribers of this node that were sent the message. In a cluster it goes
// to all other nodes, too.
inline int (*PublishMessage)(Context*, String* channel, String* message) = nullptr;

// --- Strings ---
inline const char* (*StringPtrLen)(const String*, std::size_t* bytes) = nullptr;
inline String* (*CreateString)(Context*, const char* text, std::size_t bytes) = nullptr;
inline void (*FreeString)(Context*, String*) = nullptr;

// --- Replies: like those of the server's RespWriter (protocol/resp_writer.h) ---
inline int (*WrongArity)(Context*) = nullptr;
inline int (*ReplyWithLongLong)(Context*, long long number) = nullptr;
inline int (*ReplyWithError)(Context*, const char* text) = nullptr;
inline int (*ReplyWithSimpleString)(Context*, const char* text) = nullptr;
inline int (*ReplyWithStringBuffer)(Context*, const char* text, std::size_t bytes) = nullptr;
inline int (*ReplyWithArray)(Context*, long values) = nullptr;
inline int (*ReplyWithMap)(Context*, long pairs) = nullptr;
inline int (*ReplyWithNull)(Context*) = nullptr;

// --- Keys ---
inline int (*GetSelectedDb)(Context*) = nullptr;
inline int (*SelectDb)(Context*, int db) = nullptr;
// Returns null if the key is missing and opened to read only.
inline Key* (*OpenKey)(Context*, String* name, int mode) = nullptr;
inline void (*CloseKey)(Key*) = nullptr;
inline int (*KeyType)(Key*) = nullptr;
inline Type* (*ModuleTypeGetType)(Key*) = nullptr;
inline void* (*ModuleTypeGetValue)(Key*) = nullptr;
inline int (*ModuleTypeSetValue)(Key*, Type*, void* value) = nullptr;
inline int (*DeleteKey)(Key*) = nullptr;
inline int (*SetAbsExpire)(Key*, Millis when) = nullptr;
inline int (*SignalModifiedKey)(Context*, String* name) = nullptr;

// Calls visit(context, name, key, data) for some keys of the selected database, where `key`, which
// is open to read, may be null. Returns 0 after the last ones. Keys that are there from the first
// call to the last are visited at least once.
inline ScanCursor* (*ScanCursorCreate)() = nullptr;
inline void (*ScanCursorRestart)(ScanCursor*) = nullptr;
inline void (*ScanCursorDestroy)(ScanCursor*) = nullptr;
inline int (*Scan)(Context*, ScanCursor*,
                   void (*visit)(Context*, String* name, Key* key, void* data),
                   void* data) = nullptr;

// --- Replicas and the AOF. In `format` s is a String*, v an array of them and its size, b a
// pointer and a size, l a long long ---
inline int (*Replicate)(Context*, const char* command, const char* format, ...) = nullptr;
inline int (*ReplicateVerbatim)(Context*) = nullptr;

// --- Values of a type of our own ---
inline Type* (*CreateDataType)(Context*, const char* name, int encoding, TypeMethods*) = nullptr;
inline void (*SaveStringBuffer)(Io*, const char* text, std::size_t bytes) = nullptr;
// The caller must Free the result, which is null at the end of a broken file.
inline char* (*LoadStringBuffer)(Io*, std::size_t* bytes) = nullptr;
inline int (*IsIOError)(Io*) = nullptr;
// A context for the load of a value; the value's key, null if it is unknown, and its database.
inline Context* (*GetContextFromIO)(Io*) = nullptr;
inline const String* (*GetKeyNameFromIO)(Io*) = nullptr;
inline int (*GetDbIdFromIO)(Io*) = nullptr;
inline void (*EmitAOF)(Io*, const char* command, const char* format, ...) = nullptr;
inline void (*DigestAddStringBuffer)(Digest*, const char* text, std::size_t bytes) = nullptr;
inline void (*DigestEndSequence)(Digest*) = nullptr;

// --- Clients that wait, and timers ---
// Not 0 while nothing may be sent to replicas, so that they can catch up. No commands run then, but
// timers do.
inline int (*AvoidReplicaTraffic)() = nullptr;
// 0 ms: no timeout. However the wait ends, UnblockClient must follow.
inline BlockedClient* (*BlockClient)(Context*, Command reply, Command timeout,
                                     void (*free_data)(Context*, void*),
                                     Millis timeout_ms) = nullptr;
inline int (*UnblockClient)(BlockedClient*, void* data) = nullptr;
inline void (*SetDisconnectCallback)(BlockedClient*, void (*)(Context*, BlockedClient*)) = nullptr;
inline void* (*GetBlockedClientPrivateData)(Context*) = nullptr;
inline BlockedClient* (*GetBlockedClientHandle)(Context*) = nullptr;
inline TimerId (*CreateTimer)(Context*, Millis period, void (*)(Context*, void*),
                              void* data) = nullptr;
inline int (*StopTimer)(Context*, TimerId, void** data) = nullptr;

// NOLINTEND(readability-identifier-naming)

}  // namespace weir::redis
