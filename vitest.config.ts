import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{packages,services,apps,acceptance}/**/*.test.ts'],
    globalSetup: ['packages/testing/src/global-setup.ts'],
    setupFiles: ['apps/server/src/test-platform.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
})
