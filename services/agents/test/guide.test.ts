import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'

const guide = path.resolve(import.meta.dirname, '../../../docs/guides/agents.md')

test('the commands of docs/guides/agents.md do what it says', async () => {
  const text = await readFile(guide, 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '')
  await using platform = await startTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-guide-'))

  const run = (commands: string[]) =>
    new Promise<{ code: number | null; output: string }>((resolve) => {
      // In a process of its own, for this one serves what it calls.
      const shell = spawn(
        'bash',
        ['--noprofile', '--norc', '-euo', 'pipefail', '-c', commands.join('\necho\n')],
        {
          cwd: folder,
          env: { ...process.env, ATRIUM: platform.url, SPACE: spaceId, API_KEY: apiKey },
        },
      )
      let output = ''
      for (const stream of [shell.stdout, shell.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString('utf8')
        })
      }
      shell.once('close', (code) => resolve({ code, output }))
    })

  const { code, output } = await run(blocks)
  expect([code, output]).toEqual([0, expect.any(String)])
  expect(output).toContain('"stage":"live"')
  expect(output).toContain('When do tomatoes ripen?')
  expect(output).toMatch(/"role":"assistant","content":\[.*\[sandbox\]/)
  expect(output.match(/"title":"Tomatoes"/g)?.length).toBeGreaterThanOrEqual(3)
  expect(output).toContain('"totalRecords":1')
  const left = await platform.call('GET', `/agents/v1/spaces/${spaceId}/agent`, { token: apiKey })
  expect(left.body).toEqual([])
  await rm(folder, { recursive: true, force: true })
})
