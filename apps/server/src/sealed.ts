import { identitySealed } from '@atrium/identity'
import { loadMasterKey, type MasterKey, type SealedColumn } from '@atrium/kernel/crypto'
import { workflowsSealed } from '@atrium/workflows/setup'
import type { Config } from './config.ts'

/** Every column of every service whose values the master key seals. */
export const sealedColumns: readonly SealedColumn[] = [...identitySealed, ...workflowsSealed]

/** The master key as the environment, or the data folder, gives it. @throws OperatorError */
export const openMasterKey = ({ platform, dataDir }: Config): Promise<MasterKey> =>
  loadMasterKey({
    fromEnv: platform.ATRIUM_MASTER_KEY,
    previous: platform.ATRIUM_MASTER_KEY_PREVIOUS,
    dataDir,
  })
