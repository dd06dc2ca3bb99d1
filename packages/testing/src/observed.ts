import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { expect, inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** File that collects which operation answered what, in which test file. */
    observedFile: string
  }
}

/** One answer that fitted its contract. */
export interface Observation {
  readonly service: string
  readonly operation: string
  readonly status: number
  readonly test: string
}

const seen = new Set<string>()

/** Notes an answer for the conformance table, once per test file. */
export function observe(service: string, operation: string, status: number): void {
  const test = path.relative(process.cwd(), expect.getState().testPath ?? '')
  const line = JSON.stringify({ service, operation, status, test } satisfies Observation)
  if (seen.has(line)) return
  seen.add(line)
  appendFileSync(inject('observedFile'), `${line}\n`)
}
