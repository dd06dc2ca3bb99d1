/** How the reference groups the operations, in its order. */
export const TAGS = [
  { name: 'Workflows', description: 'What is built, deployed and run under one name' },
  {
    name: 'Versions',
    description: 'The tasks of a workflow and their order, validated; what runs use is not replaced',
  },
  { name: 'Stages', description: 'Which version is in test, int, e2e and prod, with which configuration' },
  { name: 'Configurations', description: 'Values of `${config.KEY}`, which everybody in the space reads' },
  { name: 'Secrets', description: 'Values of `${secret.NAME}`, which tasks get and nobody reads back' },
  { name: 'Task templates', description: 'What a task of a workflow can be made of' },
  { name: 'Runs', description: 'Versions at work: made, followed, cancelled, tried again' },
  { name: 'Triggers', description: 'What begins runs: schedules, and webhooks with their secrets' },
  { name: 'Webhooks', description: 'Called by other systems, which bring the secret of a trigger' },
]
