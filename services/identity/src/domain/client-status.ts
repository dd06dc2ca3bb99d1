import type { ClientStatus } from '../queries/tables.ts'

/** Where a client may go from each status. Approval is the one way out of a registration that succeeds. */
const NEXT: Readonly<Record<ClientStatus, readonly ClientStatus[]>> = {
  'In Progress': ['Active', 'Disabled'],
  Active: ['Disabled'],
  Disabled: ['Active'],
}

/** Staying where it is is always allowed. */
export const mayBecome = (from: ClientStatus, to: ClientStatus): boolean =>
  from === to || NEXT[from].includes(to)
