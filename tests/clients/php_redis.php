<?php
// Drives the server with phpredis, as Debian packages it.

const PING_ANSWERS = [true, '+PONG'];  // of phpredis 5 and later, of older ones

[$port, $lossyPort] = [(int) getenv('WEIR_PORT'), (int) getenv('WEIR_LOSSY_PORT')];

function open(int $port, string $role = 'WEIR'): Redis
{
    [$user, $password] = [getenv("{$role}_USER") ?: null, getenv("{$role}_PASSWORD") ?: null];
    $deadline = (float) getenv('WEIR_DEADLINE');
    // [docs]
    $weir = new Redis();
    $weir->connect('127.0.0.1', $port, $deadline);
    $weir->setOption(Redis::OPT_READ_TIMEOUT, $deadline);
    if ($password !== null) {
        $weir->auth([$user, $password]);
    }
    // [/docs]
    return $weir;
}

function check($seen, $wanted): void
{
    if ($seen !== $wanted) {
        throw new Exception(json_encode($seen) . ', not ' . json_encode($wanted));
    }
}

function remainingOf($reply): int
{
    check($reply[0], 1);
    return $reply[1];
}

$weir = open($port);

$steps = [
    'connect' => function () use ($weir) {
        check(in_array($weir->ping(), PING_ANSWERS, true), true);
    },

    'allow' => function () use ($weir) {
        // [docs]
        [$allowed, $remaining, $retryAfterMs, $resetAfterMs, $limit] =
            $weir->rawCommand('RL.ALLOW', 'user:42', '10/s', '1000/h');
        // [/docs]
        check([$allowed, $remaining, $retryAfterMs, $resetAfterMs, $limit], [1, 9, 0, 3600, 0]);
    },

    'pipeline' => function () use ($weir) {
        $batch = $weir->pipeline();
        for ($i = 0; $i < 3; ++$i) {
            $batch->rawCommand('RL.ALLOW', 'pipeline', '10/h');
        }
        check(array_map('remainingOf', $batch->exec()), [9, 8, 7]);
    },

    'transaction' => function () use ($weir) {
        $batch = $weir->multi();
        for ($i = 0; $i < 2; ++$i) {
            $batch->rawCommand('RL.ALLOW', 'transaction', '10/h');
        }
        check(array_map('remainingOf', $batch->exec()), [9, 8]);
    },

    // An error is `false`, and its text is kept.
    'error' => function () use ($weir) {
        $before = $weir->rawCommand('CLIENT', 'ID');
        check($weir->rawCommand('RL.ALLOW', 'error', '10/x'), false);
        check(strpos($weir->getLastError(), "ERR invalid limit '10/x'"), 0);
        check($weir->rawCommand('CLIENT', 'ID'), $before);
    },

    'reconnect' => function () use ($weir, $port) {
        $before = $weir->rawCommand('CLIENT', 'ID');
        open($port, 'WEIR_ADMIN')->rawCommand('CLIENT', 'KILL', 'TYPE', 'normal');
        try {
            $after = $weir->rawCommand('CLIENT', 'ID');
        } catch (RedisException $e) {
            $after = $weir->rawCommand('CLIENT', 'ID');
        }
        check($after > $before, true);
        check(remainingOf($weir->rawCommand('RL.ALLOW', 'reconnect', '10/h')), 9);
    },

    'once' => function () use ($weir, $lossyPort) {
        try {
            $answer = open($lossyPort)->rawCommand('RL.ALLOW', 'lost', '10/h');
        } catch (RedisException $e) {
            $answer = 'lost';
        }
        check($answer, 'lost');
        check(remainingOf($weir->rawCommand('RL.ALLOW', 'lost', '10/h')), 8);
    },
];

echo 'version ', phpversion('redis'), "\n";
$failed = 0;
foreach ($steps as $name => $step) {
    try {
        $step();
        echo "ok $name\n";
    } catch (Throwable $e) {
        echo "FAIL $name ", get_class($e), ': ', strtr($e->getMessage(), "\r\n", '  '), "\n";
        $failed = 1;
    }
}
exit($failed);
