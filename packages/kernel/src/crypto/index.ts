export { createMasterKey, loadMasterKey, type MasterKey } from './master-key.ts'
