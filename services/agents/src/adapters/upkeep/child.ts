import os from 'node:os'
import type { ChildRequest } from './child-work.ts'

// Linux keeps it for each thread, and new ones get their maker's: the engine, which starts threads when it is loaded,
// may only be loaded after this.
os.setPriority(Number(process.argv[2]))
const work = import('./child-work.ts')

process.on('message', async (request: ChildRequest) => {
  const { handle } = await work
  process.send?.(await handle(request))
})
// The parent is gone: whatever it was about, another process will do it.
process.on('disconnect', () => process.exit())
