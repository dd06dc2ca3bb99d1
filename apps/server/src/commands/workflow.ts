import { type Command, InvalidArgumentError, Option } from 'commander'
import { wholeUpTo } from './option-values.ts'

const STAGES = ['test', 'int', 'e2e', 'prod']
const STATUSES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Cancelling', 'Cancelled']

const stageOption = (flags: string, description: string): Option =>
  new Option(flags, description).choices(STAGES)

/** `--set KEY=VALUE`, as often as you like. */
function keyAndValue(text: string, known: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('must be like KEY=VALUE')
  return { ...known, [text.slice(0, at)]: text.slice(at + 1) }
}

/** Commands about workflows, for a platform that runs, here or elsewhere. What they need is loaded when they run. */
export function addWorkflowCommands(program: Command): void {
  const workflow = program
    .command('workflow')
    .description('Describe workflows in a file, promote them, run them and see what they do')
  const add = (name: string, description: string): Command =>
    workflow
      .command(name)
      .description(description)
      .option('--space <id>', 'the space (ATRIUM_SPACE)')
      .option('--url <address>', 'the platform (ATRIUM_URL); by default the one of this machine')
      .option('--token <token>', 'a token (better ATRIUM_TOKEN: others see arguments)')
      .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  addFileCommands(workflow, add)
  addRunCommands(add)
}

type Add = (name: string, description: string) => Command

function addFileCommands(workflow: Command, add: Add): void {
  const file = () => import('./workflow-file.ts')
  const aboutVersion = 'the id of the version, instead of the one in the file'
  add('push', 'Make the platform have what a file describes; says what was created, updated, unchanged')
    .argument('<file>', 'a workflow file (YAML)')
    .option('--version <id>', aboutVersion)
    .option('--dry-run', 'only say what would be done')
    .option('--webhooks-to <file>', 'write the addresses of webhooks that are made into a file, as JSON')
    .option('--json', 'print what was done as JSON, addresses of webhooks too')
    .action(async (name: string, options) => (await file()).pushFile(process.env, name, options))
  add('validate', 'Say everything that is wrong with a file; the platform checks it and stores nothing')
    .argument('<file>', 'a workflow file (YAML)')
    .option('--version <id>', aboutVersion)
    .action(async (name: string, options) => (await file()).validateFile(process.env, name, options))
  add('promote', 'Give a stage the version of another one')
    .argument('<workflow>', 'id of the workflow')
    .addOption(stageOption('--from <stage>', 'the stage whose version is taken').makeOptionMandatory())
    .addOption(stageOption('--to <stage>', 'the stage that gets it').makeOptionMandatory())
    .option('--configuration <id>', 'its configuration from now on; by default it keeps its own')
    .option('--no-configuration', 'it has none from now on')
    .action(async (id: string, options) =>
      (await import('./workflow-promote.ts')).promote(process.env, id, options),
    )
  workflow
    .command('schema')
    .description('Print the JSON Schema of workflow files, for editors')
    .action(async () => (await file()).printSchema())
}

function addRunCommands(add: Add): void {
  const runs = () => import('./workflow-runs.ts')
  add('run', 'Start a run and follow it; exit code 0 if it succeeds, 1 if not. Ctrl-C cancels it (130)')
    .argument('<workflow>', 'id of the workflow')
    .addOption(stageOption('--stage <stage>', 'where it runs').makeOptionMandatory())
    .option('--version <id>', "a version; by default the stage's")
    .option('--configuration <id>', 'a configuration, whose values go before those of the stage')
    .option(
      '--set <key=value>',
      'a value of the configuration for this run alone; may be repeated',
      keyAndValue,
    )
    .option('--idempotency-key <key>', 'commands with the same key start one run')
    .option('--detach', 'do not follow it')
    .option('--json', 'print the run as JSON when it has ended; how it goes, on standard error')
    .action(async (id: string, options) => (await runs()).runWorkflow(process.env, id, options))
  add('runs', 'List the newest runs of a workflow')
    .argument('<workflow>', 'id of the workflow')
    .addOption(new Option('--status <status>', 'only those with this status').choices(STATUSES))
    .addOption(stageOption('--stage <stage>', 'only those in this stage'))
    .option('--version <id>', 'only those of this version')
    .option('--limit <n>', 'runs at most', wholeUpTo(1000), 20)
    .option('--json', 'print them as JSON')
    .action(async (id: string, options) => (await runs()).showRuns(process.env, id, options))
  add('logs', 'Print what the tasks of a run said')
    .argument('<run>', '<workflow>/<run>, the id of a run, or a workflow: its newest run')
    .option('--task <name>', 'only this task')
    .option('--follow', 'go on until the run has ended')
    .action(async (run: string, options) =>
      (await import('./workflow-logs.ts')).showLogs(process.env, run, options),
    )
}
