// The handlers of the commands that only the server has, by file. Each reads its arguments, makes
// one call and writes one reply.
#pragma once

namespace weir {

struct Call;

// server/handlers/keys.cc
void Dbsize(Call& call);
void Del(Call& call);
void Exists(Call& call);
void Flush(Call& call);
void Pttl(Call& call);
void Ttl(Call& call);
void Type(Call& call);

// server/handlers/access.cc
void AclCat(Call& call);
void AclDryRun(Call& call);
void AclGenPass(Call& call);
void AclGetUser(Call& call);
void AclList(Call& call);
void AclLoad(Call& call);
void AclLog(Call& call);
void AclUsers(Call& call);
void AclWhoAmI(Call& call);
void Auth(Call& call);

// server/handlers/client.cc
void ClientGetName(Call& call);
void ClientId(Call& call);
void ClientInfo(Call& call);
void ClientKill(Call& call);
void ClientList(Call& call);
void ClientNoEvict(Call& call);
void ClientPause(Call& call);
void ClientReply(Call& call);
void ClientSetInfo(Call& call);
void ClientSetName(Call& call);
void ClientUnblock(Call& call);
void ClientUnpause(Call& call);

// server/handlers/connection.cc
void Echo(Call& call);
void SayHello(Call& call);
void Ping(Call& call);
void Quit(Call& call);
void Reset(Call& call);
void Select(Call& call);

// server/handlers/transaction.cc
void Discard(Call& call);
void Exec(Call& call);
void Multi(Call& call);
void Unwatch(Call& call);
void Watch(Call& call);

// server/handlers/command.cc
void Command(Call& call);
void CommandCount(Call& call);
void CommandDocs(Call& call);
void CommandGetKeys(Call& call);
void CommandGetKeysAndFlags(Call& call);
void CommandInfo(Call& call);
void CommandList(Call& call);

// server/handlers/replication.cc
void AwaitReplicas(Call& call);
void NoRedisReplica(Call& call);
void Failover(Call& call);
void ReplicaOf(Call& call);
void ShowRole(Call& call);
void Sync(Call& call);

// server/handlers/pubsub.cc
void CountPatterns(Call& call);
void CountSubscribers(Call& call);
void ListChannels(Call& call);
void PublishMessage(Call& call);
void Subscribe(Call& call);
void SubscribeToPatterns(Call& call);
void Unsubscribe(Call& call);
void UnsubscribeFromPatterns(Call& call);

// server/handlers/save.cc
void BgSave(Call& call);
void LastSave(Call& call);
void ListBackups(Call& call);
void MakeOrRemoveBackup(Call& call);
void Save(Call& call);

// server/handlers/config.cc
void ConfigGet(Call& call);
void ConfigResetStat(Call& call);
void ConfigRewrite(Call& call);
void ConfigSet(Call& call);

// server/handlers/latency.cc
void LatencyDoctor(Call& call);
void LatencyGraph(Call& call);
void LatencyHistograms(Call& call);
void LatencyHistory(Call& call);
void LatencyLatest(Call& call);
void LatencyReset(Call& call);

// server/handlers/memory.cc
void MemoryPurge(Call& call);
void MemoryStats(Call& call);
void MemoryUsage(Call& call);

// server/handlers/slowlog.cc
void SlowlogGet(Call& call);
void SlowlogLen(Call& call);
void SlowlogReset(Call& call);

// server/handlers/server.cc
void Info(Call& call);
void ModuleList(Call& call);
void MonitorCommands(Call& call);
void Refuse(Call& call);
void Shutdown(Call& call);
void Time(Call& call);

}  // namespace weir
