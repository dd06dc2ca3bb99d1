export { freePort } from '@atrium/kernel/ports'
export { type Answer, type CallOptions, createCaller } from './call.ts'
export { cloneTemplate, type PreparedDatabase, prepareTestDatabases, TEST_CREDENTIALS } from './databases.ts'
export {
  type FakeBehaviour,
  type FakeOpenAi,
  type FakeOpenAiOptions,
  type FakeRequest,
  startFakeOpenAi,
} from './fake-openai.ts'
export { type Observation, observe } from './observed.ts'
export { startTestPlatform, type TestPlatform } from './platform.ts'
export { randomFrom } from './random.ts'
export { type RunningPlatform, registerPlatform } from './registry.ts'
