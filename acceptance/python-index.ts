import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/**
 * Why pip gets no such package, in the little environment that tasks have; undefined where it does.
 * @param requirement as in a requirements file
 */
export async function whyNoPackage(requirement: string): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-pip-'))
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--retries=1']
  try {
    await promisify(execFile)('python3', [...pip, `--dest=${folder}`, requirement], {
      env: { PATH: process.env.PATH, HOME: folder },
      timeout: 60_000,
    })
    return undefined
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    return (stderr || message).trim().split('\n').at(-1)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
