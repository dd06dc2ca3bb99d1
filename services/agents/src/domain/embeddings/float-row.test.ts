import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const agents = path.resolve(import.meta.dirname, '../../..')

test('float-row.wasm is what assembly/float-row.ts is compiled to', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-wasm-'))
  const { scripts } = JSON.parse(await readFile(path.join(agents, 'package.json'), 'utf8'))
  const file = path.join(folder, 'float-row.wasm')
  const compile = scripts.wasm.replace(/--outFile \S+/, `--outFile ${path.relative(agents, file)}`)
  await promisify(execFile)('npx', compile.split(' '), { cwd: agents })
  const compiled = await readFile(file)
  await rm(folder, { recursive: true })
  expect(compiled.equals(await readFile(path.join(import.meta.dirname, 'float-row.wasm')))).toBe(true)
})
