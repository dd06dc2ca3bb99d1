import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'

/** Runs all commands of a guide in one shell, in a folder of its own. @returns what they wrote */
async function follow(guide: string, env: Readonly<Record<string, string>>): Promise<string> {
  const text = await readFile(path.resolve(import.meta.dirname, '../../../docs/guides', guide), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '')
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-guide-'))
  const { code, output } = await new Promise<{ code: number | null; output: string }>((resolve) => {
    // In a process of its own, for this one serves what it calls.
    const shell = spawn(
      'bash',
      ['--noprofile', '--norc', '-euo', 'pipefail', '-c', blocks.join('\necho\n')],
      { cwd: folder, env: { ...process.env, ...env } },
    )
    let output = ''
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8')
      })
    }
    shell.once('close', (code) => resolve({ code, output }))
  })
  await rm(folder, { recursive: true, force: true })
  expect([code, output]).toEqual([0, expect.any(String)])
  return output
}

test('the commands of docs/guides/agents.md do what it says', async () => {
  await using platform = await startTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  const output = await follow('agents.md', { ATRIUM: platform.url, SPACE: spaceId, API_KEY: apiKey })
  expect(output).toContain('"stage":"live"')
  expect(output).toContain('When do tomatoes ripen?')
  expect(output).toMatch(/"role":"assistant","content":\[.*\[sandbox\]/)
  expect(output.match(/"title":"Tomatoes"/g)?.length).toBeGreaterThanOrEqual(3)
  expect(output).toContain('"totalRecords":1')
  const left = await platform.call('GET', `/agents/v1/spaces/${spaceId}/agent`, { token: apiKey })
  expect(left.body).toEqual([])
})

test('the commands of docs/guides/vector-search.md do what it says', async () => {
  await using platform = await startTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  const output = await follow('vector-search.md', { ATRIUM: platform.url, SPACE: spaceId, API_KEY: apiKey })
  const found = [...output.matchAll(/^\{"vectorStoreId":.*?"results":.*$/gm)].flatMap(([line]) =>
    line
      .split(/(?<=\]\})(?=\{)/)
      .map((text) =>
        (JSON.parse(text) as { results: { chunk: string }[] }).results.map(({ chunk }) => chunk),
      ),
  )
  const [byMeaning, byWords, byKeywords, byBoth, filtered] = found
  expect(output).toMatch(/^4$/m)
  expect(byMeaning?.[0]).toMatch(/^Tomatoes ripen/)
  expect(byWords?.[0]).toMatch(/^Water tomatoes/)
  expect(byKeywords?.toSorted()).toEqual([
    'Carrots like loose soil without stones.',
    'Prune apple trees in late winter.',
  ])
  expect(byBoth?.[0]).toMatch(/^Tomatoes ripen/)
  expect(filtered).toHaveLength(3)
  expect(output).toContain('"Vector Only"')
  expect(output.match(/"documentId":"tomatoes"/g)?.length).toBeGreaterThan(2)
  for (const deleted of ['1', '3', 'true']) expect(output).toContain(`"deleted":${deleted}`)
})
