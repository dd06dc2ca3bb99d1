import { OperatorError } from '@atrium/kernel/errors'
import { Command, Option } from 'commander'
import { backup } from './commands/backup.ts'
import { doctor } from './commands/doctor.ts'
import { importDocuments } from './commands/import.ts'
import { migrateCommand } from './commands/migrate.ts'
import { jsonObject, wholeSeconds, wholeUpTo } from './commands/option-values.ts'
import { restore } from './commands/restore.ts'
import { rotateKeys } from './commands/rotate-keys.ts'
import { rotateMasterKey } from './commands/rotate-master-key.ts'
import { SEARCH_MODES, search } from './commands/search.ts'
import { token } from './commands/token.ts'
import { up } from './commands/up.ts'
import { addUser, setUserDisabled, setUserPassword } from './commands/user.ts'
import { addWorkflowCommands } from './commands/workflow.ts'
import { UsageError } from './usage-error.ts'

/** `--services a,b` and `--port n` are the same as their variables, which they win over. */
const withOptions = (options: { services?: string; port?: string; dataDir?: string }): NodeJS.ProcessEnv => ({
  ...process.env,
  ...(options.services === undefined ? {} : { ATRIUM_SERVICES: options.services }),
  ...(options.port === undefined ? {} : { ATRIUM_PORT: options.port }),
  ...(options.dataDir === undefined ? {} : { ATRIUM_DATA_DIR: options.dataDir }),
})

function createProgram(): Command {
  const program = new Command('atrium')
    .description('A self-hosted, multi-tenant AI platform')
    .addHelpText('after', '\nEvery setting is a variable of the environment: see docs/configuration.md.')
  program
    .command('up')
    .description('Start the platform; Ctrl-C drains and stops it')
    .option('--services <names>', 'only these services, by comma (ATRIUM_SERVICES)')
    .option('--port <port>', 'port to listen on (ATRIUM_PORT)')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => up(withOptions(options)))
  program
    .command('token')
    .description('Print a user token of the embedded issuer')
    .requiredOption('--user <qxId>', 'whose token')
    .option('--name <name>', "the person's name; by default that of the account")
    .option('--lifetime <seconds>', 'how long it is valid', wholeSeconds)
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => token(withOptions(options), options))
  program
    .command('migrate')
    .description("Bring the database's schemas up to date, then exit")
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => migrateCommand(withOptions(options)))
  program
    .command('rotate-keys')
    .description('Publish a new signing key; old tokens stay valid')
    .option('--now', 'let it sign at once, as after a leak')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => rotateKeys(withOptions(options), options))
  program
    .command('rotate-master-key')
    .description(
      'Seal every secret with a new master key, while the platform runs; after a kill, run it again',
    )
    .option('--forget', 'remove former keys from the data folder, when nothing needs them any more')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => rotateMasterKey(withOptions(options), options))
  addBackupCommands(program)
  addUserCommands(program)
  addRetrievalCommands(program)
  addWorkflowCommands(program)
  program
    .command('doctor')
    .description('Check the environment and explain what is wrong with it')
    .option('--port <port>', 'port to listen on (ATRIUM_PORT)')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => doctor(withOptions(options)))
  return program
}

/** Commands for a platform that runs, here or elsewhere; wrong use of them has an exit code of its own. */
function addRetrievalCommands(program: Command): void {
  const add = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .requiredOption('--store <id>', 'the vector store')
      .option('--space <id>', "its space; by default the API key's")
      .option('--url <address>', 'the platform (ATRIUM_URL); by default the one of this machine')
      .option('--api-key <key>', 'an API key of the space (better ATRIUM_API_KEY: others see arguments)')
      .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  add('import', 'Cut documents into chunks, embed them and store them; can be stopped and run again')
    .argument('<path...>', 'JSON Lines, folders, or text, Markdown, HTML and JSON files')
    .option('--concurrency <n>', 'requests at once', wholeUpTo(64), 4)
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'print the summary as JSON')
    .action((paths: string[], options) => importDocuments(process.env, paths, options))
  add('search', 'Search a vector store by text')
    .argument('<text>', 'what to search for')
    .addOption(new Option('--mode <mode>', 'kind of search').choices(SEARCH_MODES).default('hybrid'))
    .option('--limit <n>', 'results at most', wholeUpTo(100), 10)
    .option('--filter <json>', 'keep what fits, e.g. \'{"year": {"$gte": 2020}}\'', jsonObject)
    .option('--json', 'print the answer as JSON')
    .action((text: string, options) => search(process.env, text, options))
}

function addBackupCommands(program: Command): void {
  program
    .command('backup')
    .description(
      'Copy database, embeddings, master key and usage journal into a new folder, while the platform runs',
    )
    .argument('<folder>', 'a new folder')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((folder: string, options) => backup(withOptions(options), folder))
  program
    .command('restore')
    .description('Fill an empty data folder, and an empty database where DATABASE_URL is set, from a backup')
    .argument('<folder>', 'what `atrium backup` made')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((folder: string, options) => restore(withOptions(options), folder))
}

const fromStdin = '--password-stdin'
const aboutStdin = 'read the password from standard input instead of making one up'

function addUserCommands(program: Command): void {
  const user = program.command('user').description('People who sign in at the embedded issuer')
  user
    .command('add')
    .description('Make an account; prints its password once')
    .argument('<qxId>', 'user name')
    .option('--name <name>', 'full name')
    .option('--mail <address>', 'e-mail address')
    .option(fromStdin, aboutStdin)
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((qxId: string, options) => addUser(withOptions(options), qxId, options))
  user
    .command('set-password')
    .description('Give an account another password, printed once; ends all its sessions')
    .argument('<qxId>', 'user name')
    .option(fromStdin, aboutStdin)
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((qxId: string, options) => setUserPassword(withOptions(options), qxId, options))
  user
    .command('disable')
    .description('Let an account sign in no more; ends all its sessions and tokens')
    .argument('<qxId>', 'user name')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((qxId: string, options) => setUserDisabled(withOptions(options), qxId, true))
  user
    .command('enable')
    .description('Let a disabled account sign in again')
    .argument('<qxId>', 'user name')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((qxId: string, options) => setUserDisabled(withOptions(options), qxId, false))
}

/** Runs one command. A mistake of the operator is one clear message and exit code 1 or 2; a bug keeps its stack. */
export async function run(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv])
  } catch (error) {
    process.exitCode = error instanceof UsageError ? 2 : 1
    if (error instanceof OperatorError) process.stderr.write(`${error.message}\n`)
    else throw error
  }
}
