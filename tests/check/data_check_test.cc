// Goal: the check of a data directory finds what a start would refuse or leave out, says what a
// start would load, and changes nothing. Method: directories of a server that stopped or crashed,
// with bad records, other files or damage. Their times are ahead of every clock, so the check is
// made at the last of them.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/file_check.h"
#include "persistence/database.h"
#include "persistence/format.h"
#include "persistence/stop_file.h"
#include "replication/history.h"
#include "tests/persistence/directory_files.h"
#include "tests/persistence/storage_fixture.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class DataCheckTest : public StorageTest {
 protected:
  DataCheckTest() { clock_.Advance(std::chrono::hours{24 * 29'219}); }

  // A policy with an override, and three buckets, one of them full in a minute.
  void Fill() {
    Start();
    server_.SetPolicy("free", "10/h");
    EXPECT_TRUE(server_.policies().Override("free", "vip", KeptServer::LimitsOf("20/h")).ok());
    server_.Decide("a", "10/h", 4);
    server_.DecideBy("free", "b", 4);
    server_.Decide("c", "1/m");
    Save();
  }

  FileReport Check() {
    const auto before = FilesOf(directory_.path());
    FileReport report = CheckDataDirectory(directory_.path());
    EXPECT_TRUE(FilesOf(directory_.path()) == before) << "it has written";
    return report;
  }
  std::string Line(std::string_view text) const {
    return directory_.path() + ": " + std::string(text);
  }
  // The only finding.
  std::string Found() {
    const FileReport report = Check();
    EXPECT_EQ(report.findings.size(), 1U);
    return report.findings.empty() ? "" : report.findings.front();
  }
  std::filesystem::path AFile(std::string_view ending) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().string().ends_with(ending)) return entry.path();
    }
    ADD_FAILURE() << "there is no file *" << ending;
    return {};
  }
};

TEST_F(DataCheckTest, TellsWhatAStartWouldLoadAndDrop) {
  Fill();
  clock_.Advance(std::chrono::minutes{2});
  server_.Decide("a", "10/h");
  Save();
  server_.End();
  FileReport report = Check();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(
      report.facts,
      ElementsAre(Line("format 1, left by a crash, with times up to "
                       "2106-01-01T00:02:00.000Z, of a primary in term 0"),
                  Line("a start loads 2 buckets, 3 limits, 1 policy, 1 override"),
                  Line("it drops 1 bucket: 1 full, and 0 without a limit or policy"),
                  HasSubstr(" s ahead of this machine's clock: a start continues from them"),
                  HasSubstr(" records: 0 from before a flush, 0 of unknown kinds")));
  Start();
  EXPECT_EQ(server_.found().loaded, 2U);
  EXPECT_EQ(server_.found().dropped, 1U);
  EXPECT_TRUE(server_.Stop().ok());
  report = Check();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.facts[0], HasSubstr("stopped cleanly"));
}

TEST_F(DataCheckTest, TellsTheRoleAndTheTermOfItsServer) {
  Start();
  const auto first_fact_of = [&](const History& history) {
    Write(MetaKey(kMetaHistory), HistoryValue(history));
    return Check().facts.at(0);
  };
  EXPECT_TRUE(server_.Stop().ok());
  EXPECT_THAT(first_fact_of({.term = 3}), EndsWith(", of a primary in term 3"));
  EXPECT_THAT(first_fact_of({.term = 4, .is_deposed = true}),
              EndsWith(", of a deposed primary in term 4"));
  History replica = {.term = 5, .is_replica = true, .primary = {"10.0.0.1", 7}};
  EXPECT_THAT(first_fact_of(replica), EndsWith(", of a replica of 10.0.0.1:7 in term 5"));
  directory_.Write(kBackupFile, "");
  EXPECT_THAT(first_fact_of(replica), HasSubstr(", made by RL.BACKUP, with times up to "));
  EXPECT_THAT(first_fact_of(replica), EndsWith("a start takes its role from replicaof"));
  Write(MetaKey(kMetaHistory), "x");
  EXPECT_THAT(Check().findings, ElementsAre(Line("the record of its history is damaged")));
}

TEST_F(DataCheckTest, CountsRecordsThatNoStartReads) {
  Start();
  server_.upkeep().Clear();
  server_.Decide("a", "10/h");
  EXPECT_TRUE(server_.Stop().ok());
  Write(KeyOf({TableGeneration{0}, 5, 77, Algorithm::kTokenBucket, LimitId{}}),
        ValueOf({1, 0x10000000, 0}));
  Write("X", "of a later version");
  const FileReport report = Check();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.facts.back(), HasSubstr("records: 1 from before a flush, 1 of unknown kinds"));
}

TEST_F(DataCheckTest, CountsHolds) {
  Start();
  server_.SetPolicy("gone", "10/h");
  const Limit of_policy = server_.policies().Find("gone")->limits.front().limit;
  const Limit limit = LimitOf("10/h");
  EXPECT_TRUE(server_.Hold("a", limit, "open", std::chrono::hours{1}));
  EXPECT_TRUE(server_.Hold("a", limit, "settled", std::chrono::hours{1}));
  EXPECT_TRUE(server_.Commit("a", "settled", 0));
  EXPECT_TRUE(server_.Hold("b", limit, "expired", std::chrono::seconds{1}));
  EXPECT_TRUE(server_.Hold("c", of_policy, "without a policy", std::chrono::hours{1}));
  EXPECT_TRUE(server_.policies().Delete("gone").ok());
  clock_.Advance(std::chrono::seconds{1});
  EXPECT_TRUE(server_.Stop().ok());
  FileReport report = Check();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.facts,
              testing::Contains(
                  Line("4 holds: 1 open, 1 settled, 1 expired, and 1 without a limit or policy")));
  EXPECT_THAT(report.facts.back(), HasSubstr(", 0 of unknown kinds"));
  Write(MetaKey(kMetaClock), ClockValue(clock_.Now() + std::chrono::seconds{1}));
  report = Check();
  EXPECT_THAT(report.facts, testing::Contains(HasSubstr(
                                "4 holds: 0 open, 0 settled, 0 expired, and 4 dropped, as "
                                "an older server has used the directory since")));
}

TEST_F(DataCheckTest, NamesEveryBadRecord) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  const BucketKey key{TableGeneration{}, 5, 77, Algorithm::kTokenBucket, LimitId{}};
  Write(KeyOf(key), "short");
  Write(PolicyKey(PolicyId{7}), "");
  Write(OverrideKey(PolicyId{9}, "a secret key"), "10/h");
  const FileReport report = Check();
  EXPECT_THAT(report.findings,
              ElementsAre(HasSubstr(": bad record: policy 7: invalid limit ''"),
                          AllOf(HasSubstr("an override of policy 9: there is no such policy"),
                                testing::Not(HasSubstr("secret"))),
                          Line("bad record: a bucket of limit 0 (hash 000000000000004d): no server "
                               "writes such bytes")));
  EXPECT_THAT(report.facts, testing::Contains(HasSubstr("a start loads 3 buckets")));
}

TEST_F(DataCheckTest, EndsTheListOfBadRecords) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok());
    EXPECT_TRUE((*database)
                    ->Write(150,
                            [](Database::Writer& to) {
                              for (std::uint32_t i = 100; i < 250; ++i) {
                                to.Put(PolicyKey(PolicyId{i}), "");
                              }
                            })
                    .ok());
  }
  const FileReport report = Check();
  EXPECT_EQ(report.findings.size(), 101U);
  EXPECT_EQ(report.findings.back(), Line("50 more bad records"));
}

TEST_F(DataCheckTest, AContradictionIsAFindingAndTheRestIsLoaded) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  Write(MetaKey(kMetaNextPolicy), NumberValue(1));
  EXPECT_EQ(Found(), Line("bad record: policy 1: it contradicts the record 'next-policy'"));
}

TEST_F(DataCheckTest, AnotherFormatIsNamed) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  Write(MetaKey(kMetaFormat), NumberValue(2));
  EXPECT_EQ(Found(), Line("it has format 2, and this server reads format 1"));
  Write(MetaKey(kMetaFormat), "x");
  EXPECT_EQ(Found(), Line("the record 'format' is damaged"));
}

TEST_F(DataCheckTest, ATableThatIsCutShortIsNamed) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  const std::filesystem::path table = AFile(".sst");
  std::filesystem::resize_file(table, std::filesystem::file_size(table) / 2);
  EXPECT_THAT(Found(), AllOf(testing::StartsWith(Line("")), HasSubstr(table.filename())));
}

TEST_F(DataCheckTest, AByteThatHasChangedIsFound) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  std::fstream table(AFile(".sst"), std::ios::in | std::ios::out | std::ios::binary);
  table.seekp(20);
  table.put('\xA5');
  table.close();
  EXPECT_THAT(Found(), HasSubstr("Corruption"));
}

// Goal: what a start refuses unless it accepts damage is a finding, and the rest is checked.
TEST_F(DataCheckTest, LostWritesAreFound) {
  Fill();
  EXPECT_TRUE(server_.Stop().ok());
  const std::string stopped = directory_.path() + "/" + std::string(kStopFile);
  std::ofstream(stopped, std::ios::binary) << StopFileText(1'000'000);
  const FileReport report = Check();
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("files are missing or cut short")));
  EXPECT_THAT(report.facts, testing::Contains(HasSubstr("a start loads 3 buckets")));
}

TEST_F(DataCheckTest, ADirectoryWithoutADatabaseIsAFinding) {
  EXPECT_EQ(Found(), Line("there is no database in it"));
  directory_.Write("notes.txt", "mine");
  EXPECT_EQ(Found(), Line("it holds 'notes.txt' and no database (no file CURRENT)"));
  const std::string missing = directory_.path() + "/missing";
  EXPECT_THAT(CheckDataDirectory(missing).findings,
              ElementsAre(AllOf(testing::StartsWith(missing + ": "),
                                HasSubstr("No such file or directory"))));
  EXPECT_FALSE(std::filesystem::exists(missing));
  const std::string file = directory_.path() + "/notes.txt";
  EXPECT_THAT(CheckDataDirectory(file).findings, ElementsAre(HasSubstr("Not a directory")));
}

}  // namespace
}  // namespace weir
