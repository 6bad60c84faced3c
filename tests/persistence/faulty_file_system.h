// A file system for RocksDB, over the real one, on which calls fail and the power can be cut.
//
//     FaultyFileSystem files;
//     DatabaseOptions options{.directory = path, .env = files.env()};
//     files.FailFrom(17, 1, rocksdb::IOStatus::IOError("injected"));  // the 17th call from now
//     files.Crash();    // every call fails from now on; destroy what uses it
//     files.Restart();  // what was not synced is gone
//
// No file is really synced: a sync records the file's length, and a crash cuts the file to it. A
// file whose sync has failed keeps no more than it had before, whatever later syncs report. New
// names (of created, renamed or linked files) survive a crash at once, as a file system allows.
//
// RocksDB's threads sleep for a second after each fault, to spare a broken disk. Here they continue
// at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include "core/base/mutex.h"

namespace weir {

class FaultyFileSystem {
 public:
  FaultyFileSystem()
      : state_(std::make_shared<State>()),
        env_(std::make_unique<FaultyEnv>(std::make_shared<Files>(state_))) {}

  [[nodiscard]] rocksdb::Env* env() const { return env_.get(); }

  // `count` counted calls, beginning with the n-th from now (from 1), fail with `failure`.
  void FailFrom(std::int64_t n, std::int64_t count, rocksdb::IOStatus failure) {
    MutexLock lock(state_->mutex);
    state_->fail_from = state_->calls + n;
    state_->fail_until = state_->fail_from + count;
    state_->failure = std::move(failure);
  }
  void StopFailing() { FailFrom(1, 0, rocksdb::IOStatus::OK()); }

  // Calls so far: opens, appends, syncs, renames, links, deletes.
  [[nodiscard]] std::int64_t calls() const {
    MutexLock lock(state_->mutex);
    return state_->calls;
  }

  // The n-th sync from now on is the last call that succeeds.
  void CrashAfterSync(std::int64_t n) {
    MutexLock lock(state_->mutex);
    state_->crash_after_sync = state_->syncs + n;
  }
  void Crash() {
    MutexLock lock(state_->mutex);
    state_->dead = true;
  }
  [[nodiscard]] bool crashed() const {
    MutexLock lock(state_->mutex);
    return state_->dead;
  }

  // Requires: every user of the file system is destroyed.
  void Restart() {
    MutexLock lock(state_->mutex);
    for (auto& [path, file] : state_->files) {
      std::error_code gone;
      if (std::filesystem::file_size(path, gone) > file->synced && !gone) {
        std::filesystem::resize_file(path, file->synced);
      }
    }
    state_->files.clear();
    state_->dead = false;
    state_->crash_after_sync = -1;
  }

 private:
  struct File {
    std::uint64_t written = 0;
    std::uint64_t synced = 0;
    bool sync_failed = false;
  };

  struct State {
    // The status of a counted call: ok, or the present failure.
    rocksdb::IOStatus Call() {
      MutexLock lock(mutex);
      ++calls;
      if (dead) return rocksdb::IOStatus::IOError("the power is off");
      return calls >= fail_from && calls < fail_until ? failure : rocksdb::IOStatus::OK();
    }

    mutable Mutex mutex;
    std::int64_t calls = 0;
    std::int64_t syncs = 0;
    std::int64_t fail_from = 0;
    std::int64_t fail_until = 0;
    std::int64_t crash_after_sync = -1;
    rocksdb::IOStatus failure;
    bool dead = false;
    std::map<std::string, std::shared_ptr<File>> files;  // those written since the last restart
  };

  class WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    WritableFile(std::unique_ptr<rocksdb::FSWritableFile> base, std::shared_ptr<State> state,
                 std::shared_ptr<File> file)
        : FSWritableFileOwnerWrapper(std::move(base)),
          state_(std::move(state)),
          file_(std::move(file)) {}

    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override {
      const rocksdb::IOStatus called = state_->Call();
      if (IsDead()) return called;
      // A failed one has written a part.
      const std::size_t bytes = called.ok() ? data.size() : data.size() / 2;
      const rocksdb::IOStatus appended =
          FSWritableFileOwnerWrapper::Append(rocksdb::Slice(data.data(), bytes), options, context);
      MutexLock lock(state_->mutex);
      file_->written += bytes;
      return called.ok() ? appended : called;
    }
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             const rocksdb::DataVerificationInfo&,
                             rocksdb::IODebugContext* context) override {
      return Append(data, options, context);
    }
    rocksdb::IOStatus Truncate(std::uint64_t size, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
      if (IsDead()) return rocksdb::IOStatus::IOError("the power is off");
      MutexLock lock(state_->mutex);
      file_->written = size;
      return FSWritableFileOwnerWrapper::Truncate(size, options, context);
    }
    rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* context) override {
      return FSWritableFileOwnerWrapper::Close(options, context);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
      const rocksdb::IOStatus called = state_->Call();
      MutexLock lock(state_->mutex);
      if (!called.ok()) file_->sync_failed = true;
      if (!called.ok() || file_->sync_failed) return called;
      file_->synced = file_->written;
      if (++state_->syncs == state_->crash_after_sync) state_->dead = true;
      return called;
    }
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* context) override {
      return Sync(options, context);
    }
    rocksdb::IOStatus RangeSync(std::uint64_t, std::uint64_t, const rocksdb::IOOptions&,
                                rocksdb::IODebugContext*) override {
      return rocksdb::IOStatus::OK();
    }

   private:
    bool IsDead() const {
      MutexLock lock(state_->mutex);
      return state_->dead;
    }
    const std::shared_ptr<State> state_;
    const std::shared_ptr<File> file_;
  };

  class Directory final : public rocksdb::FSDirectoryWrapper {
   public:
    Directory(std::unique_ptr<rocksdb::FSDirectory> base, std::shared_ptr<State> state)
        : FSDirectoryWrapper(std::move(base)), state_(std::move(state)) {}
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
      return state_->Call();
    }
    rocksdb::IOStatus FsyncWithDirOptions(const rocksdb::IOOptions&, rocksdb::IODebugContext*,
                                          const rocksdb::DirFsyncOptions&) override {
      return state_->Call();
    }

   private:
    const std::shared_ptr<State> state_;
  };

  class Files final : public rocksdb::FileSystemWrapper {
   public:
    explicit Files(std::shared_ptr<State> state)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), state_(std::move(state)) {}
    static const char* kClassName() { return "weir.FaultyFileSystem"; }
    [[nodiscard]] const char* Name() const override { return kClassName(); }

    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* context) override {
      if (rocksdb::IOStatus called = state_->Call(); !called.ok()) return called;
      const rocksdb::IOStatus made = target()->NewWritableFile(path, options, result, context);
      return made.ok() ? Wrap(path, 0, result) : made;
    }
    rocksdb::IOStatus ReopenWritableFile(const std::string& path,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* result,
                                         rocksdb::IODebugContext* context) override {
      if (rocksdb::IOStatus called = state_->Call(); !called.ok()) return called;
      const rocksdb::IOStatus made = target()->ReopenWritableFile(path, options, result, context);
      return made.ok() ? Wrap(path, std::filesystem::file_size(path), result) : made;
    }
    rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                   std::unique_ptr<rocksdb::FSDirectory>* result,
                                   rocksdb::IODebugContext* context) override {
      const rocksdb::IOStatus made = target()->NewDirectory(path, options, result, context);
      if (made.ok()) *result = std::make_unique<Directory>(std::move(*result), state_);
      return made;
    }
    rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                                 const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* context) override {
      if (rocksdb::IOStatus called = state_->Call(); !called.ok()) return called;
      const rocksdb::IOStatus renamed = target()->RenameFile(from, to, options, context);
      MutexLock lock(state_->mutex);
      auto moved = state_->files.extract(from);
      state_->files.erase(to);
      if (!moved.empty()) state_->files[to] = moved.mapped();
      // The files in a directory move with it.
      const std::string prefix = from + "/";
      for (auto file = state_->files.lower_bound(prefix);
           file != state_->files.end() && file->first.starts_with(prefix);) {
        state_->files[to + file->first.substr(from.size())] = file->second;
        file = state_->files.erase(file);
      }
      return renamed;
    }
    rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
      if (rocksdb::IOStatus called = state_->Call(); !called.ok()) return called;
      const rocksdb::IOStatus linked = target()->LinkFile(from, to, options, context);
      MutexLock lock(state_->mutex);
      const auto file = state_->files.find(from);
      if (file != state_->files.end()) state_->files[to] = file->second;
      return linked;
    }
    rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* context) override {
      if (rocksdb::IOStatus called = state_->Call(); !called.ok()) return called;
      MutexLock lock(state_->mutex);
      state_->files.erase(path);
      return target()->DeleteFile(path, options, context);
    }

   private:
    rocksdb::IOStatus Wrap(const std::string& path, std::uint64_t size,
                           std::unique_ptr<rocksdb::FSWritableFile>* result) {
      MutexLock lock(state_->mutex);
      std::shared_ptr<File>& file = state_->files[path];
      // A new file starts empty; a file that is reopened keeps its synced length, or was there
      // before.
      if (!file || size == 0) file = std::make_shared<File>(File{size, size, false});
      *result = std::make_unique<WritableFile>(std::move(*result), state_, file);
      return rocksdb::IOStatus::OK();
    }
    const std::shared_ptr<State> state_;
  };

  class SleeplessClock final : public rocksdb::SystemClockWrapper {
   public:
    using SystemClockWrapper::SystemClockWrapper;
    [[nodiscard]] const char* Name() const override { return "weir.SleeplessClock"; }
    void SleepForMicroseconds(int /*micros*/) override { std::this_thread::yield(); }
  };

  class FaultyEnv final : public rocksdb::EnvWrapper {
   public:
    explicit FaultyEnv(const std::shared_ptr<Files>& files)
        : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
      file_system_ = files;
      system_clock_ = std::make_shared<SleeplessClock>(rocksdb::SystemClock::Default());
    }
  };

  const std::shared_ptr<State> state_;
  const std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace weir
