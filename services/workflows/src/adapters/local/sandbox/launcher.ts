import type { TaskLimits } from '../limits.ts'
import type { Cell } from './confinement.ts'
import { type Mount, mountsOf, type View } from './mounts.ts'

/**
 * One program that does what `setpriv`, `unshare`, `mount`, `prlimit` and two shells do one after the other: starting
 * them takes most of the time of a short task. Perl, for it is on every Debian, starts in a millisecond, and can make any
 * call of the kernel. A fixed text: what varies comes as arguments and is never read as code.
 *
 * The first process asks for namespaces and waits; the second is the first of the namespaces, mounts, and takes in what
 * is orphaned; the third gives up all rights, goes into a user namespace in which none can be made, for the kernel offers
 * more there to be attacked, and becomes the task's program.
 */
const TEXT = `
sub fail { print STDERR "confinement: @_: $!\\n"; exit 125 }
sub call { my ($what, $number, @args) = @_; syscall($number, @args) >= 0 or fail($what) }
my ($numbers, $parent, $uid, $closes, $cwd, $limits, $mounts) = splice @ARGV, 0, 7;
my ($mount, $unshare, $prctl, $setresuid, $setresgid, $setgroups, $prlimit, $capset) = map { $_ + 0 } split /,/, $numbers;
my @mounts = splice @ARGV, 0, 5 * $mounts;
$uid += 0;
sub put { my ($name, $text) = @_; open my $file, '+<', "/proc/$name" or fail($name); syswrite $file, $text or fail($name) }
sub dies_with_parent { call('PR_SET_PDEATHSIG', $prctl, 1, 9, 0, 0, 0) }
# What waits here ends with the program, not before it.
$SIG{$_} = 'IGNORE' for qw(TERM INT HUP);
dies_with_parent();
getppid == $parent or exit 125;
call('PR_SET_NO_NEW_PRIVS', $prctl, 38, 1, 0, 0, 0);
# CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWIPC
call('unshare', $unshare, 0x20000 | 0x20000000 | 0x8000000);
sub ended { my $status = shift; exit($status & 127 ? 128 + ($status & 127) : $status >> 8) }
my $init = fork // fail('fork');
if ($init) { waitpid $init, 0; ended($?) }

dies_with_parent();
my $mask = umask 022;
sub make_folder {
  my $at = '';
  for (split m{/}, substr $_[0], 1) { $at .= "/$_"; mkdir $at, 0755 }
}
while (my ($source, $target, $type, $flags, $data) = splice @mounts, 0, 5) {
  make_folder($target) if $flags & 4096;
  call("mount $target", $mount, $source, $target, $type, $flags + 0, $data);
}
umask $mask;
chdir $cwd or fail("chdir $cwd");
my $program = fork // fail('fork');
if ($program) {
  while ((my $pid = wait) != -1) { ended($?) if $pid == $program }
  exit 125;
}

for (split /,/, $limits) {
  my ($resource, $soft, $hard) = map { $_ + 0 } split /:/;
  call("limit $resource", $prlimit, 0, $resource, pack('QQ', $soft, $hard), 0);
}
call('setgroups', $setgroups, 0, 0);
# PR_CAPBSET_DROP, up to the last that this kernel knows
sub drop_bounds { for (my $cap = 0; syscall($prctl, 24, $cap, 0, 0, 0) >= 0; $cap++) {} }
drop_bounds();
call('setresgid', $setresgid, $uid, $uid, $uid);
call('setresuid', $setresuid, $uid, $uid, $uid);
# PR_SET_DUMPABLE, or its own /proc is not its own; CLONE_NEWUSER, which fails where nobody like it may make one
call('PR_SET_DUMPABLE', $prctl, 4, 1, 0, 0, 0);
if ($closes && syscall($unshare, 0x10000000) >= 0) {
  put('self/setgroups', 'deny');
  put("self/$_", "$uid $uid 1") for qw(uid_map gid_map);
  put('sys/user/max_user_namespaces', '0');
  drop_bounds();
}
# _LINUX_CAPABILITY_VERSION_3: none effective, permitted or inheritable, and by that none ambient
call('capset', $capset, pack('L2', 0x20080522, 0), pack('L6', (0) x 6));
my $merges = $ENV{ATRIUM_TASK_MERGES};
%ENV = map { /^ATRIUM_TASK_ENV_(.*)/s ? ($1 => $ENV{$_}) : () } keys %ENV;
$SIG{$_} = 'DEFAULT' for qw(TERM INT HUP);
open STDERR, '>&', STDOUT if $merges;
exec { $ARGV[0] } @ARGV;
my $code = $!{ENOENT} ? 127 : 126;
print STDERR "$ARGV[0]: $!\\n";
exit $code;
`

/** Numbers of mount, unshare, prctl, setresuid, setresgid, setgroups, prlimit64 and capset. */
const CALLS: Readonly<Record<string, string>> = {
  x64: '165,272,157,117,119,116,302,126',
  arm64: '40,97,167,147,149,159,261,91',
}

/** Whether the launcher knows this machine's processor. */
export const hasLauncher = (architecture: string = process.arch): boolean => CALLS[architecture] !== undefined

/** By the kernel's numbers of them; the first limit is a signal that tells what happened, the second kills. */
const limitsOf = (limits: TaskLimits): string => {
  const same = (value: number): [number, number] => [value, value]
  const all: [number, [number, number]][] = [
    [0, [limits.processorSeconds, limits.processorSeconds + 5]],
    [1, same(limits.fileMb * 2 ** 20)],
    [4, same(0)],
    [6, same(limits.processes)],
    [7, same(limits.openFiles)],
    [9, same(limits.memoryMb * 2 ** 20)],
  ]
  return all.map(([resource, pair]) => [resource, ...pair].join(':')).join(',')
}

/** In a namespace of its own no mount reaches the machine, and /proc shows its own processes. */
const OWN: readonly Mount[] = [
  { source: 'none', target: '/', type: 'none', flags: 0x4000 | 0x40000, data: '' },
  { source: 'none', target: '/proc', type: 'none', flags: 0x4000 | 0x40000, data: '' },
  { source: 'proc', target: '/proc', type: 'proc', flags: 2 | 4 | 8, data: '' },
]

/**
 * The command line that runs a cell's program in namespaces of its own, as the cell's user, without any right.
 * @param perl absolute path
 * @param isClosed the program can make no user namespaces
 */
export function launcherOf(perl: string, cell: Cell, view: View, isClosed: boolean): string[] {
  const mounts = [...OWN, ...mountsOf(view)]
  return [
    ...[perl, '-e', TEXT, '--', CALLS[process.arch] ?? '', String(process.pid), String(cell.uid)],
    ...[isClosed ? '1' : '0', cell.cwd],
    ...[limitsOf(cell.limits), String(mounts.length)],
    ...mounts.flatMap(({ source, target, type, flags, data }) => [source, target, type, String(flags), data]),
    ...[cell.command, ...cell.args],
  ]
}
