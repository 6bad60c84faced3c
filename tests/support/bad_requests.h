// Arguments of RL.ALLOW that are not a valid request, each with the error that names the mistake.
// Every mistake that the request language knows occurs at least once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/instant.h"
#include "core/words/request.h"

namespace weir {

struct BadRequest {
  std::vector<std::string> words;  // the first is a key
  std::string error;
};

namespace bad_requests_internal {

inline std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    words.emplace_back(line.substr(0, line.find(' ')));
    line.remove_prefix(std::min(line.size(), words.back().size() + 1));
  }
  return words;
}

inline BadRequest Bad(std::string_view line, std::string error) {
  return {Words(line), std::move(error)};
}

inline BadRequest Unexpected(std::string_view line, const std::string& word) {
  return Bad(line, "unexpected '" + word +
                       "': after the limits of a key come COST once, then AND or OR key limit ..., "
                       "then WITHLIMITS and AT "
                       "once each");
}

// "k 10/s COST <number>", or AT.
inline BadRequest BadNumber(const std::string& keyword, const std::string& number) {
  const std::int64_t max = keyword == "COST" ? INT64_MAX : kInstantMax.time_since_epoch().count();
  return {{"k", "10/s", keyword, number},
          "invalid " + keyword + " '" + number +
              "': value is not an integer or out of range (0 to " + std::to_string(max) + ")"};
}

inline BadRequest OfUnknownPolicy(const std::string& limit) {
  return {{"k", "10/s", limit}, "unknown policy 'free': RL.POLICY SET makes one"};
}

// `count` limits of one key, as 1/h 2/h 3/h ...
inline std::vector<std::string> ManyLimits(std::size_t count) {
  std::vector<std::string> words = {"k"};
  for (std::size_t i = 1; i <= count; ++i) words.push_back(std::to_string(i) + "/h");
  return words;
}

inline std::vector<std::string> ManyGroups(std::size_t count) {
  std::vector<std::string> words = {"k0", "1/h", "2/h"};
  for (std::size_t i = 1; i < count; ++i) {
    for (std::string word : {"AND", "k", "1/h", "2/h"})
      words.push_back(word == "k" ? word + std::to_string(i) : word);
  }
  return words;
}

}  // namespace bad_requests_internal

inline std::vector<BadRequest> BadRequestsOfGroups() {
  using namespace bad_requests_internal;
  const std::string no_limit = "expected a limit as in 10/s after the key ";
  const std::string no_key = "expected a key after AND";
  const std::string too_many = "too many limits: a request has at most 64";
  std::vector<std::string> one_bad_too_many = ManyLimits(kChecksMax);
  one_bad_too_many.push_back("0/s");
  return {
      Bad("k WITHLIMITS", no_limit + "'k'"),
      Bad("k COST 1", no_limit + "'k'"),
      Bad("k AT 1", no_limit + "'k'"),
      Bad("k AND k2 10/s", no_limit + "'k'"),
      Bad("k 10/s AND k2", no_limit + "'k2'"),
      Bad("k 10/s AND AND", no_limit + "'AND'"),
      Bad("k 10/s AND cost COST 1", no_limit + "'cost'"),
      Bad("k 10/s AND", no_key),
      Bad("k 10/s COST 1 AND", no_key),
      Bad("k 10/s AND k2 5/s and", no_key),
      Bad("k 10/s OR", "expected a key after OR"),
      Bad("k 10/s AND k2 5/s COST 2 or", "expected a key after OR"),
      Bad("k 10/s OR OR", no_limit + "'OR'"),
      Bad("k OR k2 10/s", no_limit + "'k'"),
      {ManyLimits(kChecksMax + 1), too_many},
      {ManyGroups(kChecksMax / 2 + 1), too_many},
      {one_bad_too_many, too_many},
  };
}

inline std::vector<BadRequest> BadRequestsOfOptions() {
  using namespace bad_requests_internal;
  using namespace std::string_literals;
  std::vector<BadRequest> requests = {
      Bad("k 10/s COST", "COST needs a number after it"),
      Bad("k 10/s AND k2 5/s cost", "COST needs a number after it"),
      Bad("k 10/s AT", "AT needs a number after it"),
      Bad("k 10/s WITHLIMITS at", "AT needs a number after it"),
      Unexpected("k 10/s COST 1 COST 2", "COST"),
      Unexpected("k 10/s UPTO 5", "UPTO"),
      Unexpected("k 10/s COST 1 TIMEOUT 5", "TIMEOUT"),
      Unexpected("k 10/s HOLD id TTL 5", "HOLD"),
      Unexpected("k 10/s ttl 5", "ttl"),
      Unexpected("k 10/s COST 1 5/s", "5/s"),
      Unexpected("k 10/s COST 1 k2", "k2"),
      Unexpected("k 10/s WITHLIMITS 5/s", "5/s"),
      Unexpected("k 10/s WITHLIMITS WITHLIMITS", "WITHLIMITS"),
      Unexpected("k 10/s WithLimits withlimits", "withlimits"),
      Unexpected("k 10/s WITHLIMITS COST 1", "COST"),
      Unexpected("k 10/s WITHLIMITS AND k2 5/s", "AND"),
      Unexpected("k 10/s WITHLIMITS OR k2 5/s", "OR"),
      Unexpected("k 10/s AT 1 AT 2", "AT"),
      Unexpected("k 10/s AT 1 WITHLIMITS at 2", "at"),
      Unexpected("k 10/s AT 1 AND k2 5/s", "AND"),
      Unexpected("k 10/s WITHLIMITS UPTO 5", "UPTO"),
  };
  const std::vector<std::string> no_numbers = {"",
                                               "x",
                                               "-1",
                                               "+1",
                                               "01",
                                               "00",
                                               "-0",
                                               "1.5",
                                               "1e3",
                                               "0x10",
                                               "1k",
                                               " 1",
                                               "1 ",
                                               "1,5",
                                               "٥",
                                               "1\0"s,
                                               "--1",
                                               "WITHLIMITS",
                                               "AND",
                                               "10/s",
                                               "NaN",
                                               "inf",
                                               "9223372036854775808",
                                               "99999999999999999999999999"};
  for (const std::string& text : no_numbers) {
    requests.push_back(BadNumber("COST", text));
    requests.push_back(BadNumber("AT", text));
  }
  requests.push_back(BadNumber("AT", std::to_string(kInstantMax.time_since_epoch().count() + 1)));
  requests.push_back(BadNumber("AT", "9223372036854775807"));
  return requests;
}

// The last limit is always the bad one, so all limits before it are read first.
inline std::vector<BadRequest> BadRequestsOfLimits() {
  using namespace bad_requests_internal;
  const std::string count = ": count must be 1 to 9223372036854775807";
  const std::string units = " (us, ms, s, m, h, d, w, or day, week, month, year)";
  const std::string shape = ": expected count/period, as in 10/s";
  return {
      OfUnknownPolicy("@free"),
      OfUnknownPolicy("@free,cost=5,shadow,name=x"),
      Bad("k 10/s unlimited,shadow",
          "invalid limit 'unlimited,shadow': unlimited takes no options"),
      Bad("k 10/s 10/s,fixed,burst=5",
          "invalid limit '10/s,fixed,burst=5': burst is for the token bucket only"),
      Bad("k 10/s 2147483648/s,sliding",
          "invalid limit '2147483648/s,sliding': count must be 1 to 2147483647 for a window: "
          "2147483648/s is a bucket that can, 2147483648/s,fixed a window"),
      Bad("k 10/s 10/us,sliding",
          "invalid limit '10/us,sliding': period of a sliding window must be at least 1ms"),
      Bad("k 10/s 10/s,sliding,aligned",
          "invalid limit '10/s,sliding,aligned': aligned is for fixed windows only"),
      Bad("k 10/s 10/x", "invalid limit '10/x': unknown unit 'x'" + units),
      Bad("k 10/s 10/day,tz=Berlin",
          "invalid limit '10/day,tz=Berlin': unknown time zone 'Berlin' (a name of the zone "
          "database, like Europe/Berlin, or UTC)"),
      Bad("k 10/s 10/week,from=31",
          "invalid limit '10/week,from=31': from '31' must be a day of the week (mon, tue, wed, "
          "thu, fri, sat, sun)"),
      Bad("k 10/s 10/month,aligned",
          "invalid limit '10/month,aligned': option 'aligned' is not for a calendar window (day, "
          "week, month, year): it is fixed, and starts as from= says"),
      Bad("k 10/s 10/d,tz=UTC",
          "invalid limit '10/d,tz=UTC': option 'tz=' is for calendar windows only: per day, week, "
          "month, year"),
      Bad("k 10/s 10", "invalid limit '10'" + shape),
      Bad("k 10 60", "invalid limit '10'" + shape + ": did you mean 10/60s?"),
      Bad("k 10 s", "invalid limit '10'" + shape),
      Bad("k 10/s burst=20",
          "invalid limit 'burst=20': options follow their limit after a comma, as in "
          "10/s,burst=20"),
      Bad("k 10/s 10/s,held",
          "invalid limit '10/s,held': a held limit has a count only, as in 5,held"),
      Bad("k 10/s 0,held",
          "invalid limit '0,held': count must be 1 to 2147483647 for a held limit"),
      Bad("k 10/s k2 5/s", "invalid limit 'k2'" + shape),
      {{"k", "10/s", ""}, "invalid limit ''" + shape},
      Bad("k 10/s COST 1 AND k2 5/s 0/s", "invalid limit '0/s'" + count),
      Bad("k 10/s AND k2 9223372036854775808/s", "invalid limit '9223372036854775808/s'" + count),
      Bad("k 10/s -5/s", "invalid limit '-5/s': count '-5' must start with a digit"),
      Bad("k 10/s 10/s,cost=-1",
          "invalid limit '10/s,cost=-1': cost '-1' must be 0 to 9223372036854775807 in plain "
          "digits"),
      Bad("k 10/s 1/10w,burst=999999",
          "invalid limit '1/10w,burst=999999': limit is too long: burst times period per token "
          "must be at most 2^60 ns (36 years)"),
      Bad("k 10/s 9223372036854775807/d",
          "invalid limit '9223372036854775807/d': limit is too fine: period / count in lowest "
          "terms must have a "
          "denominator below 2^32 (here 9223372036854775807)"),
      {{"k", "10/s", std::string(200, 'x')},
       "invalid limit '" + std::string(128, 'x') + "...'" + shape},
  };
}

inline std::vector<BadRequest> BadRequests() {
  std::vector<BadRequest> all = BadRequestsOfGroups();
  for (const auto& more : {BadRequestsOfOptions(), BadRequestsOfLimits()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace weir
