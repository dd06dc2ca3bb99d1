import { OperatorError } from '@atrium/kernel/errors'
import { Command, InvalidArgumentError } from 'commander'
import { doctor } from './commands/doctor.ts'
import { migrateCommand } from './commands/migrate.ts'
import { rotateKeys } from './commands/rotate-keys.ts'
import { token } from './commands/token.ts'
import { up } from './commands/up.ts'
import { addUser, setUserDisabled, setUserPassword } from './commands/user.ts'

const wholeSeconds = (text: string): number => {
  if (!/^\d{1,9}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('must be a whole number of seconds')
  return Number(text)
}

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
  addUserCommands(program)
  program
    .command('doctor')
    .description('Check the environment and explain what is wrong with it')
    .option('--port <port>', 'port to listen on (ATRIUM_PORT)')
    .option('--data-dir <folder>', 'data folder (ATRIUM_DATA_DIR)')
    .action((options) => doctor(withOptions(options)))
  return program
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

/** Runs one command. A mistake of the operator is one clear message and exit code 1; a bug keeps its stack. */
export async function run(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv])
  } catch (error) {
    process.exitCode = 1
    if (error instanceof OperatorError) process.stderr.write(`${error.message}\n`)
    else throw error
  }
}
