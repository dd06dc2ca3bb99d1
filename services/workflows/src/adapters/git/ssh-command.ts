/**
 * What git runs for ssh, by a shell: constant text, everything of the task comes by its environment. The key is a file
 * for as long as ssh runs, since ssh takes it in no other way. ssh takes the first value of an option that it is
 * given, so nothing that git adds behind these changes them; it connects to the port that leads to the server.
 */
export const SSH_COMMAND = [
  'atrium_ssh() {',
  '  umask 077',
  '  folder=$(mktemp -d) || exit 1',
  `  trap 'rm -rf "$folder"' EXIT`,
  '  printf "%s\\n" "$ATRIUM_SSH_KEY" >"$folder/key"',
  '  printf "%s\\n" "$ATRIUM_KNOWN_HOSTS" >"$folder/known_hosts"',
  '  unset ATRIUM_SSH_KEY',
  '  ssh -F /dev/null -i "$folder/key" -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \\',
  '    -o PreferredAuthentications=publickey -o StrictHostKeyChecking=yes \\',
  '    -o UserKnownHostsFile="$folder/known_hosts" -o GlobalKnownHostsFile=/dev/null -o UpdateHostKeys=no \\',
  '    -o HostName=127.0.0.1 -o Port="$ATRIUM_SSH_PORT" -o HostKeyAlias="$ATRIUM_SSH_HOST" -o CheckHostIP=no \\',
  '    -o ConnectTimeout=30 -o ServerAliveInterval=30 -o ForwardAgent=no -o ClearAllForwardings=yes "$@"',
  '}; atrium_ssh',
].join('\n')
