#!/usr/bin/env node
// Atrium's sources run on Node.js 24 as they are. An older Node.js hands over to the one that npm installed.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'

const main = path.join(
  import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname),
  '../src/main.ts',
)

if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(main)
} else {
  const pinned = path.join(
    path.dirname(createRequire(import.meta.url).resolve('node/package.json')),
    'bin/node',
  )
  const child = spawn(pinned, [main, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}
