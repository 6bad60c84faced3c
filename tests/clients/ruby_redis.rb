# Drives the server with redis-rb, as Debian packages it.

# [docs]
require "redis"

# [/docs]
PORT, LOSSY_PORT = ENV.values_at("WEIR_PORT", "WEIR_LOSSY_PORT").map(&:to_i)

def open_client(port, role: "WEIR", deadline: ENV["WEIR_DEADLINE"].to_f)
  user, password = ENV.values_at("#{role}_USER", "#{role}_PASSWORD")
  # [docs]
  weir = Redis.new(
    port: port,
    username: user,
    password: password,
    timeout: deadline,
    reconnect_attempts: 0 # a request that is sent twice is charged twice
  )
  # [/docs]
  weir
end

def check(seen, wanted)
  raise "#{seen.inspect}, not #{wanted.inspect}" unless seen == wanted
end

def remaining_of(reply)
  check(reply[0], 1)
  reply[1]
end

weir = open_client(PORT)

steps = {
  connect: -> { check(weir.ping, "PONG") },

  allow: lambda {
    # [docs]
    allowed, remaining, retry_after_ms, reset_after_ms, limit =
      weir.call("RL.ALLOW", "user:42", "10/s", "1000/h")
    # [/docs]
    check([allowed, remaining, retry_after_ms, reset_after_ms, limit], [1, 9, 0, 3600, 0])
  },

  pipeline: lambda {
    replies = weir.pipelined do |batch|
      3.times { batch.call("RL.ALLOW", "pipeline", "10/h") }
    end
    check(replies.map { |reply| remaining_of(reply) }, [9, 8, 7])
  },

  transaction: lambda {
    replies = weir.multi do |batch|
      2.times { batch.call("RL.ALLOW", "transaction", "10/h") }
    end
    check(replies.map { |reply| remaining_of(reply) }, [9, 8])
  },

  error: lambda {
    before = weir.call("CLIENT", "ID")
    begin
      weir.call("RL.ALLOW", "error", "10/x")
      answer = "no error"
    rescue Redis::CommandError => e
      answer = e.message
    end
    check(answer.start_with?("ERR invalid limit '10/x'"), true)
    check(weir.call("CLIENT", "ID"), before)
  },

  reconnect: lambda {
    before = weir.call("CLIENT", "ID")
    open_client(PORT, role: "WEIR_ADMIN").call("CLIENT", "KILL", "TYPE", "normal")
    begin
      after = weir.call("CLIENT", "ID")
    rescue Redis::BaseConnectionError
      after = weir.call("CLIENT", "ID")
    end
    check(after > before, true)
    check(remaining_of(weir.call("RL.ALLOW", "reconnect", "10/h")), 9)
  },

  once: lambda {
    begin
      answer = open_client(LOSSY_PORT).call("RL.ALLOW", "lost", "10/h")
    rescue Redis::BaseConnectionError
      answer = "lost"
    end
    check(answer, "lost")
    check(remaining_of(weir.call("RL.ALLOW", "lost", "10/h")), 8)
  }
}

puts "version #{Redis::VERSION}"
failed = false
steps.each do |name, step|
  step.call
  puts "ok #{name}"
rescue StandardError => e
  puts "FAIL #{name} #{e.class}: #{e.message.split.join(' ')}"
  failed = true
end
exit(!failed)
