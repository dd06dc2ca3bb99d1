import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Systems give higher ones to outgoing connections (from 32,768 on Linux), which come and go at any moment. */
const PORTS = { from: 20_000, to: 32_768 }
const ATTEMPTS = 100

/** A loopback port that nothing listens on at this moment. @throws Error when none was found */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(PORTS.from, PORTS.to)
    if (await isFree(port)) return port
  }
  throw new Error(`No free port was found from ${PORTS.from} to ${PORTS.to - 1}`)
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
