import type { WorkflowEngine } from '@atrium/workflows'

/** An engine that takes runs and never begins them, for tests of what surrounds it. */
export const idleEngine: WorkflowEngine = {
  name: 'idle',
  submit: async () => {},
  observe: async ({ attempt }) => ({ attempt, isEnded: false, isCancelled: false, tasks: [] }),
  cancel: async () => {},
  remove: async () => {},
  onChange: () => {},
  close: async () => {},
}
