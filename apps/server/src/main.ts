import { enableCompileCache } from 'node:module'

// Before anything else is loaded, so that later starts skip compiling all of it.
enableCompileCache()

const { run } = await import('./cli.ts')
await run(process.argv)
