# Drives the server with Redis.pm, as Debian packages it.
use strict;
use warnings;

# [docs]
use Redis;

# [/docs]
my ($port, $lossy_port) = @ENV{qw(WEIR_PORT WEIR_LOSSY_PORT)};

sub open_client {
    my ($port, $role) = (@_, 'WEIR');
    my ($user, $password, $deadline) = @ENV{"${role}_USER", "${role}_PASSWORD", 'WEIR_DEADLINE'};
    # [docs]
    my $weir = Redis->new(
        server        => "127.0.0.1:$port",
        username      => $user,
        password      => $password,
        cnx_timeout   => $deadline,
        read_timeout  => $deadline,
        write_timeout => $deadline,
        reconnect     => $deadline,
    );
    # [/docs]
    return $weir;
}

sub check {
    my ($seen, $wanted) = @_;
    die "$seen, not $wanted\n" if $seen ne $wanted;
}

# The remaining tokens in several replies.
sub remaining_of {
    check($_->[0], 1) for @_;
    return join(' ', map { $_->[1] } @_);
}

my $weir = open_client($port);

# [docs]
my $allow = 'RL.ALLOW';  # a method of any name is a command, and a variable can have a dot
# [/docs]

my @steps = (
    connect => sub { check($weir->ping, 'PONG') },

    allow => sub {
        # [docs]
        my ($allowed, $remaining, $retry_after_ms, $reset_after_ms, $limit) =
            $weir->$allow('user:42', '10/s', '1000/h');
        # [/docs]
        check("$allowed $remaining $retry_after_ms $reset_after_ms $limit", '1 9 0 3600 0');
    },

    pipeline => sub {
        my @replies;
        $weir->$allow('pipeline', '10/h', sub { push @replies, $_[0] }) for 1 .. 3;
        $weir->wait_all_responses;
        check(remaining_of(@replies), '9 8 7');
    },

    transaction => sub {
        $weir->multi;
        $weir->$allow('transaction', '10/h') for 1 .. 2;
        check(remaining_of($weir->exec), '9 8');
    },

    error => sub {
        my $before = $weir->client_id;
        check(eval { $weir->$allow('error', '10/x') } // 'error', 'error');
        die "not of the limit: $@" if $@ !~ m{ERR invalid limit '10/x'};
        check($weir->client_id, $before);
    },

    reconnect => sub {
        my $before = $weir->client_id;
        open_client($port, 'WEIR_ADMIN')->client_kill('TYPE', 'normal');
        my $after = eval { $weir->client_id } // $weir->client_id;
        die "the same connection\n" if $after <= $before;
        check(remaining_of(scalar $weir->$allow('reconnect', '10/h')), 9);
    },

    once => sub {
        my $lossy = open_client($lossy_port);
        check(eval { $lossy->$allow('lost', '10/h') } // 'lost', 'lost');
        check(remaining_of(scalar $weir->$allow('lost', '10/h')), 8);
    },
);

print "version $Redis::VERSION\n";
my $failed = 0;
while (my ($name, $step) = splice(@steps, 0, 2)) {
    if (eval { $step->(); 1 }) {
        print "ok $name\n";
    } else {
        print "FAIL $name ", join(' ', split(' ', $@)), "\n";
        $failed = 1;
    }
}
exit $failed;
