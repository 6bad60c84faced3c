// Goal: every line comes out once with its number, whatever its end and its length. Method: files
// of known lines, longer than the reader's buffer and around the longest line.
#include "replay/line_reader.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/gzip.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Lines(std::string_view text) {
  const TemporaryDirectory directory;
  const auto reader = LineReader::Open(directory.Write("log", text));
  EXPECT_TRUE(reader.ok());
  std::vector<std::string> lines;
  while ((*reader)->Next()) {
    lines.emplace_back((*reader)->is_too_long() ? "(too long)" : (*reader)->line());
    EXPECT_EQ((*reader)->number(), lines.size());
  }
  EXPECT_TRUE((*reader)->status().ok());
  EXPECT_EQ((*reader)->bytes_read(), text.size());
  EXPECT_EQ((*reader)->file_bytes(), text.size());
  return lines;
}

TEST(LineReaderTest, LinesEndInAnyWay) {
  EXPECT_THAT(Lines(""), IsEmpty());
  EXPECT_THAT(Lines("\n"), ElementsAre(""));
  EXPECT_THAT(Lines("a\nb\r\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(Lines("a\r\r\n"), ElementsAre("a\r"));
  EXPECT_THAT(Lines("\xEF\xBB\xBF"
                    "a\n\xEF\xBB\xBF"
                    "b"),
              ElementsAre("a",
                          "\xEF\xBB\xBF"
                          "b"))
      << "a byte order mark is at the front of the file only";
}

TEST(LineReaderTest, ManyLinesComeOutWhole) {
  std::string text;
  std::vector<std::string> want;
  for (std::size_t i = 0; text.size() < 5 * LineReader::kLineBytesMax; ++i) {
    want.push_back(std::to_string(i) + std::string(i % 7919, 'x'));
    text += want.back() + "\n";
  }
  EXPECT_EQ(Lines(text), want);
}

TEST(LineReaderTest, ALongerLineThanAllowedIsOneLine) {
  const std::string longest(LineReader::kLineBytesMax, 'x');
  EXPECT_THAT(Lines(longest + "\nb"), ElementsAre(longest, "b"));
  for (const std::size_t more : {1UL, LineReader::kLineBytesMax, 3 * LineReader::kLineBytesMax}) {
    const std::string line = longest + std::string(more, 'x');
    EXPECT_THAT(Lines("a\n" + line + "\nb\n"), ElementsAre("a", "(too long)", "b")) << more;
    EXPECT_THAT(Lines("a\n" + line), ElementsAre("a", "(too long)")) << more;
  }
}

TEST(LineReaderTest, APackedFileHasTheLinesOfItsText) {
  std::string text = "first\r\n\n";
  while (text.size() < 3 * LineReader::kLineBytesMax) text += "line " + std::to_string(text.size());
  text += "\nthe line before is too long\nthe last";
  const std::vector<std::string> want = Lines(text);
  ASSERT_THAT(want, ElementsAre("first", "", "(too long)", _, "the last"));
  EXPECT_EQ(Lines(Gzip(text)), want);
  EXPECT_EQ(Lines(Gzip(text.substr(0, 1000)) + Gzip(text.substr(1000))), want) << "two members";
  EXPECT_EQ(Lines(Gzip(text) + std::string(512, '\0')), want) << "padded";
  EXPECT_THAT(Lines(Gzip("")), IsEmpty());
}

// 200 MB in one line, from 200 KB: neither is kept.
TEST(LineReaderTest, ABombIsALineThatIsTooLong) {
  std::string bomb;
  const std::string member = Gzip(std::string(10'000'000, 'x'));
  for (int i = 0; i < 20; ++i) bomb += member;
  EXPECT_THAT(Lines(Gzip("a\n") + bomb + Gzip("\nb")), ElementsAre("a", "(too long)", "b"));
}

TEST(LineReaderTest, ACutFileGivesItsWholeLinesAndNamesTheNext) {
  const TemporaryDirectory directory;
  const std::string packed = Gzip("one\ntwo\nthree\n");
  std::size_t most = 0;
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const std::string path = directory.Write("log.gz", packed.substr(0, size));
    const auto reader = LineReader::Open(path);
    std::size_t lines = 0;
    while ((*reader)->Next()) ++lines;
    most = std::max(most, lines);
    EXPECT_EQ((*reader)->status(),
              absl::DataLossError("'" + path + "' line " + std::to_string(lines + 1) +
                                  ": the file is cut: its gzip data end here"));
  }
  EXPECT_EQ(most, 3U) << "a file that lacks a part of its check only";
}

TEST(LineReaderTest, ADamagedFileNamesTheLine) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("log.gz", Gzip("one\ntwo\n") + "three\n");
  const auto reader = LineReader::Open(path);
  EXPECT_TRUE((*reader)->Next());
  EXPECT_TRUE((*reader)->Next());
  EXPECT_FALSE((*reader)->Next());
  EXPECT_EQ((*reader)->status(), absl::DataLossError("'" + path +
                                                     "' line 3: damaged gzip data: "
                                                     "incorrect header check"));
}

TEST(LineReaderTest, AFileOfAnotherCompressionIsAnErrorThatNamesItsReader) {
  const TemporaryDirectory directory;
  const std::pair<std::string, std::string> files[] = {
      {"\x28\xB5\x2F\xFD$", "is compressed by zstd: zstdcat it"},
      {std::string("\xFD\x37zXZ\0", 6), "is compressed by xz: xzcat it"},
      {"BZh91AY&SY", "is compressed by bzip2: bzcat it"},
      {"PK\x03\x04\x14", "is compressed by zip: unzip -p it"}};
  for (const auto& [begin, error] : files) {
    const std::string path = directory.Write("log", begin + "\n\n");
    const auto reader = LineReader::Open(path);
    EXPECT_FALSE((*reader)->Next());
    EXPECT_EQ((*reader)->status().message(),
              "'" + path + "' " + error + ", and give weir-replay '-' as the log");
  }
  EXPECT_THAT(Lines("BZ\nBZh"), ElementsAre("BZ", "BZh"));
  EXPECT_THAT(Lines("\x1F"), ElementsAre("\x1F"));
}

TEST(LineReaderTest, AFileThatCannotBeReadIsAnError) {
  const TemporaryDirectory directory;
  const std::string absent = directory.path() + "/absent";
  EXPECT_EQ(LineReader::Open(absent).status().message(),
            "cannot read '" + absent + "': No such file or directory");
  const auto reader = LineReader::Open(directory.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE((*reader)->Next());
  EXPECT_EQ((*reader)->status().message(),
            "cannot read '" + directory.path() + "': Is a directory");
}

}  // namespace
}  // namespace weir
