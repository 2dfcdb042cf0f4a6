# A client of the lab in Ruby: a lock on redis-rb, and all of the protocol (docs/protocol.md), without a kit.
require "json"
require "redis"
require "securerandom"

OUTPUT = Mutex.new
$stdout.sync = true

def write(**fields) = OUTPUT.synchronize { $stdout.write(JSON.generate(fields) + "\n") }
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# An open lock. Its operations run in a thread of its own, one after another.
class Handle
  RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
  CANCELLED = { outcome: "unknown", error: "cancelled" }.freeze
  UNSUPPORTED = { outcome: "no", unsupported: true }.freeze
  Operation = Struct.new(:request, :state) # waits, runs, cancelled, over

  def initialize(init, open)
    @key, @lease, @token = open["key"], open["lease_ms"].to_i, ""
    @lock = connect(init, (open["servers"] || init["servers"]).first)
    @resource = connect(init, open["resource"] || init["resource"])
    @operations, @guard = Queue.new, Mutex.new
    Thread.new { loop { run(@operations.pop) } }
  end

  # One handle has connections of its own: redis-rb lets one thread at a time use one. It resends nothing, and waits for as long as the lab asks.
  def connect(init, address)
    host, _, port = address.rpartition(":")
    Redis.new(host: host, port: port.to_i, db: init["db"] || 0, timeout: (init["timeout_ms"] || 30_000) / 1000.0, reconnect_attempts: 0).tap(&:ping)
  end

  def add(request) = Operation.new(request, :waits).tap { |operation| @operations << operation }

  # Whether the operation was under way. One that waits for its turn is answered here; of one that runs, the connections end.
  def cancel(operation)
    before = @guard.synchronize do
      operation.state.tap { |state| operation.state = :cancelled unless state == :over }
    end
    write(id: operation.request["id"], **CANCELLED) if before == :waits
    disconnect if before == :runs
    before != :over
  end

  def reconnect
    disconnect
    @lock.ping
  end

  private

  def disconnect = [@lock, @resource].each(&:close)

  def run(operation)
    @guard.synchronize { operation.state == :waits ? operation.state = :runs : return }
    answer = begin
      perform(operation)
    rescue StandardError => e # it may have been carried out, or not
      disconnect
      { outcome: "unknown", error: e.message }
    end
    @guard.synchronize { operation.state = :over }
    write(id: operation.request["id"], **answer)
  end

  def perform(operation)
    case operation.request["do"]
    when "acquire" then acquire(operation)
    when "release" then is(@lock.eval(RELEASE, keys: [@key], argv: [@token]) == 1)
    when "check" then is(@lock.get(@key) == @token)
    when "work" then work(operation.request)
    when "close" then is(true)
    end
  end

  def is(done) = { outcome: done ? "ok" : "no" }

  def acquire(operation)
    return UNSUPPORTED if operation.request["wait"]

    deadline = now + operation.request.fetch("within_ms", 0) / 1000.0
    until operation.state == :cancelled
      token = SecureRandom.hex
      if @lock.set(@key, token, nx: true, px: @lease)
        @token = token
        return is(true)
      end
      return is(false) if now >= deadline

      sleep 0.02
    end
    CANCELLED
  end

  def work(request)
    return UNSUPPORTED unless request.fetch("workload", "counter") == "counter"

    read = @resource.get(request["key"]).to_i
    @resource.set(request["key"], read + 1)
    { outcome: "ok", read: read, wrote: read + 1 }
  end
end

HELLO = {
  version: 2, name: "redis-rb", about: "SET NX PX with a token, on redis-rb #{Redis::VERSION}", verbs: %w[check reconnect], separate: true,
  promises: %w[exclusion release-by-owner crash-safe ignores-clocks]
}.freeze

# Says when the host did not run this process: what is late then is not the lock's fault.
Thread.new do
  loop do
    began, used = now, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    sleep 0.01
    late = now - began - 0.01 - (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - used)
    write(late_ms: late * 1000) if late > 0.025
  end
end

init, handles, operations = nil, {}, {}
$stdin.each_line do |line|
  request = JSON.parse(line)
  handle = handles[request["handle"]]
  answer = case request["do"]
           when "init"
             init = request
             { outcome: "ok", hello: HELLO }
           when "open"
             handles[request["handle"]] = Handle.new(init, request)
             { outcome: "ok" }
           when "acquire", "release", "check", "work", "close"
             operations[request["id"]] = [handle, handle.add(request)]
             nil # its thread answers
           when "cancel"
             of, operation = operations[request["op"]]
             { outcome: of&.cancel(operation) ? "ok" : "no" }
           when "reconnect"
             handles.each_value(&:reconnect)
             { outcome: "ok" }
           when "exit"
             write(id: request["id"], outcome: "ok")
             break
           else Handle::UNSUPPORTED
           end
  write(id: request["id"], **answer) if answer
rescue StandardError => e
  write(id: request["id"], outcome: "no", error: e.message)
end
exit!(0) # whatever still waits for a reply is not waited for
