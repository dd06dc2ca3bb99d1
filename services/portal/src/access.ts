import { defineAccess } from '@atrium/access'

const superuserOnly = { user: 'superuser', client: 'superuser', key: 'forbidden' } as const
const ownerOnly = { user: 'owner', client: 'owner', key: 'forbidden' } as const
const ownerOrSuperuser = {
  user: 'owner-or-superuser',
  client: 'owner-or-superuser',
  key: 'forbidden',
} as const
const membersRead = { user: 'member', client: 'member', key: 'member' } as const

/** Who may call which operation of the portal. A key is a member of its own space that can only read. */
export const portalAccess = defineAccess({
  getHealth: 'public',
  getLiveness: 'public',
  getReadiness: 'public',

  getFeatureFlags: { user: 'any', client: 'any', key: 'any' },
  getFeatureFlagHealth: 'public',

  listSpaces: { user: 'any', client: 'any', key: 'any' },
  createSpace: superuserOnly,
  getSpace: membersRead,
  updateSpace: ownerOnly,
  deleteSpace: superuserOnly,
  listDeletedSpaces: superuserOnly,
  restoreSpace: superuserOnly,

  listSpaceUsers: membersRead,
  addSpaceUser: superuserOnly,
  updateSpaceUser: superuserOnly,
  removeSpaceUser: superuserOnly,

  listSuperusers: superuserOnly,
  createSuperuser: superuserOnly,
  updateSuperuser: superuserOnly,
  removeSuperuser: superuserOnly,

  listWorkspaces: membersRead,
  createWorkspace: superuserOnly,
  updateWorkspace: superuserOnly,
  deleteWorkspace: { ...superuserOnly, malformedSpaceId: 400 },

  listCdhLinks: membersRead,
  createCdhLink: superuserOnly,
  updateCdhLink: superuserOnly,
  deleteCdhLink: { ...superuserOnly, malformedSpaceId: 400 },

  listApiKeys: membersRead,
  createApiKey: superuserOnly,
  revokeApiKey: { ...ownerOnly, malformedSpaceId: 400 },

  updateApiKey: ownerOrSuperuser,
  rotateApiKey: ownerOnly,

  getSpaceBudget: membersRead,
  setSpaceBudget: superuserOnly,

  listSpaceAudit: ownerOrSuperuser,
  listAudit: superuserOnly,

  listClients: superuserOnly,
  createClient: superuserOnly,
  getClient: superuserOnly,
  updateClient: superuserOnly,
  deleteClient: superuserOnly,
  approveClient: superuserOnly,
  rotateClientSecret: superuserOnly,

  listInvitations: ownerOrSuperuser,
  createInvitation: ownerOrSuperuser,
  approveInvitation: superuserOnly,
  revokeInvitation: ownerOrSuperuser,
  listAllInvitations: superuserOnly,
  acceptInvitation: {
    user: 'any',
    client: 'forbidden',
    key: 'forbidden',
    refusal: 'Only a person can accept an invitation: send a user token',
  },

  getSpacePermissions: { user: 'self', client: 'any', key: 'forbidden' },
  getUserPermissions: { user: 'self', client: 'any', key: 'forbidden' },

  getCostReport: {
    user: 'member',
    client: 'forbidden',
    key: 'unauthorized',
    refusal: 'The cost report needs a user token',
  },
  createCostEntry: {
    user: 'forbidden',
    client: 'member',
    key: 'unauthorized',
    refusal: 'Recording a cost needs an M2M token',
  },
  listSpacesWithWorkflows: {
    user: 'unauthorized',
    client: 'any',
    key: 'unauthorized',
    refusal: 'This operation needs an M2M token',
  },
})
