import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'

/** What is left after it goes at the next try. */
const AT_MOST_MS = 120_000
const run = promisify(execFile)

/**
 * Removes a folder with all that is in it, however deep: paths longer than the kernel takes are left to `rm`, which goes
 * by descriptors of folders and follows no link. Does nothing where there is none.
 * @throws Error in few words; a part may be gone then
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch {
    await removeByProgram(folder)
  }
}

async function removeByProgram(folder: string): Promise<void> {
  const remove = (): Promise<unknown> => run('rm', ['-rf', '--', folder], { timeout: AT_MOST_MS })
  try {
    await remove()
  } catch {
    // A task may have shut its folders, which stops whoever is not root.
    await run('chmod', ['-R', 'u+rwx', '--', folder], { timeout: AT_MOST_MS }).catch(() => {})
    await remove().catch((error: { code?: unknown; signal?: unknown }) => {
      // Its words name paths, which are long here.
      throw new Error(`${folder} could not be removed: rm ended with ${error.signal ?? error.code}`)
    })
  }
}
