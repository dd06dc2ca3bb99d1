import { variable } from '@atrium/kernel/config'

/** Where feature flags come from; at most one of the three sources. */
export const flagEnv = {
  ATRIUM_FLAGS_FILE: variable.string(
    'File of feature flags in flagd’s JSON, read again when it changes; built-in flags by default',
  ),
  ATRIUM_FLAGS_APPCONFIG_URL: variable.string(
    'Address of an AWS AppConfig agent to take feature flags from, e.g. http://localhost:2772',
    { pattern: '^https?://[^/?#@]+/?$' },
  ),
  ATRIUM_FLAGS_APPCONFIG_APPLICATION: variable.string('AppConfig application of the feature flags'),
  ATRIUM_FLAGS_APPCONFIG_ENVIRONMENT: variable.string('AppConfig environment of the feature flags'),
  ATRIUM_FLAGS_APPCONFIG_PROFILE: variable.string('AppConfig configuration profile of the feature flags'),
  ATRIUM_FLAGS_FLAGD_URL: variable.string(
    'Address of flagd, or of another OFREP server, to take feature flags from, e.g. http://localhost:8016',
    { pattern: '^https?://[^/?#@]+/?$' },
  ),
} as const

const HEADER_NAME = '^[A-Za-z0-9-]+$'

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
  ATRIUM_OWNER_INVITATIONS: variable.choice(
    'Whether an invitation by a space’s owner waits for a superuser’s approval (`approval`) or goes out at once (`direct`)',
    ['approval', 'direct'],
    { fallback: 'approval' },
  ),
  ATRIUM_SPACE_GRACE_DAYS: variable.integer(
    'How long a deleted space can be brought back, in days; then its data is removed',
    { fallback: 7, minimum: 0, maximum: 3650 },
  ),
  ATRIUM_DATA_HUB_URL: variable.string('Address of the data hub, the beginning of every cdhLink', {
    fallback: 'http://localhost',
    pattern: '^https?://',
  }),
  ATRIUM_PORTAL_RATE_LIMIT: variable.integer(
    'Requests a minute to the portal from one user, machine client or API key; off by default',
    { minimum: 1 },
  ),
  ATRIUM_PORTAL_RATE_LIMIT_BURST: variable.integer(
    'Requests that one of them may send at once after a rest; the limit of a minute by default',
    { minimum: 1 },
  ),
  ATRIUM_INGRESS_ADDRESSES: variable.list(
    'Addresses or networks of an ingress that authenticates people: from these, and from nowhere else, its headers name the caller; off by default',
  ),
  ATRIUM_INGRESS_USER_HEADER: variable.string('Header in which the ingress names the person (their qxId)', {
    fallback: 'x-auth-request-user',
    pattern: HEADER_NAME,
  }),
  ATRIUM_INGRESS_NAME_HEADER: variable.string('Header in which the ingress sends their name', {
    fallback: 'x-auth-request-preferred-username',
    pattern: HEADER_NAME,
  }),
  ATRIUM_INGRESS_TOKEN_HEADER: variable.string(
    'Header in which the ingress sends a signed token of the issuer of people (ATRIUM_USER_ISSUER); it names the person instead of the header above',
    { pattern: HEADER_NAME },
  ),
  ATRIUM_INGRESS_SECRET: variable.string(
    'What the ingress must send in the header x-ingress-secret besides; by default its address is enough',
    { secret: true },
  ),
  ...flagEnv,
} as const
