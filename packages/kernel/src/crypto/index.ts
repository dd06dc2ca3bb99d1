export { createKeyFile, newKeyLine, readKeyFile, replaceKeyFile } from './key-file.ts'
export { createMasterKey, loadMasterKey, type MasterKey } from './master-key.ts'
export { countForeign, reseal, type SealedColumn } from './reseal.ts'
