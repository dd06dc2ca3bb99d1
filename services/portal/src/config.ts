import { variable } from '@atrium/kernel/config'
import { flagEnv } from './adapters/flags/config.ts'

/** The portal's part of the environment. */
export const portalEnv = {
  ATRIUM_CURRENCY: variable.string('Currency of budgets, and of a cost report for a month without entries', {
    fallback: 'USD',
    pattern: '^[A-Z]{3}$',
  }),
  ATRIUM_API_KEY_DAYS: variable.integer(
    'Lifetime of an API key, in days, when its creation names no expiryDate',
    {
      fallback: 365,
      minimum: 1,
      maximum: 36_500,
    },
  ),
  ATRIUM_KEY_USE_SECONDS: variable.integer('How often the last use of API keys is written, in seconds', {
    fallback: 10,
    minimum: 1,
    maximum: 3600,
  }),
  ATRIUM_DATA_HUB_URL: variable.string('Address of the data hub, the beginning of every cdhLink', {
    fallback: 'http://localhost',
    pattern: '^https?://',
  }),
  ...flagEnv,
} as const
