import { defineAccess } from '@atrium/access'

const owners = { user: 'owner', client: 'owner', key: 'unauthorized' } as const
const members = { user: 'member', client: 'member', key: 'unauthorized' } as const

/** Who may call which operation: people and machines of the space, by token; API keys are for models and agents. */
export const workflowsAccess = defineAccess({
  putWorkflow: members,
  getWorkflow: members,
  listWorkflows: members,
  deleteWorkflow: members,

  putVersion: members,
  validateVersion: members,
  getVersion: members,
  listVersions: members,
  deleteVersion: members,

  assignStage: members,
  getStage: members,
  listStages: members,
  unassignStage: members,

  putConfiguration: members,
  getConfiguration: members,
  listConfigurations: members,
  deleteConfiguration: members,

  putSecret: owners,
  getSecret: members,
  listSecrets: members,
  deleteSecret: owners,

  createRun: members,
  getRun: members,
  listRuns: members,
  cancelRun: members,
  retryRun: members,
  deleteRun: members,
  followRun: members,

  putTrigger: members,
  getTrigger: members,
  listTriggers: members,
  deleteTrigger: members,
  invokeTrigger: members,
  rotateTriggerSecret: members,
  callWebhook: 'public',

  readRunLogs: members,
  listRunArtifacts: members,
  downloadRunArtifact: members,
  listRunMetrics: members,

  listTaskTemplates: { user: 'any', client: 'any', key: 'unauthorized' },
})
