# Takes tokens with redis-rb at the primary that Sentinel names; client_programs.py says how.

require "redis"

GROUP, LIMIT = ENV.values_at("WEIR_GROUP", "WEIR_LIMIT")
SENTINELS = ENV["WEIR_SENTINELS"].split.map do |address|
  host, port = address.split(":")
  { host: host, port: port.to_i }
end

weir = Redis.new(
  url: "redis://#{GROUP}",
  sentinels: SENTINELS,
  timeout: 1,
  reconnect_attempts: 0 # a request that is sent twice is charged twice
)

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

$stdout.sync = true
puts "version #{Redis::VERSION}"
key = $stdin.gets.chomp
until key.empty?
  key = $stdin.gets.to_s.chomp if $stdin.wait_readable(0.002)
  break if key.empty?

  invoked = now
  begin
    tokens, = weir.call("RL.ALLOW", key, LIMIT)
    puts "took #{key} #{tokens} #{invoked} #{now}"
  rescue Redis::CommandError => e
    puts "refused #{key} #{e.message.split.join(' ')}"
    weir.close if e.message.start_with?("READONLY") # the next call asks Sentinel
  rescue Redis::BaseConnectionError => e
    puts "failed #{key} #{e.class}: #{e.message.split.join(' ')}"
  end
end
