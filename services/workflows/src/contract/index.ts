export * from './common.ts'
export * from './workflows.ts'
