#include "module/api/redis_api.h"

#include <array>
#include <string>

namespace weir::redis {
namespace {

using GetApi = int (*)(const char* name, void* function);

struct Named {
  const char* name;
  void* function;  // the address of a pointer to a function
};

#define WEIR_REDIS_FUNCTION(name) \
  Named { #name, static_cast < void*>(&(name)) }

const std::array kFunctions = {
    WEIR_REDIS_FUNCTION(Alloc),
    WEIR_REDIS_FUNCTION(AvoidReplicaTraffic),
    WEIR_REDIS_FUNCTION(BlockClient),
    WEIR_REDIS_FUNCTION(CloseKey),
    WEIR_REDIS_FUNCTION(CreateCommand),
    WEIR_REDIS_FUNCTION(CreateDataType),
    WEIR_REDIS_FUNCTION(CreateString),
    WEIR_REDIS_FUNCTION(CreateSubcommand),
    WEIR_REDIS_FUNCTION(CreateTimer),
    WEIR_REDIS_FUNCTION(DeleteKey),
    WEIR_REDIS_FUNCTION(DigestAddStringBuffer),
    WEIR_REDIS_FUNCTION(DigestEndSequence),
    WEIR_REDIS_FUNCTION(EmitAOF),
    WEIR_REDIS_FUNCTION(Free),
    WEIR_REDIS_FUNCTION(FreeString),
    WEIR_REDIS_FUNCTION(GetBlockedClientHandle),
    WEIR_REDIS_FUNCTION(GetBlockedClientPrivateData),
    WEIR_REDIS_FUNCTION(GetCommand),
    WEIR_REDIS_FUNCTION(GetContextFlags),
    WEIR_REDIS_FUNCTION(GetContextFromIO),
    WEIR_REDIS_FUNCTION(GetDbIdFromIO),
    WEIR_REDIS_FUNCTION(GetKeyNameFromIO),
    WEIR_REDIS_FUNCTION(GetSelectedDb),
    WEIR_REDIS_FUNCTION(InfoAddFieldULongLong),
    WEIR_REDIS_FUNCTION(InfoAddSection),
    WEIR_REDIS_FUNCTION(IsIOError),
    WEIR_REDIS_FUNCTION(IsKeysPositionRequest),
    WEIR_REDIS_FUNCTION(IsModuleNameBusy),
    WEIR_REDIS_FUNCTION(KeyAtPosWithFlags),
    WEIR_REDIS_FUNCTION(KeyType),
    WEIR_REDIS_FUNCTION(LoadStringBuffer),
    WEIR_REDIS_FUNCTION(Log),
    WEIR_REDIS_FUNCTION(ModuleTypeGetType),
    WEIR_REDIS_FUNCTION(ModuleTypeGetValue),
    WEIR_REDIS_FUNCTION(ModuleTypeSetValue),
    WEIR_REDIS_FUNCTION(OpenKey),
    WEIR_REDIS_FUNCTION(PublishMessage),
    WEIR_REDIS_FUNCTION(RegisterInfoFunc),
    WEIR_REDIS_FUNCTION(Replicate),
    WEIR_REDIS_FUNCTION(ReplicateVerbatim),
    WEIR_REDIS_FUNCTION(ReplyWithArray),
    WEIR_REDIS_FUNCTION(ReplyWithError),
    WEIR_REDIS_FUNCTION(ReplyWithLongLong),
    WEIR_REDIS_FUNCTION(ReplyWithMap),
    WEIR_REDIS_FUNCTION(ReplyWithNull),
    WEIR_REDIS_FUNCTION(ReplyWithSimpleString),
    WEIR_REDIS_FUNCTION(ReplyWithStringBuffer),
    WEIR_REDIS_FUNCTION(SaveStringBuffer),
    WEIR_REDIS_FUNCTION(Scan),
    WEIR_REDIS_FUNCTION(ScanCursorCreate),
    WEIR_REDIS_FUNCTION(ScanCursorDestroy),
    WEIR_REDIS_FUNCTION(ScanCursorRestart),
    WEIR_REDIS_FUNCTION(SelectDb),
    WEIR_REDIS_FUNCTION(SetAbsExpire),
    WEIR_REDIS_FUNCTION(SetCommandInfo),
    WEIR_REDIS_FUNCTION(SetDisconnectCallback),
    WEIR_REDIS_FUNCTION(SetModuleAttribs),
    WEIR_REDIS_FUNCTION(SetModuleOptions),
    WEIR_REDIS_FUNCTION(SignalModifiedKey),
    WEIR_REDIS_FUNCTION(StopTimer),
    WEIR_REDIS_FUNCTION(StringPtrLen),
    WEIR_REDIS_FUNCTION(SubscribeToServerEvent),
    WEIR_REDIS_FUNCTION(UnblockClient),
    WEIR_REDIS_FUNCTION(WrongArity),
};

#undef WEIR_REDIS_FUNCTION

}  // namespace

bool Load(Context* context) {
  GetApi get_api = *reinterpret_cast<GetApi*>(context);
  static_cast<void>(get_api("RedisModule_SetCommandACLCategories", &SetCommandACLCategories));
  static_cast<void>(get_api("RedisModule_GetCurrentUserName", &GetCurrentUserName));
  bool complete = true;
  for (const Named& one : kFunctions) {
    const std::string name = std::string("RedisModule_") + one.name;
    complete = get_api(name.c_str(), one.function) == kOk && complete;
  }
  return complete;
}

}  // namespace weir::redis
