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
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
  },
})
