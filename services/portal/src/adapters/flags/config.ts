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
