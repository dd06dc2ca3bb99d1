import { defineAccess } from '@atrium/access'

/** OAuth endpoints authenticate their callers by the protocol itself, so none takes a bearer token. */
export const identityAccess = defineAccess({
  issueMachineToken: 'public',
  introspectMachineToken: 'public',
  getMachineDiscovery: 'public',
  getMachineKeys: 'public',
})
