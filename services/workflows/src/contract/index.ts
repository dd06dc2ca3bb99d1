export * from './common.ts'
export * from './versions.ts'
export * from './workflows.ts'
