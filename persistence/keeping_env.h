// The environment of a database: the operating system's, or that of a test, except for one call.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "core/base/check.h"

namespace weir {

// A file system that deletes nothing while RocksDB takes over a sorted file.
//
// When IngestExternalFile fails, RocksDB 7.8 deletes the file, even if only the sync of the
// manifest has failed. The manifest on disk may then name a file that is gone, and no open would
// succeed any more. A file that is kept needlessly does no harm: an open deletes files that the
// manifest does not name.
class KeepingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // While a Keep exists, its thread deletes nothing. Requires: one at a time.
  class Keep {
   public:
    Keep() {
      WEIR_CHECK(!keeping_);
      keeping_ = true;
    }
    ~Keep() { keeping_ = false; }
    Keep(const Keep&) = delete;
    Keep& operator=(const Keep&) = delete;
  };

  using FileSystemWrapper::FileSystemWrapper;
  [[nodiscard]] const char* Name() const override { return "weir.KeepingFileSystem"; }
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    return keeping_ ? rocksdb::IOStatus::OK() : target()->DeleteFile(path, options, context);
  }

 private:
  static inline thread_local bool keeping_ = false;
};

// An environment with the files of a KeepingFileSystem over those of `base`, and the clock of
// `base`.
class KeepingEnv final : public rocksdb::EnvWrapper {
 public:
  explicit KeepingEnv(const rocksdb::Env& base)
      : KeepingEnv(std::make_shared<KeepingFileSystem>(base.GetFileSystem()),
                   base.GetSystemClock()) {}

 private:
  KeepingEnv(const std::shared_ptr<rocksdb::FileSystem>& files,
             const std::shared_ptr<rocksdb::SystemClock>& clock)
      : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
    file_system_ = files;
    system_clock_ = clock;
  }
};

}  // namespace weir
