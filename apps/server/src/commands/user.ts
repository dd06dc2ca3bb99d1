import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { commandLineAct } from '@atrium/access'
import { withIdentity } from './with-identity.ts'

interface PasswordOptions {
  /** Reads it from standard input instead of making one up: arguments are seen by everybody on the machine. */
  readonly passwordStdin?: boolean
}

async function choosePassword(options: PasswordOptions): Promise<{ password: string; isNew: boolean }> {
  if (options.passwordStdin !== true) return { password: randomBytes(18).toString('base64url'), isNew: true }
  const password = (await text(process.stdin)).replace(/\r?\n$/, '')
  return { password, isNew: false }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

export async function addUser(
  env: NodeJS.ProcessEnv,
  qxId: string,
  options: PasswordOptions & { name?: string; mail?: string },
): Promise<void> {
  const { password, isNew } = await choosePassword(options)
  await withIdentity(env, async ({ accounts }) => {
    const account = { qxId, name: options.name ?? qxId, mailAddress: options.mail ?? '', password }
    await accounts.create(account, commandLineAct('addUser'))
    say(`Account ${qxId} is made.`)
    if (isNew) say(`password  ${password}`)
  })
}

export async function setUserPassword(
  env: NodeJS.ProcessEnv,
  qxId: string,
  options: PasswordOptions,
): Promise<void> {
  const { password, isNew } = await choosePassword(options)
  await withIdentity(env, async ({ accounts }) => {
    await accounts.setPassword(qxId, password, { act: commandLineAct('setPassword') })
    say(`The password of ${qxId} is changed; all sessions have ended.`)
    if (isNew) say(`password  ${password}`)
  })
}

export const setUserDisabled = (env: NodeJS.ProcessEnv, qxId: string, isDisabled: boolean): Promise<void> =>
  withIdentity(env, async ({ accounts }) => {
    await accounts.setDisabled(qxId, isDisabled, commandLineAct(isDisabled ? 'disableUser' : 'enableUser'))
    say(
      isDisabled
        ? `Account ${qxId} is disabled; all sessions have ended.`
        : `Account ${qxId} may sign in again.`,
    )
  })
