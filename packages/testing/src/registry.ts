/** What a test sees of a platform that runs in its process. */
export interface RunningPlatform {
  readonly url: string
  mintUserToken(user: { qxId: string; name?: string; lifetimeSeconds?: number }): Promise<string>
  /** An active machine client without any grant. */
  registerClient(client: { clientId: string; clientSecret: string }): Promise<void>
  close(): Promise<void>
}

/** Parts that a test gives the platform in place of those that the environment names. */
export interface PlatformParts {
  /** Gets what the platform logs, down to `trace`; nothing is logged elsewhere then. */
  readonly logLines?: string[] | undefined
  /** A `WorkflowEngine` of the workflows service. */
  readonly engine?: object | undefined
}

export type PlatformFactory = (
  env: Readonly<Record<string, string>>,
  parts: PlatformParts,
) => Promise<RunningPlatform>

let registered: PlatformFactory | undefined

/** The composition root announces itself here, for packages may not import apps. */
export function registerPlatform(factory: PlatformFactory): void {
  registered = factory
}

export function platformFactory(): PlatformFactory {
  if (registered === undefined) throw new Error('no platform is registered: is the set-up file loaded?')
  return registered
}
