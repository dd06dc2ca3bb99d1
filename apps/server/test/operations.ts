import type { ServiceName } from '../src/config.ts'

/** Where each service's contract is. */
export const ADDRESSES: Readonly<Record<ServiceName, string>> = {
  identity: '/auth',
  portal: '/portal',
  gateway: '/llm',
  agents: '/agents',
  workflows: '/workflows',
}

interface Contract {
  readonly paths: Record<string, Record<string, { readonly operationId: string }>>
}

/** The operations of a service that are no GET, by its contract. */
export async function changingOperations(url: string, address: string): Promise<string[]> {
  const { paths } = (await (await fetch(`${url}${address}/openapi.json`)).json()) as Contract
  return Object.values(paths)
    .flatMap((methods) => Object.entries(methods))
    .filter(([method]) => method !== 'get')
    .map(([, { operationId }]) => operationId)
}
