export { type EnvSchema, type EnvValues, envDocs, parseEnv, variable } from './env.ts'
