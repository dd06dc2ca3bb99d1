import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const results = process.env.ATRIUM_TEST_RESULTS

export default defineConfig({
  test: {
    include: ['{packages,services,apps,acceptance}/**/*.test.ts'],
    globalSetup: ['apps/server/testing/global-setup.ts'],
    setupFiles: ['apps/server/testing/register.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Half of the time is waiting for processes, disks and clocks: one worker would leave a small machine idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
  },
})
