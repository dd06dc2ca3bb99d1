// Fixed texts: what varies comes as "$@" and is never read as a command.

/**
 * The first process of a namespace: mounts, starts the program, and takes in what is orphaned. It ends with the
 * program, and everything in the namespace with it.
 */
export const INIT = `
"$1" -n -a -T "$2" >&2 || exit 125
# One more, for the program's own; the program itself makes none.
[ "$3" = - ] || echo 1 > /proc/sys/user/max_user_namespaces 2>/dev/null || :
[ "$3" = - ] || "$1" -n -o remount,bind,ro "$3" >&2 || exit 125
cd "$4" || exit 125
shift 4
trap : TERM INT HUP
"$@" &
child=$!
# What this shell itself says about the end of the program is not the program's.
exec 2>/dev/null
while :; do
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null || break
done
exit "$code"
`

/** Gives the program its environment, as the user that it runs as: names come as arguments, up to `--`. */
export const WITH_ENVIRONMENT = `
while [ "$1" != -- ]; do
  eval "export $1=\\"\\$ATRIUM_TASK_ENV_$1\\"; unset ATRIUM_TASK_ENV_$1"
  shift
done
shift
[ "$ATRIUM_TASK_MERGES" != 1 ] || exec 2>&1
unset ATRIUM_TASK_MERGES
exec "$@"
`

/** Where there is no prlimit: processor time, file size in blocks of 512 bytes, open files. */
export const WITH_LIMITS = `
ulimit -t "$1"; ulimit -f "$2"; ulimit -n "$3"; ulimit -c 0
shift 3
exec "$@"
`
