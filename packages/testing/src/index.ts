export { freePort } from '@atrium/kernel/ports'
export { type Answer, type CallOptions, createCaller } from './call.ts'
export {
  asOwner,
  cloneTemplate,
  type PreparedDatabase,
  prepareTestDatabases,
  TEST_CREDENTIALS,
} from './databases.ts'
export {
  type FakeBehaviour,
  type FakeOpenAi,
  type FakeOpenAiOptions,
  type FakeRequest,
  startFakeOpenAi,
} from './fake-openai.ts'
export { type FakeRay, startFakeRay } from './fake-ray.ts'
export { type GitServer, type GitServerOptions, startGitServer } from './git-server.ts'
export { type Observation, observe } from './observed.ts'
export { type OwnPostgres, startOwnPostgres } from './own-postgres.ts'
export { sharedTestPlatform, startTestPlatform, type TestPlatform, type TestSpace } from './platform.ts'
export { randomFrom } from './random.ts'
export { type RunningPlatform, registerPlatform } from './registry.ts'
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
export { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './test-certificate.ts'
