import type { GatewayPorts } from '@atrium/gateway'
import { createIdentity, createIdentityPorts, type IdentityPorts } from '@atrium/identity'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { OperatorError } from '@atrium/kernel/errors'
import type { HttpServer } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import type { Closers } from '@atrium/kernel/lifecycle'
import { auditLog, createPortal, createPortalPorts, type PortalPorts } from '@atrium/portal'
import type { WorkflowEngine } from '@atrium/workflows'
import type { Config, ServiceName } from './config.ts'

/** What the composition root does with each service. */
interface Service {
  mount(app: HttpServer): Promise<void>
  readonly jobs: readonly Job[]
}

export interface Services {
  /** Those that this process runs. */
  readonly own: readonly Service[]
  /** Their ports: built on the database where the service itself runs elsewhere. */
  readonly identity: IdentityPorts
  readonly portal: PortalPorts
  /** A line for each backend of the models; none where the gateway runs elsewhere. */
  readonly backends: readonly string[]
}

interface Parts {
  readonly config: Config
  readonly deps: PlatformDeps
  readonly closers: Closers
  readonly isDraining: () => boolean
  /** Runs the tasks of workflows in place of the one that the configuration names. */
  readonly engine?: WorkflowEngine | undefined
  readonly own: Map<ServiceName, Service>
}

/**
 * Builds the services that the configuration names, and of the others the ports that these need. Every service asks who
 * its callers are, so the ports of identity and portal are always there; the rest is not even loaded.
 */
export async function createServices(given: Omit<Parts, 'own'>): Promise<Services> {
  const parts: Parts = { ...given, own: new Map() }
  const named = given.config.services
  // Each needs the other: identity asks for superusers and invitations, but only once requests come.
  const later: { portal?: PortalPorts } = {}
  const identity = await openIdentity(parts, () => portalPortOf(later.portal))
  const portal = await openPortal(parts, identity)
  later.portal = portal
  const gateway = named.has('gateway') ? await openGateway(parts, portal) : undefined
  if (named.has('agents')) await openAgents(parts, portal, gateway ?? (await openGatewayPorts(parts)))
  if (named.has('workflows')) await openWorkflows(parts, portal)
  const own = [...named].flatMap((name) => parts.own.get(name) ?? [])
  return { own, identity, portal, backends: gateway?.backends.summary() ?? [] }
}

function portalPortOf(portal: PortalPorts | undefined) {
  if (portal === undefined) throw new Error('identity was asked before the portal was built')
  const { access, invitations } = portal
  return { isSuperuser: access.directory.isSuperuser, invitations }
}

async function openIdentity(
  { config, deps, closers, own }: Parts,
  portal: () => ReturnType<typeof portalPortOf>,
): Promise<IdentityPorts> {
  const all = { ...deps, audit: auditLog, env: config.identity }
  if (!config.services.has('identity')) {
    const ports = await createIdentityPorts(all)
    closers.add('ports of identity', () => ports.close())
    return ports
  }
  const identity = await createIdentity({ ...all, portal })
  closers.add('identity', () => identity.close())
  own.set('identity', identity)
  return identity
}

async function openPortal(
  { config, deps, closers, own, isDraining }: Parts,
  identity: IdentityPorts,
): Promise<PortalPorts> {
  const all = { ...deps, env: config.portal, verifyToken: identity.verifyToken }
  if (!config.services.has('portal')) {
    const ports = await createPortalPorts(all)
    closers.add('ports of the portal', () => ports.close())
    return ports
  }
  const portal = await createPortal({
    ...all,
    environmentName: config.platform.NODE_ENV,
    identityClients: identity.clients,
    mail: identity.mail,
    invitationPage: identity.invitationPage,
    isDraining,
  })
  closers.add('portal', () => portal.close())
  own.set('portal', portal)
  return portal
}

const gatewayOptions = ({ config, deps }: Parts) => ({
  ...deps,
  env: config.gateway,
  nodeEnv: config.platform.NODE_ENV,
  ownPort: config.platform.ATRIUM_PORT,
})

async function openGateway(parts: Parts, { keys, costs, budgets }: PortalPorts): Promise<GatewayPorts> {
  const { config, closers, own } = parts
  const { createGateway } = await import('@atrium/gateway')
  const gateway = await createGateway({ ...gatewayOptions(parts), keys, costs, budgets })
  closers.add('gateway', () => gateway.close())
  if (gateway.currency !== config.portal.ATRIUM_CURRENCY) {
    throw new OperatorError(
      `The model catalogue has prices in ${gateway.currency}, but ATRIUM_CURRENCY is ${config.portal.ATRIUM_CURRENCY}: budgets would not see what models cost. Make them the same.`,
    )
  }
  own.set('gateway', gateway)
  return gateway
}

/** Which models there are comes from the same environment, wherever the gateway runs. */
async function openGatewayPorts(parts: Parts): Promise<GatewayPorts> {
  const { createGatewayPorts } = await import('@atrium/gateway')
  const ports = await createGatewayPorts(gatewayOptions(parts))
  parts.closers.add('ports of the gateway', () => ports.close())
  return ports
}

async function openAgents(
  { config, deps, closers, own }: Parts,
  { access, spaces }: PortalPorts,
  { models }: GatewayPorts,
): Promise<void> {
  const { createAgents } = await import('@atrium/agents')
  const agents = await createAgents({ ...deps, env: config.agents, access, models, spaces, audit: auditLog })
  closers.add('agents', () => agents.close())
  own.set('agents', agents)
}

async function openWorkflows(
  { config, deps, closers, own, engine }: Parts,
  portal: PortalPorts,
): Promise<void> {
  const { createWorkflows } = await import('@atrium/workflows')
  const { access, spaces } = portal
  const { workflows: env, platform } = config
  const runsJobs = platform.ATRIUM_BACKGROUND_JOBS
  const options = { env, nodeEnv: platform.NODE_ENV, access, spaces, audit: auditLog, runsJobs, engine }
  const workflows = await createWorkflows({ ...deps, ...options })
  closers.add('workflows', () => workflows.close())
  own.set('workflows', workflows)
}
