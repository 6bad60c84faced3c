// Goal: few names have a label, the same ones for good, and no count is lost. Method: rows folded
// in turn; names at the edge of the length.
#include "server/measures/limit_labels.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace weir {
namespace {

class LimitLabelsTest : public ::testing::Test {
 protected:
  // The labels with their numbers of admissions, and the number of folded names.
  using Allowed = std::vector<std::pair<std::string, std::uint64_t>>;
  std::string Fold(const Allowed& allowed, std::size_t labels_max) {
    LimitTotals::Rows rows;
    for (const auto& [name, number] : allowed) rows.push_back({name, {number}});
    const LimitLabels::Folded folded = labels_.Fold(rows, labels_max);
    std::string text;
    for (const auto& [label, numbers] : folded.rows) {
      absl::StrAppend(&text, label, " ", numbers[0], "; ");
    }
    return absl::StrCat(text, folded.folded_names);
  }

  LimitLabels labels_;
};

TEST_F(LimitLabelsTest, TheFirstComeHaveLabelsForGood) {
  EXPECT_EQ(Fold({{"c", 1}}, 2), "c 1; 0");
  EXPECT_EQ(Fold({{"a", 2}, {"b", 4}, {"c", 8}}, 2), "(others) 4; a 2; c 8; 1");
  EXPECT_EQ(Fold({{"b", 5}}, 2), "(others) 5; 1") << "a reset gives no label to a folded name";
  EXPECT_EQ(Fold({{"c", 1}}, 2), "c 1; 0") << "and takes none away";
  EXPECT_EQ(Fold({{"a", 3}, {"b", 6}, {"c", 9}, {"d", 1}}, 2), "(others) 7; a 3; c 9; 2");
}

TEST_F(LimitLabelsTest, RowsGetLabelsInTheirOrder) {
  EXPECT_EQ(Fold({{"z", 1}, {"b", 2}, {"a", 4}}, 2), "(others) 4; b 2; z 1; 1");
}

TEST_F(LimitLabelsTest, WhatIsCountedTogetherAlreadyTakesNoLabel) {
  EXPECT_EQ(Fold({{"(others)", 1}, {"a", 2}}, 1), "(others) 1; a 2; 0");
  EXPECT_EQ(Fold({{"(others)", 1}, {"a", 2}, {"b", 4}}, 1), "(others) 5; a 2; 1");
}

TEST_F(LimitLabelsTest, ThereMayBeNone) {
  EXPECT_EQ(Fold({{"a", 1}, {"b", 2}}, 0), "(others) 3; 2");
}

TEST_F(LimitLabelsTest, NamesThatAreEqualOnceCutAreOneRow) {
  const std::string head(kMetricLabelBytesMax, 'x');
  EXPECT_EQ(Fold({{head + "1", 1}, {head + "2", 2}}, 10), head + " 3; 0");
}

TEST(MetricLabelTest, ATextIsCutAndCleaned) {
  EXPECT_EQ(MetricLabel("10/s,burst=3"), "10/s,burst=3");
  EXPECT_EQ(MetricLabel(std::string(200, 'a')), std::string(128, 'a'));
  EXPECT_EQ(MetricLabel("a\nb\xff\xc3\xa4"), "a?b???");
}

}  // namespace
}  // namespace weir
