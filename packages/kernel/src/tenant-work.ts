import { AsyncLocalStorage } from 'node:async_hooks'

/** One request, and for whom it works; what is asked of the database on its way is counted as theirs. */
export interface TenantWork {
  /** Undefined until the caller is known: what that takes is nobody's. */
  tenant: string | undefined
  /** Database connections that it holds now. */
  held: number
  /** It was answered; what it set off goes on for everybody. */
  isOver: boolean
}

const works = new AsyncLocalStorage<TenantWork>()

export const newTenantWork = (): TenantWork => ({ tenant: undefined, held: 0, isOver: false })

/** Everything that `run` sets off belongs to this work. */
export const runAsWork = (work: TenantWork, run: () => void): void => works.run(work, run)

/** The request that is worked on, when its tenant is known. */
export function workUnderWay(): TenantWork | undefined {
  const work = works.getStore()
  return work?.tenant === undefined || work.isOver ? undefined : work
}

/** From here on, the request works for this tenant: a space, or a caller where no space is meant. */
export function workFor(tenant: string): void {
  const work = works.getStore()
  if (work !== undefined) work.tenant = tenant
}
