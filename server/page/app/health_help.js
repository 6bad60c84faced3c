// The help for each code of the server's verdict: what it means, what to do, and the heading in
// docs/operations.md under which more is written.

export const HELP = {
  loading: {
    heading: 'The state is loading',
    means: 'The server reads its state from disk, or gets it from its primary. Most commands are ' +
      'answered LOADING until it has it.',
    act: 'Wait. The log says how many buckets it has read; a replica shows what is left in INFO ' +
      'replication.',
  },
  save_failing: {
    heading: 'The disk is full',
    means: 'The last save failed. Decisions go on; a crash would forget those since the last ' +
      'save that succeeded.',
    act: 'Make room, or repair the disk. The server tries again every 8 seconds at most, and ' +
      'then saves all that it has.',
  },
  disk_refuses: {
    heading: 'The disk is full',
    means: 'Every change must be saved before it is answered (durability always), and the last ' +
      'save failed: requests that would be admitted get MISCONF.',
    act: 'Make room, or repair the disk. CONFIG SET on-persist-error serve answers meanwhile; a ' +
      'crash may then forget what was answered.',
  },
  link_down: {
    heading: 'The primary is not heard',
    means: 'This replica has lost its primary. What it has grows old.',
    act: 'Look whether the primary runs and is reached from here. If it is gone, promote a ' +
      'replica: Sentinel does, or REPLICAOF NO ONE.',
  },
  deposed: {
    heading: 'A primary is deposed',
    means: 'Another server has become the primary in a later term. This one admits nothing.',
    act: 'REPLICAOF HOST PORT makes it a replica of the new primary; with Sentinel that happens ' +
      'automatically.',
  },
  gated: {
    heading: 'The start waits for Sentinel',
    means: 'A server with the option sentinel waits at its start until a Sentinel has said which ' +
      'server is the primary.',
    act: 'Look whether the Sentinels run and are reached. sentinel-wait bounds the wait.',
  },
  too_few_replicas: {
    heading: 'Replicas are too few',
    means: 'Fewer replicas are in sync than min-replicas-to-write or ack-replicas asks for: ' +
      'requests that would be admitted get NOREPLICAS.',
    act: 'Bring a replica back. CONFIG SET with a smaller number admits at once, and gives up ' +
      'what the number protects from.',
  },
  memory_full: {
    heading: 'Memory is full',
    means: 'Buckets in use were dropped to stay within max-memory: their keys begin again with ' +
      'full ones.',
    act: 'Give it more: CONFIG SET max-memory. If one flood brings the keys, shorten the periods ' +
      'of their limits.',
  },
  memory_high: {
    heading: 'Memory is full',
    means: 'Four fifths of the room for buckets are in use, or of that for holds, which may take ' +
      'a quarter of max-memory.',
    act: 'Give it more before it is full: CONFIG SET max-memory.',
  },
  evicting: {
    heading: 'Memory is full',
    means: 'Full buckets are dropped before they are swept, to stay within max-memory. That ' +
      'forgives nothing yet.',
    act: 'Give it more before it is full: CONFIG SET max-memory.',
  },
  rejecting_clients: {
    heading: 'Too many clients',
    means: 'Clients were turned away: max-clients are connected, no file descriptor is left, or ' +
      'protected mode refuses other hosts. The log says which.',
    act: 'Find the program that forgets its connections, set timeout, or raise max-clients. ' +
      'Where protected mode refuses them, set a password.',
  },
  replica_away: {
    heading: 'A replica is away',
    means: 'A replica that was in sync is not heard. If it was the only one, a failover would ' +
      'forget more each second.',
    act: 'Bring it back. One that was removed is forgotten after an hour.',
  },
  errors: {
    heading: 'Many errors',
    means: 'More than one command in a hundred of the last minute was answered with an error. ' +
      'A denial is no error.',
    act: 'INFO errorstats counts errors by their first word, and INFO commandstats by command.',
  },
  clock_off: {
    heading: 'The clock was wrong',
    means: 'The server\'s time differs from the wall clock by more than a second: the wall clock ' +
      'was set while the server ran, or was wrong when it started, or the server was promoted ' +
      'and continues the time of its former primary. Limits of the calendar renew by the ' +
      'server\'s time.',
    act: 'Correct the clock, and restart the server; if it still differs, once with reset-clock.',
  },
  slow: {
    heading: 'Answers are slow',
    means: 'One in a hundred calls of the last minute kept its thread busy for more than 10 ms.',
    act: 'Look at the load of the machine, then at SLOWLOG GET and LATENCY DOCTOR.',
  },
  rules_old: {
    heading: 'Rules are not in force',
    means: 'The files of rls-config, or the last response of the control plane, have a mistake: ' +
      'the rules of before are in force, or none.',
    act: 'INFO rls_config_error and the log have the place. weir-check rls DIR reads files ' +
      'before the server does.',
  },
  control_plane_away: {
    heading: 'Rules are not in force',
    means: 'The control plane of rls-xds is not connected. Its last rules stay in force; changes ' +
      'of them are not heard.',
    act: 'INFO rls_xds_error and the log have the reason. The server connects again automatically.',
  },
  no_login: {
    heading: 'No login is needed',
    means: 'Every host that reaches this server may run what the user default may.',
    act: 'Set a password (requirepass-file) or users (users-file), or bind it to loopback.',
  },
};
