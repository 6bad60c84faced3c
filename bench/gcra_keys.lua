-- A rate limiter inside Redis, to measure its cost: GCRA as in gcra.lua for one limit on each of
-- several keys, all or nothing. One GET and one SET per key.
--
--     EVALSHA sha n key ... (burst count period-us cost) n times
--     -> {allowed 0|1, fewest remaining, longest retry after ms, longest reset after ms, limit}
--
-- All limits are decided before anything is written. `limit`, counted from 0, is the one that
-- denies for longest, or, if all admit, the one with the fewest tokens left.
local clock = redis.call('TIME')
local now = clock[1] * 1e6 + clock[2]

local moved, latest, full, retry = {}, now, now, 0
local remaining, fewest, longest = math.huge, 0, nil
for i, key in ipairs(KEYS) do
  local word = i * 4 - 3
  local interval = ARGV[word + 2] / ARGV[word + 1]
  local from = math.max(now, tonumber(redis.call('GET', key) or now))
  local to = from + ARGV[word + 3] * interval
  local spare = now + ARGV[word] * interval - to
  if spare < -retry then retry, longest = -spare, i - 1 end
  local left = math.max(0, math.floor(spare / interval))
  if left < remaining then remaining, fewest = left, i - 1 end
  latest, full = math.max(latest, to), math.max(full, from)
  moved[i] = to
end

if longest then
  return {0, remaining, math.ceil(retry / 1e3), math.ceil((full - now) / 1e3), longest}
end

for i, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', moved[i]), 'PX', math.ceil((moved[i] - now) / 1e3))
end
return {1, remaining, 0, math.ceil((latest - now) / 1e3), fewest}
