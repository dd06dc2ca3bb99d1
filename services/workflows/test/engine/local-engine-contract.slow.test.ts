import { describeEngine } from './engine-contract.ts'
import { startLocalEngine } from './local-engine.ts'

describeEngine('the local engine', () => startLocalEngine())
