// Tests of the page's modules that need no browser: they compute, and touch no element.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import {pathToFileURL} from 'node:url';

// Node reads a .js file as a module only if a package.json beside it says so; a browser needs none.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'weir_modules_'));
process.on('exit', () => fs.rmSync(folder, {recursive: true}));
fs.cpSync(process.env.WEIR_PAGE_APP, folder, {recursive: true});
fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
const load = (name) => import(pathToFileURL(path.join(folder, name)));

const {ARRIVALS_MAX, arrivals} = await load('arrivals.js');
const {bucketAt, describe, describeHeld} = await load('countdown.js');
const {difference} = await load('difference.js');
const format = await load('format.js');
const {endText, heldText} = await load('hold_list.js');
const {pageTitle, verdictLine} = await load('health.js');
const {HELP} = await load('health_help.js');
const {facts} = await load('facts.js');
const {keyText, limitText, nowText} = await load('copy_text.js');
const {limitWords, limitLines} = await load('limit_words.js');
const {deniesMuch, groupedByPolicy} = await load('limits.js');
const {highestOf} = await load('spark.js');
const {keyVerdict} = await load('key_verdict.js');
const limits = await load('limit_text.js');
const {planeText} = await load('rules.js');
const {fileOf, policyLine, waysToSet} = await load('policy_change.js');
const {Rates} = await load('rates.js');
const {replicationTable} = await load('replication.js');
const {redisCli, setServer} = await load('command.js');
const {standing} = await load('standing.js');
const {splitWords, withoutCommand} = await load('words.js');

test('replication shows who follows whom', () => {
  const replica = {address: '10.0.0.2:7379', online: true, offset: 900, lag_ms: 500};
  const primary = {
    role: 'primary',
    replication: {offset: 1000, loss_bound_ms: 4000, link: null, replicas: [replica]},
  };
  const {title, note, columns, rows} = replicationTable(primary);
  assert.equal(title, 'Replicas');
  assert.equal(note, 'A failover now would lose at most the admissions of 4.0 s. Offset 1,000');
  assert.deepEqual(rows, [{id: '10.0.0.2:7379', bad: false,
    cells: ['10.0.0.2:7379', 'in sync', '100 B', '0.5 s ago', '900']}]);
  assert.equal(columns.length, rows[0].cells.length);
  replica.online = false;
  assert.equal(replicationTable(primary).rows[0].cells[1], 'receives its first state');
  primary.replication.loss_bound_ms = null;
  assert.match(replicationTable(primary).note, /no replica was in sync yet/);
  primary.replication.replicas = [];
  assert.equal(replicationTable(primary), null);
  const link = {
    primary: '10.0.0.1:7379', state: 'connect', up: false, down_ms: 2000, complete: true,
    data_age_ms: 3000,
  };
  const following = {role: 'replica', replication: {...primary.replication, link}};
  assert.deepEqual(replicationTable(following).rows, [{id: '10.0.0.1:7379', bad: true,
    cells: ['10.0.0.1:7379', 'connect, down for 2.0 s', '3.0 s', '1,000']}]);
  Object.assign(link, {up: true, state: 'sync', complete: false});
  assert.deepEqual(replicationTable(following).rows[0].cells.slice(1),
    ['sync, receives its first state', format.NONE, '1,000']);
  assert.equal(replicationTable(following).columns.length, 4);
});

test('what a server is goes before what to ask it', () => {
  const now = {
    role: 'primary', durability: 'none', last_save_age_ms: null, replication: {link: null},
  };
  assert.equal(standing(now), null);
  assert.equal(standing({...now, durability: 'snapshot', last_save_age_ms: 5}), null);
  assert.match(standing({...now, durability: 'snapshot'}).title, /^Loading/);
  assert.match(standing({...now, role: 'gated'}).title, /Sentinel/);
  assert.match(standing({...now, role: 'deposed'}).text, /admits nothing/);
  const link = {
    primary: '10.0.0.1:7379', up: true, complete: true, data_age_ms: 1200, down_ms: 0,
  };
  const replica = {...now, role: 'replica', replication: {link}};
  assert.deepEqual(standing(replica), {
    title: 'A replica of 10.0.0.1:7379',
    text: 'It is 1.2 s behind. Decisions are made there: ask 10.0.0.1:7379, or promote this ' +
      'server by REPLICAOF NO ONE.',
  });
  Object.assign(link, {up: false, down_ms: 9000});
  assert.match(standing(replica).text, /not heard from its primary for 9\.0 s/);
  link.data_age_ms = null;
  assert.match(standing(replica).text, /not in sync yet\. It has not heard/);
  link.complete = false;
  assert.match(standing(replica).text, /first state/);
});

test('commands go to the server that decides', () => {
  setServer({port: 7390, replication: {link: null}});
  assert.equal(redisCli('PING'), 'redis-cli -p 7390 PING');
  setServer({port: 7390, replication: {link: {primary: '::1:7379'}}});
  assert.equal(redisCli('PING'), 'redis-cli -h ::1 -p 7379 PING');
  setServer({port: 7390, user: 'default'});
  assert.equal(redisCli('PING'), 'redis-cli -p 7390 PING');
  setServer({port: 7390, user: "o'neil"});
  assert.equal(redisCli('PING'), "redis-cli -p 7390 --user 'o'\\''neil' PING");
});

test('a limit is told in words', () => {
  const words = {
    '100k/m,name=tokens': 'A bucket of 100,000 that refills in a minute.',
    '3/s': 'A bucket of 3 that refills in a second.',
    '10/5min': 'A bucket of 10 that refills in 5 minutes.',
    '10/h': 'A bucket of 10 that refills in an hour.',
    '10/s,burst=20': 'A bucket of 20, to which 10 come back in a second.',
    '60/h,fixed': '60 in a window of an hour from the first request.',
    '60/h,sliding': '60 in any hour.',
    '1000/day': '1,000 in each day of the calendar: all are back when the next begins, at ' +
      'midnight (UTC). 1000/d would be a bucket over 24 hours.',
    '1M/month,tz=Europe/Berlin': '1,000,000 in each month of the calendar: all are back when ' +
      'the next begins, at midnight (Europe/Berlin).',
    '5,held': 'At most 5 at a time, held by RL.RESERVE.',
    '3/m,ban=10m': 'A bucket of 3 that refills in a minute. A denial shuts it for 10m.',
    '3/m,shadow': 'A bucket of 3 that refills in a minute. It is on trial: it counts, and ' +
      'denies nothing.',
    '@free': 'The limits of the policy free.',
    none: 'It denies every request.',
    unlimited: 'It admits every request.',
  };
  for (const [limit, text] of Object.entries(words)) assert.equal(limitWords(limit), text);
  for (const wrong of ['', '10', '10/x', '/s', 'COST', 'fixed', '10/2day']) {
    assert.equal(limitWords(wrong), null, wrong);
  }
  assert.deepEqual(limitLines(['3/s', 'COST', '2']).map(({limit}) => limit), ['3/s']);
});

test('denials are red where a limit denies much', () => {
  const row = (denied, allowed) => ({denied, allowed});
  assert.ok(!deniesMuch(row(0, 0), 0));
  assert.ok(deniesMuch(row(2, 10), undefined));
  assert.ok(!deniesMuch(row(1, 10), undefined));
  assert.ok(!deniesMuch(row(1, 10), 0.5));
  assert.ok(deniesMuch(row(1, 10), 0.4));
  assert.ok(!deniesMuch(row(1, 10), 0));
});

test('the limits of a policy stand together, in their order', () => {
  const rows = ['@a#1', '9/s', '@b#0', '@a#0 x'].map((limit) => ({limit: {limit}}));
  assert.deepEqual(groupedByPolicy(rows).map((row) => row.limit.limit),
    ['@a#0 x', '@a#1', '9/s', '@b#0']);
});

test('the drawings of a table share a scale', () => {
  assert.equal(highestOf([{recent: [[1, 2, 3, 9]]}, {recent: null}, {recent: [[4, 0, 0, 0]]}]), 6);
  assert.equal(highestOf([]), 1);
});

test('a key is denied by real limits only', () => {
  const bucket = (limit, remaining, more) =>
    ({limit, remaining, capacity: 10, banned_ms: 0, ...more});
  const text = (...buckets) => keyVerdict(buckets).text;
  assert.match(text(), /^Free/);
  assert.equal(text(bucket('10/m', 1), bucket('@free#1,shadow', 3)), 'May go on.');
  assert.equal(text(bucket('10/m', 1), bucket('@free#1,shadow', 0)),
    'May go on. If it were real, @free#1,shadow would deny.');
  assert.ok(!keyVerdict([bucket('5/m,ban=1h,shadow', 0, {banned_ms: 9})]).denied);
  assert.equal(text(bucket('10/m', 0), bucket('@free#1,shadow', 0)), 'Denied now by 10/m.');
  assert.equal(text(bucket('10/m', 0), bucket('5/m', 2, {banned_ms: 9})), 'Banned by 5/m.');
  assert.equal(text(bucket('cl.throttle', -1, {capacity: null})), 'May go on.');
});

test('a policy of the file is changed there', () => {
  setServer({port: 7390});
  assert.equal(policyLine('free', ['10/s', '1000/h,name=x']), 'free = ["10/s", "1000/h,name=x"]');
  assert.equal(policyLine('a.b', ['none']), '"a.b" = ["none"]');
  const policy = {name: 'free', from_file: true, retired: false, file: 'p.toml'};
  assert.deepEqual(waysToSet('free', ['1/s'], policy), {
    file: 'p.toml', line: 'free = ["1/s"]', command: 'redis-cli -p 7390 RL.POLICY RELOAD',
  });
  for (const other of [null, {...policy, retired: true}, {...policy, from_file: false}]) {
    assert.equal(fileOf(other), null);
    assert.deepEqual(waysToSet('free', ['1/s'], other),
      {command: 'redis-cli -p 7390 RL.POLICY SET free 1/s'});
  }
  assert.equal(fileOf({...policy, file: null}), 'the policy file');
  assert.deepEqual(waysToSet('rls:shop.user', ['1/s'], {...policy, file: 'rules.yaml'}),
    {file: 'rules.yaml', line: 'limits: ["1/s"]'});
});

// A token bucket as the server tells it, when `spent` ms of its refilling are missing.
function told(capacity, each, spent) {
  const remaining = capacity - Math.ceil(spent / each);
  return {
    limit: `1/${each}ms,burst=${capacity}`, capacity, remaining, used: capacity - remaining,
    reset_after_ms: spent, next_token_ms: spent % each || each, banned_ms: 0,
  };
}

// Law: what the page shows some time after a poll is what a poll at that time would show.
test('a bucket counts down as the server does', () => {
  for (const [capacity, each] of [[2, 1000], [5, 40], [10, 360], [100, 7]]) {
    for (let spent = 2 * each; spent <= capacity * each; spent += each / 4) {
      for (let later = 0; later < spent; later += each / 4) {
        const shown = bucketAt(told(capacity, each, spent), later);
        const wanted = told(capacity, each, spent - later);
        assert.equal(shown.remaining, wanted.remaining, `${capacity} ${each} ${spent} ${later}`);
        assert.ok(Math.abs(shown.next - wanted.next_token_ms) < 1e-6);
        assert.ok(Math.abs(shown.fraction - (1 - (spent - later) / (capacity * each))) < 1e-6);
      }
      assert.equal(bucketAt(told(capacity, each, spent), spent + 1).remaining, capacity);
    }
  }
});

test('a held limit counts down to its last expiry', () => {
  const held = {
    limit: '5,held', capacity: 5, remaining: 3, held: true, used: 2, reset_after_ms: 9000,
    next_token_ms: 9000, banned_ms: 0,
  };
  assert.equal(bucketAt(held, 8999).remaining, 3);
  assert.equal(bucketAt(held, 9000).remaining, 5);
  assert.equal(describeHeld(bucketAt(held, 0)), 'last hold expires in 9.0 s');
  assert.equal(describeHeld(bucketAt(held, 9000)), 'full');
});

test('a hold says what it holds and when it ends', () => {
  const parts = [{limit: '100k/m', cost: 1500}, {limit: '5,held', cost: 1}];
  assert.equal(heldText(parts), '1,500 of 100k/m, 1 of 5,held');
  assert.equal(endText({settled: false, expires_in_ms: 120000}), 'expires in 2 min 00 s');
  assert.equal(endText({settled: true, expires_in_ms: 9000}), 'settled, forgotten in 9.0 s');
});

test('a window gives everything back at its end, and nothing before', () => {
  const window = {
    limit: '60/h,fixed', capacity: 60, remaining: 12, used: 48, reset_after_ms: 1000,
    next_token_ms: 1000, banned_ms: 0,
  };
  assert.equal(bucketAt(window, 999).remaining, 12);
  assert.equal(bucketAt(window, 999).fraction, 0.2);
  assert.equal(bucketAt(window, 1000).remaining, 60);
  assert.equal(describe(bucketAt(window, 0)), 'all back in 1.0 s');
  assert.equal(describe(bucketAt(window, 1000)), 'full');
});

test('the last token of a bucket comes back smoothly, that of a window at once', () => {
  const bucket = {
    limit: '5/s', capacity: 5, remaining: 4, used: 1, reset_after_ms: 100, next_token_ms: 100,
  };
  assert.equal(bucketAt(bucket, 0).fraction, 0.9);
  assert.equal(bucketAt({...bucket, limit: '5/s,fixed'}, 99).fraction, 0.8);
});

test('a bucket of unknown capacity has no level', () => {
  const bucket = {
    limit: 'CL.THROTTLE', capacity: null, remaining: 14, used: -1, reset_after_ms: 500,
    next_token_ms: null, banned_ms: 0,
  };
  assert.equal(bucketAt(bucket, 100).fraction, null);
  assert.equal(describe(bucketAt(bucket, 100)), 'full in 0.4 s');
});

// Law: the lines without "+" are what was, those without "-" what will be; and nothing that both
// have in common, in order, is told as a change of more lines than need be.
test('a difference has both sides in it', () => {
  const words = ['a', 'b', 'c', ''];
  for (let n = 0; n < 4 ** 6; ++n) {
    const picked = Array.from({length: 6}, (unused, i) => words[Math.floor(n / 4 ** i) % 4]);
    const before = picked.slice(0, 3).filter(Boolean);
    const after = picked.slice(3).filter(Boolean);
    const lines = difference(before, after);
    const side = (sign) => lines.filter((line) => line.sign !== sign).map((line) => line.text);
    assert.deepEqual(side('+'), before);
    assert.deepEqual(side('-'), after);
    if (before.join() === after.join()) assert.ok(lines.every((line) => line.sign === ' '));
  }
  assert.deepEqual(difference(['1/s', '9/h'], ['2/s', '9/h']), [
    {sign: '-', text: '1/s'}, {sign: '+', text: '2/s'}, {sign: ' ', text: '9/h'}]);
});

test('arrivals are ascending, bounded, and as many as the pattern says', () => {
  const steady = arrivals({rate: 5, burst: 0, every: 1, seconds: 20});
  assert.equal(steady.length, 100);
  assert.deepEqual(steady.slice(0, 3), [0, 200, 400]);
  const both = arrivals({rate: 3, burst: 4, every: 10, seconds: 30});
  assert.equal(both.length, 3 * 30 + 4 * 3);
  assert.ok(both.every((time, i) => i === 0 || both[i - 1] <= time));
  assert.ok(both.every(Number.isInteger));
  assert.ok(arrivals({rate: 1e9, burst: 1e9, every: 0, seconds: 1e6}).length > ARRIVALS_MAX);
  assert.ok(arrivals({rate: 1e9, burst: 1e9, every: 0, seconds: 1e6}).length < 5 * ARRIVALS_MAX);
});

test('words are split as a shell does', () => {
  assert.deepEqual(splitWords(` user:42  10/s 'a b'"c \\" d" ''`),
    ['user:42', '10/s', 'a bc " d', '']);
  assert.deepEqual(withoutCommand(splitWords('rl.allow k 1/s')), ['k', '1/s']);
  assert.deepEqual(withoutCommand(['k', 'RL.ALLOW']), ['k', 'RL.ALLOW']);
});

test('a limit goes on trial and back', () => {
  assert.equal(limits.withShadow('10/s,burst=5'), '10/s,burst=5,shadow');
  assert.equal(limits.withShadow('10/s,shadow,name=x'), '10/s,shadow,name=x');
  assert.equal(limits.withoutShadow('10/s,shadow,name=x'), '10/s,name=x');
  assert.ok(!limits.isShadow('10/s,name=shadow'));
  assert.equal(limits.labelOf('10/s,name=x,shadow'), 'x');
  assert.deepEqual(limits.policyPosition('@free#1 burst'), {policy: 'free', position: 1});
  assert.equal(limits.policyPosition('10/s'), null);
});

test('a rate is the mean of the last seconds, and a reset begins it again', () => {
  const rates = new Rates(5000);
  rates.add(0, {n: 100});
  assert.equal(rates.of('n'), null);
  for (let second = 1; second <= 10; ++second) rates.add(1000 * second, {n: 100 + 20 * second});
  assert.equal(rates.of('n'), 20);
  for (let second = 11; second <= 16; ++second) rates.add(1000 * second, {n: 300});
  assert.equal(rates.of('n'), 0);
  rates.add(17_000, {n: 5});
  assert.equal(rates.of('n'), null);
});

test('numbers have units, and no more digits than say something', () => {
  assert.deepEqual(format.rate(0), ['0', '/s']);
  assert.deepEqual(format.rate(0.02), ['0.1', '/s']);
  assert.deepEqual(format.rate(12.34), ['12.3', '/s']);
  assert.deepEqual(format.rate(12345.6), ['12,346', '/s']);
  assert.deepEqual(format.percent(0, 0), [format.NONE, '']);
  assert.deepEqual(format.percent(1, 100_000), ['< 0.1', '%']);
  assert.deepEqual(format.percent(1, 8), ['12.5', '%']);
  assert.deepEqual(format.bytes(1023), ['1,023', 'B']);
  assert.deepEqual(format.bytes(1.5 * 2 ** 20), ['1.5', 'MiB']);
  assert.deepEqual(format.latency(6.25), ['6.3', '\u00b5s']);
  assert.equal(format.duration(0), '0.0 s');
  assert.equal(format.duration(59_949), '59.9 s');
  assert.equal(format.duration(185_000), '3 min 05 s');
  assert.equal(format.duration(7_620_000), '2 h 07 min');
  assert.equal(format.duration(273 * 3_600_000), '11 d 9 h');
  assert.equal(format.wait(333.1), '334 ms');
});

const NOW = {
  time_ms: 1_000_000_000_000, server: 'weir-a:7379', role: 'primary', durability: 'snapshot',
  last_save_age_ms: 400, memory_bytes: 2048, memory_permille: 31,
  replication: {link: null, replicas: [{online: true}, {online: true}, {online: false}]},
  verdict: {state: 'ok', reasons: []},
};

test('a server that is well says so in a line', () => {
  const head = (more) => verdictLine({...NOW, ...more}).head;
  assert.deepEqual(verdictLine(NOW), {
    state: 'ok', reasons: [],
    head: 'All well: saved 0.4 s ago, 2 replicas in sync, memory 3 %, no evictions',
  });
  const alone = {link: null, replicas: []};
  assert.equal(head({memory_permille: null, replication: alone}),
    'All well: saved 0.4 s ago, memory 2.0 KiB');
  assert.equal(head({durability: 'none', last_save_age_ms: null, replication: alone}),
    'All well: nothing is kept on disk, memory 3 %, no evictions');
  const one = {link: null, replicas: [{online: true}]};
  assert.match(head({replication: one}), /, 1 replica in sync/);
  assert.match(head({role: 'replica'}), /, in sync with its primary,/);
});

test('reasons are named with their time and lead to their help', () => {
  const ago = (ms) => NOW.time_ms - ms;
  const saving = {code: 'save_failing', text: 'saving fails (full)', since_ms: ago(7_200_000)};
  const away = {code: 'replica_away', text: 'replica b:1 is away', since_ms: ago(40_900)};
  const line = (state, ...reasons) => verdictLine({...NOW, verdict: {state, reasons}});
  assert.deepEqual(line('bad', saving, away), {
    state: 'bad', head: '2 things are wrong: ', reasons: [
      {href: '#/health/save_failing',
        text: `saving fails (full), since ${format.clock(saving.since_ms)}`},
      {href: '#/health/replica_away', text: 'replica b:1 is away, for 40 s'},
    ],
  });
  assert.equal(line('bad', saving).head, '1 thing is wrong: ');
  assert.equal(line('warn', away).head, '1 thing to look at: ');
  assert.equal(line('warn', away, away).head, '2 things to look at: ');
  const since = (ms) => line('warn', {...away, since_ms: ago(ms)}).reasons[0].text;
  assert.match(since(-5), /for 0 s$/);  // the clocks of two readings
  assert.match(since(59_999), /for 59 s$/);
  assert.match(since(60_000), /for 1 min$/);
  assert.match(since(3_599_999), /for 59 min$/);
  assert.match(since(3_600_000), /, since .*\d\d:\d\d:\d\d \S+$/);
});

const BUSY = {
  ...NOW, commands: 5, buckets: 3, holds: 1, limits: 2, policies: 1, uptime_s: 4,
  process_memory_bytes: 38 * 2 ** 20, max_memory_bytes: 0, last_save_ok: true, loss_bound_ms: 20,
  connections: 1, http_connections: 2, latency_us: {p50: 6.5, p99: 1500, window_s: 61},
  last_minute: {window_s: 60, errors: 7, rejected_connections: 0, evicted: 4},
  total: {allowed: 8, denied: 2, shadow_denied: 0, near_limit: 0, bans: 1, charged_beyond: 1},
};

test('each fact has a unit and a sentence', () => {
  const groups = facts(BUSY, 12);
  assert.deepEqual(groups.map(([title]) => title), ['Load', 'State', 'Clients']);
  const rows = new Map(groups.flatMap(([, list]) => list).map((row) => [row[0], row]));
  const text = (name) => rows.get(name)[1];
  for (const [name, , note] of rows.values()) assert.match(note, /^[A-Z0-9].{15,}/, name);
  assert.equal(text('Latency, p99'), '1.5 ms');
  assert.match(rows.get('Latency, p99')[2], /in the last 61 s$/);
  assert.equal(text('Memory'), 'table 2.0 KiB, process 38.0 MiB');
  assert.equal(text('Errors'), '7 /min');
  assert.equal(text('Evictions'), '4 /min');
  assert.ok(rows.get('Evictions')[3]);
  assert.equal(text('Open holds'), '1');
  assert.equal(text('Rejected connections'), '0 /min');
  assert.equal(text('Charged above the limit'), '1');
  const quiet = facts({...BUSY, latency_us: null,
    last_minute: {window_s: 0, errors: 0, rejected_connections: 0, evicted: 0}}, null);
  assert.equal(quiet[0][1][0][1], format.NONE);
  assert.equal(quiet[0][1][3][1], '0 /min');
});

test('a view is copied as the lines that a chat needs', () => {
  const rates = new Rates(5000);
  rates.add(0, {allowed: 0, denied: 0, shadow_denied: 0, near_limit: 0});
  rates.add(1000, {allowed: 8, denied: 2, shadow_denied: 0, near_limit: 0});
  const limit = {limit: '9/s', allowed: 3, denied: 1};
  const key = {key: 'user:42', count: 1, limits: ['9/s', '@free#0']};
  const lines = nowText({...BUSY, replication: {link: null, replicas: []}}, rates, [limit], [key]);
  assert.match(lines[0], /allowed 8\.0 \/s, denied 2\.0 \/s/);
  assert.ok(lines.includes('  9/s: 1 denied (25.0 %)'));
  assert.ok(lines.includes('  user:42: 1 denied by 9/s, @free#0'));
  assert.deepEqual(limitText({definition: '9/s', policy: null, denied: 4, keys: [key]}), [
    'definition: 9/s', 'denied since the start: 4', 'keys that it denies, since the start:',
    '  user:42: 1 denied by 9/s, @free#0']);
  const bucket = {limit: '9/s', remaining: 0, capacity: 9, reset_after_ms: 900, banned_ms: 0};
  assert.deepEqual(keyText({buckets: [bucket], holds: [], overrides: [], denied_by: ['9/s']},
    'Denied now by 9/s.'), [
    'Denied now by 9/s.', '  9/s: 0 left of 9, full in 0.9 s', 'has been denied by 9/s']);
});

test('the title names the host, and says when something is wrong', () => {
  assert.equal(pageTitle(null, 'Now'), 'weir: Now');
  assert.equal(pageTitle(NOW, 'Now'), 'weir-a: Now');
  assert.equal(pageTitle({...NOW, server: '::1:7379'}, 'Who'), '::1: Who');
  const state = (word) => pageTitle({...NOW, verdict: {state: word, reasons: []}}, 'Now');
  assert.equal(state('warn'), 'weir-a: Now');
  assert.equal(state('bad'), '(!) weir-a: Now');
});

// The codes are the server's, the headings those of the page that says more.
test('each code of the verdict has help, and its heading is in the runbook', () => {
  const root = path.join(process.env.WEIR_PAGE_APP, '../../..');
  const source = fs.readFileSync(path.join(root, 'server/health/health.cc'), 'utf8');
  const rows = source.matchAll(/^ {4}\{\{"(\w+)", HealthState::k(?:Bad|Warn)\}/gm);
  const codes = [...rows].map((found) => found[1]);
  assert.ok(codes.length >= 16);
  assert.deepEqual(Object.keys(HELP), codes);
  const runbook = fs.readFileSync(path.join(root, 'docs/operations.md'), 'utf8');
  for (const [code, {heading, means, act}] of Object.entries(HELP)) {
    assert.ok(runbook.includes(`\n### ${heading}\n`), `${code}: ${heading}`);
    assert.match(runbook, new RegExp(`^\\| \`${code}\` \\|`, 'm'));
    for (const text of [means, act]) assert.match(text, /^[A-Z][^]*\.$/);
  }
});

test('the control plane of the rules is told in a sentence', () => {
  const plane = {server: 'plane:18000', connected: false, version: null, error: 'refused'};
  assert.equal(planeText({source: null, xds: plane}),
    'The control plane is plane:18000, not connected. refused');
  assert.equal(planeText({source: 'xds-saved', xds: {...plane, version: '7'}}),
    'The control plane is plane:18000, not connected. Version 7 is in force, as it was kept on ' +
    'disk. refused');
  const good = {...plane, connected: true, version: '7', error: null};
  assert.equal(planeText({source: 'xds', xds: good}),
    'The control plane is plane:18000, connected. Version 7 is in force.');
});
