// A strict parser of the text format of Prometheus, for tests.
//
//     const MetricsPage page(text);                        // what is not of the format fails
//     page.Of("weir_connections", {{"face", "resp"}})      // a sample
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/http/metrics.h"
#include "tests/support/http_conversation.h"

namespace weir {

using MetricLabels = std::map<std::string, std::string>;

struct MetricFamilyOfPage {
  std::string type;
  std::string help;
  std::map<std::pair<std::string, MetricLabels>, double> samples;  // by name and labels
};

class MetricsPage {
 public:
  explicit MetricsPage(std::string_view text) {
    EXPECT_TRUE(text.ends_with('\n'));
    for (const absl::string_view line : absl::StrSplit(AbslView(text), '\n', absl::SkipEmpty())) {
      Read(StdView(line));
    }
    for (const auto& [name, family] : families_) CheckFamily(name, family);
  }

  [[nodiscard]] const std::map<std::string, MetricFamilyOfPage>& families() const {
    return families_;
  }
  // Nothing if there is no such sample.
  [[nodiscard]] std::optional<double> Find(const std::string& name,
                                           const MetricLabels& labels) const {
    const auto family = families_.find(name);
    if (family == families_.end()) return std::nullopt;
    const auto sample = family->second.samples.find({name, labels});
    return sample == family->second.samples.end() ? std::nullopt : std::optional(sample->second);
  }
  [[nodiscard]] double Of(const std::string& name, const MetricLabels& labels = {}) const {
    const std::optional<double> value = Find(name, labels);
    EXPECT_TRUE(value.has_value()) << name << " " << testing::PrintToString(labels);
    return value.value_or(-1);
  }

 private:
  // "# HELP name text", "# TYPE name type", or a sample of the family that was named last.
  void Read(std::string_view line) {
    if (line.starts_with("# HELP ")) {
      const std::size_t end = line.find(' ', 7);
      ASSERT_NE(end, std::string_view::npos) << line;
      name_ = line.substr(7, end - 7);
      ASSERT_FALSE(families_.contains(name_)) << "twice: " << name_;
      families_[name_].help = line.substr(end + 1);
    } else if (line.starts_with("# TYPE ")) {
      const std::string begin = "# TYPE " + name_ + " ";
      ASSERT_TRUE(line.starts_with(begin)) << line;
      families_[name_].type = line.substr(begin.size());
    } else {
      ReadSample(line);
    }
  }

  void ReadSample(std::string_view line) {
    const std::size_t name_end = line.find_first_of("{ ");
    ASSERT_NE(name_end, std::string_view::npos) << line;
    const std::string name(line.substr(0, name_end));
    line.remove_prefix(name_end);
    MetricLabels labels;
    if (line.front() == '{') {
      ASSERT_NO_FATAL_FAILURE(ReadLabels(line, labels));
    }
    ASSERT_TRUE(line.starts_with(' '));
    const std::string number(line.substr(1));
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    ASSERT_EQ(*end, '\0') << number;
    const bool is_new = families_[name_].samples.emplace(std::pair(name, labels), value).second;
    ASSERT_TRUE(is_new) << "twice: " << name << testing::PrintToString(labels);
  }

  // Removes {a="b",...} from the front of the line.
  static void ReadLabels(std::string_view& line, MetricLabels& labels) {
    do {
      line.remove_prefix(1);
      const std::size_t equals = line.find("=\"");
      ASSERT_NE(equals, std::string_view::npos) << line;
      const std::string name(line.substr(0, equals));
      line.remove_prefix(equals + 2);
      std::string value;
      while (!line.starts_with('"')) {
        ASSERT_FALSE(line.empty());
        if (line.front() == '\\') {
          line.remove_prefix(1);
          ASSERT_NE(std::string_view("\\\"n").find(line.front()), std::string_view::npos) << line;
          value += line.front() == 'n' ? '\n' : line.front();
        } else {
          value += line.front();
        }
        line.remove_prefix(1);
      }
      line.remove_prefix(1);
      ASSERT_TRUE(labels.emplace(name, value).second) << "twice: " << name;
    } while (line.starts_with(','));
    ASSERT_TRUE(line.starts_with('}')) << line;
    line.remove_prefix(1);
  }

  static bool IsName(std::string_view name) {
    return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
                                std::string_view::npos;
  }
  // True for a metric that has the name of envoyproxy/ratelimit.
  static bool IsReference(std::string_view name) { return name.starts_with("ratelimit_service_"); }

  static void CheckFamily(const std::string& name, const MetricFamilyOfPage& family) {
    EXPECT_TRUE(IsName(absl::AsciiStrToLower(name))) << name;
    EXPECT_TRUE(name.starts_with("weir_") || name.starts_with("process_") || IsReference(name))
        << name;
    EXPECT_THAT((std::set<std::string>{"counter", "gauge", "histogram"}),
                testing::Contains(family.type));
    EXPECT_EQ(name.ends_with("_total") || (IsReference(name) && family.type != "histogram"),
              family.type == "counter")
        << name;
    EXPECT_TRUE(family.help.ends_with('.')) << name;
    if (family.type == "histogram") return CheckHistogram(name, family);
    for (const auto& [sample, value] : family.samples) {
      EXPECT_EQ(sample.first, name);
      EXPECT_GE(value, 0) << name;
      for (const auto& [label, text] : sample.second) EXPECT_TRUE(IsName(label)) << label;
    }
  }

  static void CheckHistogram(const std::string& name, const MetricFamilyOfPage& family) {
    std::map<MetricLabels, std::map<double, double>> buckets;
    for (const auto& [sample, value] : family.samples) {
      if (sample.first != name + "_bucket") continue;
      MetricLabels others = sample.second;
      const auto bound = others.extract("le");
      ASSERT_FALSE(bound.empty());
      buckets[others][std::strtod(bound.mapped().c_str(), nullptr)] = value;
    }
    EXPECT_EQ(family.samples.size(), buckets.size() * (13 + 2)) << "12 bounds and +Inf";
    for (const auto& [labels, counts] : buckets) {
      double before = 0;
      for (const auto& [bound, count] : counts) EXPECT_GE(count, std::exchange(before, count));
      EXPECT_TRUE(std::isinf(counts.rbegin()->first));
      EXPECT_EQ(before, family.samples.at({name + "_count", labels}));
      EXPECT_GE(family.samples.at({name + "_sum", labels}), 0);
    }
  }

  std::map<std::string, MetricFamilyOfPage> families_;
  std::string name_;
};

// The page of a server now.
[[nodiscard]] inline MetricsPage PageOf(HttpTestServer& server) {
  return MetricsPage(MetricsText(server.services, server.http, server.clock.Now()));
}

}  // namespace weir
