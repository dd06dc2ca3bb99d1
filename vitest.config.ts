import { defineConfig } from 'vitest/config'

const results = process.env.ATRIUM_TEST_RESULTS

/** Real processes, outages, object storage, browsers, time-outs: they run apart, in `npm run verify:full`. */
const SLOW = ['acceptance/**/*.test.ts', '{packages,services,apps}/**/*.slow.test.ts']

const shared = {
  globalSetup: ['apps/server/testing/global-setup.ts'],
  setupFiles: ['apps/server/testing/register.ts'],
  testTimeout: 30_000,
  hookTimeout: 60_000,
  // A shared machine may stall for longer than any deadline; what fails there three times is broken.
  retry: process.env.CI === undefined ? 0 : 2,
  pool: 'forks' as const,
  maxWorkers: 2,
}

export default defineConfig({
  test: {
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: ['{packages,services,apps}/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...SLOW],
          // Loading all services anew for each file would take longer than its tests.
          isolate: false,
        },
      },
      { test: { ...shared, name: 'slow', include: SLOW, testTimeout: 180_000, hookTimeout: 180_000 } },
    ],
  },
})
